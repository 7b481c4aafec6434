#include "nn/positional_encoding.h"

#include <cmath>

#include "base/shape.h"

namespace heed {

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

std::vector<std::int32_t> positions_of(const Packing& rows) {
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(rows.rows()));
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t i = 0; i < rows.length(s); ++i) positions.push_back(static_cast<std::int32_t>(i));
  }
  return positions;
}

template std::vector<float> sinusoidal_positions(std::int64_t, std::int64_t);
template std::vector<double> sinusoidal_positions(std::int64_t, std::int64_t);

}  // namespace heed
