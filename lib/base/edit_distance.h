// Edit distance, for messages that suggest which name was probably meant.
#pragma once

#include <cstddef>
#include <string>

namespace heed {

/// Levenshtein distance in bytes; time is proportional to the product of the lengths.
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace heed
