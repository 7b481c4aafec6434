// Tensors that stand beside another one and describe it: how long its sentences are, which words label its
// axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// What is left of one dimension of a tensor.
struct SlicedDim {
  enum class State { kept, fixed, reduced };  ///< elements [first, first + count); one index; mean or maximum
  std::string name;
  std::int64_t size = 0;  ///< of the whole tensor
  std::int64_t first = 0;
  std::int64_t count = 0;
  State state = State::kept;
};

/// The number of real elements along `dim` of a tensor in `group`, the rest being padding: from
/// `query_length` for query, `length` for position; the greatest over what is left of the other dimensions.
/// None: the map does not say.
std::optional<std::int64_t> length_along(const TensorMap& map, const std::string& group,
                                         const std::vector<SlicedDim>& dims, const SlicedDim& dim);

/// One label per element left along `dim`, or none: from `query_token` (or `query_label`) for query, `piece`
/// for position and choice, or the words of /tokens when there are as many. Labels that differ along another
/// dimension are no labels.
std::vector<std::string> labels_along(const TensorMap& map, const std::string& group,
                                      const std::vector<SlicedDim>& dims, const SlicedDim& dim);

}  // namespace heed::draw
