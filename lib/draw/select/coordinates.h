// The coordinates of a tensor: other tensors of its file that say how long its sentences are and label the
// elements of its dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// One dimension of a tensor that is being sliced.
struct SlicedDim {
  enum class State {
    kept,    ///< elements [first, first + count)
    fixed,   ///< one index
    reduced  ///< mean or maximum
  };
  std::string name;
  std::int64_t size = 0;  ///< of the whole tensor
  std::int64_t first = 0;
  std::int64_t count = 0;
  State state = State::kept;
};

/// The number of elements along `dim` of a tensor in `group` that are not padding: the tensor
/// `query_length` for query, `length` for position; the maximum over the dimensions that are kept. None
/// when the map does not say.
std::optional<std::int64_t> length_along(const TensorMap& map, const std::string& group,
                                         const std::vector<SlicedDim>& dims, const SlicedDim& dim);

/// One label for each element kept along `dim`, or none. They come from the text tensor DIM_token or
/// DIM_label of the group (query_token, truth_label), for position and choice from `piece`, or from the
/// words in /tokens if there are as many. Labels that differ along another kept dimension are not used.
std::vector<std::string> labels_along(const TensorMap& map, const std::string& group,
                                      const std::vector<SlicedDim>& dims, const SlicedDim& dim);

}  // namespace heed::draw
