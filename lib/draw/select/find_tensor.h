// Finds the tensor that a user names.
#pragma once

#include <string>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// "attention" of "attention/weights"; empty for a tensor at the root.
std::string group_of(const std::string& path);
/// The path of `name` in `group`.
std::string in_group(const std::string& group, const std::string& name);

/// The path of the tensor `name`. A name is a path, with or without leading slash, or the end of one; the
/// name of a group means its signal (NeXus: the group's main dataset). An empty name means the signal of
/// the root's default group, else of the only group that has one, else the only tensor (of numbers). Throws Error that
/// lists the tensors when none or several fit.
std::string find_tensor(const TensorMap& map, const std::string& name);

}  // namespace heed::draw
