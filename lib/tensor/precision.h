// The numbers that products with weights are computed from. Sums and everything else are float32. In inference, the keys
// and values of cross-attention are also rounded to bfloat16 if this is not float32 (nn/attention/multi_head_attention.h
// says when).
#pragma once

#include <string>
#include <vector>

namespace heed {

/// float32: as the weights are. bfloat16: weights and rows rounded to 8 bits of mantissa. int8: each row in
/// steps of its own, 127 of which stand for its largest magnitude; each column of the weights likewise, but for the
/// largest magnitude of an element or of the sum of elements 2 i and 2 i + 1.
enum class Precision { float32, bfloat16, int8 };
inline const std::vector<std::string> kPrecisions{"float32", "bfloat16", "int8"};

}  // namespace heed
