// Fills a flat buffer of parameters with tensors that arrive one at a time, so that only one is held besides
// it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace heed {

template <class T>
class ParameterFilling {
 public:
  /// `flat` has the layout of `parameters`; both must outlive this. A tensor is named <prefix><name>.
  ParameterFilling(const ParameterSet<T>& parameters, std::string prefix, std::span<T> flat);

  /// Accepts float32 or float64. Throws Error if the tensor is unknown, misshapen or not finite.
  void add(const std::string& path, const Tensor& tensor);
  /// Throws Error if a tensor is missing.
  void finish() const;

 private:
  const ParameterSet<T>& parameters_;
  std::string prefix_;
  std::span<T> flat_;
  std::vector<bool> is_filled_;  ///< by index in the list
};

extern template class ParameterFilling<float>;
extern template class ParameterFilling<double>;

}  // namespace heed
