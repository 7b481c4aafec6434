// Which tensor of a map is meant.
#pragma once

#include <string>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// "attention" of "attention/weights"; empty for a tensor at the root.
std::string group_of(const std::string& path);
/// The path of `name` in `group`.
std::string in_group(const std::string& group, const std::string& name);

/// The path that `name` stands for: a path (with or without leading slash) or the end of one, of a tensor or
/// of a group, which stands for its signal. Empty: the signal of the root's default group, or of the only
/// group that has one, or the only tensor. Throws Error that lists what there is.
std::string find_tensor(const TensorMap& map, const std::string& name);

}  // namespace heed::draw
