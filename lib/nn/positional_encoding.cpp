#include "nn/positional_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/instantiate.h"
#include "base/shape.h"

namespace heed {

template <class T>
std::vector<T> sinusoidal_positions(std::int64_t positions, std::int64_t d, Positions scheme) {
  std::vector<T> table(static_cast<std::size_t>(element_count({positions, d})));
  const bool halves = scheme != Positions::sinusoidal;
  for (std::int64_t j = 0; j < d; ++j) {
    const std::int64_t k = halves ? j % (d / 2) : j / 2;
    const bool is_cosine = halves ? j >= d / 2 : j % 2 == 1;
    const double exponent = scheme == Positions::sinusoidal_t2t
                                ? static_cast<double>(k) / static_cast<double>(d / 2 - 1)
                                : static_cast<double>(2 * k) / static_cast<double>(d);
    const double frequency = std::pow(10000.0, -exponent);
    for (std::int64_t i = 0; i < positions; ++i) {
      const double angle = static_cast<double>(i) * frequency;
      table[static_cast<std::size_t>(i * d + j)] =
          static_cast<T>(is_cosine ? std::cos(angle) : std::sin(angle));
    }
  }
  return table;
}

namespace {

double rotary_frequency(std::int64_t pair, std::int64_t d_head, const RotarySettings& r) {
  const double f = std::pow(r.base, -static_cast<double>(2 * pair) / static_cast<double>(d_head));
  if (r.scaling == RotaryScaling::none) return f;
  if (r.scaling == RotaryScaling::linear) return f / r.factor;
  if (r.scaling == RotaryScaling::yarn) {
    const auto pair_of = [&](double times) {
      return static_cast<double>(d_head) *
             std::log(static_cast<double>(r.original_length) / (2 * std::numbers::pi * times)) /
             (2 * std::log(r.base));
    };
    const double first = std::max(std::floor(pair_of(r.high_frequency_factor)), 0.0),
                 last = std::min(std::ceil(pair_of(r.low_frequency_factor)), static_cast<double>(d_head - 1)),
                 width = last == first ? 1e-3 : last - first;
    return std::lerp(f, f / r.factor, std::clamp((static_cast<double>(pair) - first) / width, 0.0, 1.0));
  }
  const double waves = static_cast<double>(r.original_length) * f / (2 * std::numbers::pi);
  const double s = (waves - r.low_frequency_factor) / (r.high_frequency_factor - r.low_frequency_factor);
  return std::lerp(f / r.factor, f, std::clamp(s, 0.0, 1.0));
}

}  // namespace

template <class T>
std::vector<T> rotary_turns(std::int64_t positions, std::int64_t d_head, const RotarySettings& settings) {
  std::vector<T> table(static_cast<std::size_t>(element_count({positions, d_head})));
  const std::int64_t half = d_head / 2;
  const auto factor = static_cast<T>(settings.attention_factor);
  for (std::int64_t i = 0; i < half; ++i) {
    const T frequency = static_cast<T>(rotary_frequency(i, d_head, settings));
    for (std::int64_t p = 0; p < positions; ++p) {
      const T angle = static_cast<T>(p) * frequency;
      T* row = &table[static_cast<std::size_t>(p * d_head)];
      row[i] = std::cos(angle) * factor;
      row[half + i] = std::sin(angle) * factor;
    }
  }
  return table;
}

std::int32_t relative_bucket(std::int64_t distance, bool causal, std::int64_t buckets,
                             std::int64_t farthest) {
  std::int64_t first = 0, away = std::max<std::int64_t>(-distance, 0);
  if (!causal) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    away = std::abs(distance);
  }
  const std::int64_t single = buckets / 2;
  if (away < single) return static_cast<std::int32_t>(first + away);
  const double share = std::log(static_cast<double>(away) / static_cast<double>(single)) /
                       std::log(static_cast<double>(farthest) / static_cast<double>(single));
  const auto range = static_cast<std::int64_t>(share * static_cast<double>(buckets - single));
  return static_cast<std::int32_t>(first + std::min(single + range, buckets - 1));
}

template <class T>
std::vector<T> alibi_bias(std::int64_t reach, std::int64_t n_heads) {
  std::vector<T> bias(static_cast<std::size_t>(element_count({2 * reach + 1, n_heads})));
  const auto lower = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n_heads)));
  for (std::int64_t h = 0; h < n_heads; ++h) {
    const double exponent = h < lower
                                ? 8.0 * static_cast<double>(h + 1) / static_cast<double>(lower)
                                : 4.0 * static_cast<double>(2 * (h - lower) + 1) / static_cast<double>(lower);
    for (std::int64_t r = -reach; r <= reach; ++r) {
      bias[static_cast<std::size_t>((reach + r) * n_heads + h)] =
          static_cast<T>(-std::exp2(-exponent) * static_cast<double>(std::abs(r)));
    }
  }
  return bias;
}

template std::vector<float> sinusoidal_positions(std::int64_t, std::int64_t, Positions);
template std::vector<double> sinusoidal_positions(std::int64_t, std::int64_t, Positions);
HEED_INSTANTIATE(rotary_turns)
HEED_INSTANTIATE(alibi_bias)

}  // namespace heed
