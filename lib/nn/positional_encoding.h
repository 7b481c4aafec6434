// Sinusoidal positions (Vaswani et al. 2017, section 3.5): p_i(2j) = sin(i / 10000^(2j/d)), p_i(2j+1) = cos
// of the same angle, i from 0, sines and cosines interleaved.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/choice.h"
#include "base/shape.h"
#include "tensor/packing.h"

namespace heed {

/// How a Transformer learns where its tokens stand. A scheme that acts within attention is applied there
/// (nn/attention/multi_head_attention.h), one of the embeddings where these are made.
enum class Positions : std::uint8_t { sinusoidal, learned, none };
inline const Choice<Positions> kPositions{"positions", {"sinusoidal", "learned", "none"}};

/// [max_length, d], row-major; computed in double, then rounded.
template <class T>
std::vector<T> sinusoidal_positions(std::int64_t max_length, std::int64_t d) {
  std::vector<T> table(static_cast<std::size_t>(element_count({max_length, d})));
  for (std::int64_t j = 0; j < d; ++j) {
    const double frequency = std::pow(10000.0, -static_cast<double>(j / 2 * 2) / static_cast<double>(d));
    for (std::int64_t i = 0; i < max_length; ++i) {
      const double angle = static_cast<double>(i) * frequency;
      table[static_cast<std::size_t>(i * d + j)] = static_cast<T>(j % 2 ? std::cos(angle) : std::sin(angle));
    }
  }
  return table;
}

/// 0, 1, ..., length - 1 for each sentence in turn.
inline std::vector<std::int32_t> positions_of(const Packing& rows) {
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(rows.rows()));
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t i = 0; i < rows.length(s); ++i) positions.push_back(static_cast<std::int32_t>(i));
  }
  return positions;
}

}  // namespace heed
