// Fills a flat buffer of parameters with tensors that come one at a time, so that no more than one is held beside it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace heed {

template <class T>
class ParameterFilling {
 public:
  /// `flat` has the layout of `parameters`; both must outlive this. A tensor is called <prefix><name>.
  ParameterFilling(const ParameterSet<T>& parameters, std::string prefix, std::span<T> flat);

  /// Of float32 or float64. Throws Error on one that is unknown, misshapen or not finite.
  void add(const std::string& path, const Tensor& tensor);
  /// Throws Error when one has not come.
  void finish() const;

 private:
  const ParameterSet<T>& parameters_;
  std::string prefix_;
  std::span<T> flat_;
  std::vector<bool> is_filled_;  ///< by their place in the list
};

extern template class ParameterFilling<float>;
extern template class ParameterFilling<double>;

}  // namespace heed
