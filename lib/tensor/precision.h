// The numbers that products with weights are computed from. What is added up, and everything else, is float32.
#pragma once

#include <string>
#include <vector>

namespace heed {

/// float32: as the weights are. bfloat16: weights and rows rounded to 8 bits of mantissa. int8: each column
/// of the weights and each row multiplied by it in steps of its own, 127 to its largest magnitude; of a column, to the
/// largest sum of two of its elements 2 i and 2 i + 1, where that is larger.
enum class Precision { float32, bfloat16, int8 };
inline const std::vector<std::string> kPrecisions{"float32", "bfloat16", "int8"};

}  // namespace heed
