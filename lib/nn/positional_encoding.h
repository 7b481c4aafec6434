// Sinusoidal positions (Vaswani et al. 2017, section 3.5): p_i(2j) = sin(i / 10000^(2j/d)), p_i(2j+1) = cos
// of the same angle, i from 0, sines and cosines interleaved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/choice.h"
#include "tensor/packing.h"

namespace heed {

/// How a Transformer learns where its tokens stand. A scheme that acts within attention is applied there
/// (nn/attention/multi_head_attention.h), one of the embeddings where these are made.
enum class Positions : std::uint8_t { sinusoidal, learned, none };
inline const Choice<Positions> kPositions{"positions", {"sinusoidal", "learned", "none"}};

/// [max_length, d], row-major; computed in double, then rounded.
template <class T>
std::vector<T> sinusoidal_positions(std::int64_t max_length, std::int64_t d);

/// 0, 1, ..., length - 1 for each sentence in turn.
std::vector<std::int32_t> positions_of(const Packing& rows);

}  // namespace heed
