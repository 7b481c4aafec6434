// Where files lie.
#pragma once

#include <string>

namespace heed {

/// Whether both name one file, however they are written: a.h5, ./a.h5, or through a link.
bool same_place(const std::string& a, const std::string& b);

}  // namespace heed
