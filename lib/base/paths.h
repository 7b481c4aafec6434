// Paths of files, and of tensors inside them: "encoder/layer_0/output".
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace heed {

/// Whether both paths refer to the same file: a.h5, ./a.h5, or a symbolic link to it.
bool same_place(const std::string& a, const std::string& b);

/// What messages call an input: its path, escaped; "<stdin>" for -.
std::string name_of_input(const std::string& path);

/// "/a, /b and 3 more": tensors as messages name them.
std::string listed_paths(std::vector<std::string> paths);

/// The group of a tensor, "" at the top.
inline std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// What is named `name` within `parent`, of which "" is the root.
inline std::string inside(const std::string& parent, const std::string& name) {
  return parent.empty() ? name : parent + "/" + name;
}

/// The last part of a path.
inline std::string leaf_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Removes the leading slashes that a user may have typed.
inline std::string without_root(const std::string& path) {
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

}  // namespace heed
