// A part of one tensor of a map, chosen by the names of its dimensions, with the words that label its axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/select/selection.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

/// One dimension that is left.
struct Axis {
  std::string name;
  std::int64_t first = 0;           ///< position of its first element in the tensor
  std::vector<std::string> labels;  ///< one per element, or none
};

struct Slice {
  std::string name;  ///< path of the tensor
  Tensor values;     ///< its dims are the names of `axes`
  std::vector<Axis> axes;
  std::vector<std::string> chosen;  ///< what was chosen, for a subtitle: "sentence 3", "head mean"
};

/// Applies `selections` to the tensor at `path`. Indices and ranges come first; then padding is cut off by the
/// tensors of lengths in the same group (`length` for position, `query_length` for query, ...); means and
/// maxima come last. Labels come from string tensors of the same group (`query_token` for query, `piece` for
/// position), or the words of /tokens. Throws Error that lists dimensions and sizes when a selection does not
/// fit.
Slice take_slice(const TensorMap& map, const std::string& path, const std::vector<Selection>& selections);

}  // namespace heed::draw
