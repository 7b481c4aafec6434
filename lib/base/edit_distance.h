// How far a name is from another: for messages that say which one was probably meant.
#pragma once

#include <cstddef>
#include <string>

namespace heed {

/// Levenshtein distance in bytes; takes time by the product of the lengths.
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace heed
