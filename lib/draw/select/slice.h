// Slices of a tensor by named dimensions, with the labels of their axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/select/selection.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

/// A dimension of a slice.
struct Axis {
  std::string name;
  std::int64_t first = 0;           ///< position of its first element in the tensor
  std::vector<std::string> labels;  ///< one per element, or none
};

struct Slice {
  std::string name;  ///< path of the tensor
  Tensor values;     ///< its dims are the names of `axes`
  std::vector<Axis> axes;
  std::vector<std::string> chosen;  ///< the selections as text: "sentence 3", "head mean"
};

/// Applies `selections` to the tensor at `path`: sentence and rank first, then padding is removed, then the
/// other indices and ranges, means and maxima last. Lengths and labels are those of select/coordinates.h.
/// Throws Error that lists dimensions and sizes when a selection does not fit.
Slice take_slice(const TensorMap& map, const std::string& path, const std::vector<Selection>& selections);

}  // namespace heed::draw
