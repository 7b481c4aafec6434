// Finds the tensors of a map that a page of attention shows.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// One kind of attention (encoder, decoder, cross, ...): the tensor that is shown, and the other steps of its
/// computation.
struct PageTensors {
  std::string group;                ///< path of the group; empty: the root
  std::string main;                 ///< path of the tensor [..., query, key] that is shown
  std::vector<std::string> stages;  ///< paths of the group's tensors along query or key
};

/// With a `name` (find_tensor), that tensor and its stages. Otherwise one entry for each group whose
/// signal, or whose tensor `weights`, ends in the dimensions query and key; without such a group, the
/// default of find_tensor. weighted_values are left out where weights and values are present: the page
/// multiplies them. Throws Error when there is nothing that a page can show.
std::vector<PageTensors> page_tensors_of(const TensorMap& map, const std::string& name);

}  // namespace heed::draw
