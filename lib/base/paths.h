// Paths of files.
#pragma once

#include <string>

namespace heed {

/// Whether both paths refer to the same file: a.h5, ./a.h5, or a symbolic link to it.
bool same_place(const std::string& a, const std::string& b);

}  // namespace heed
