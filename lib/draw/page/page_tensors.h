// What of a tensor map belongs on a page of attention.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// One kind of attention (encoder, decoder, cross, ...): the tensor that is looked at, and what it was
/// computed from and used for.
struct PageTensors {
  std::string group;                ///< path of the group; empty: the root
  std::string main;                 ///< path of the tensor with the maps
  std::vector<std::string> stages;  ///< paths of the other tensors of the group that share its words
};

/// With `name` (find_tensor) that tensor's part; else one part for each group whose signal, or whose tensor
/// `weights`, has the last dimensions query and key; without such a group the tensor that find_tensor
/// chooses. weighted_values are left out where weights and values are there: the page multiplies them.
/// Throws Error when there is nothing that a page can show.
std::vector<PageTensors> page_tensors_of(const TensorMap& map, const std::string& name);

}  // namespace heed::draw
