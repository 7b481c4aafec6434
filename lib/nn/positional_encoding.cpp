#include "nn/positional_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "autograd/ops.h"
#include "base/error.h"
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

double rotary_frequency(std::int64_t pair, std::int64_t d, const RotarySettings& r) {
  const double f = std::pow(r.base, -static_cast<double>(2 * pair) / static_cast<double>(d));
  if (r.scaling == RotaryScaling::none) return f;
  if (r.scaling == RotaryScaling::linear) return f / r.factor;
  if (r.scaling == RotaryScaling::yarn) {
    const auto pair_of = [&](double times) {
      return static_cast<double>(d) *
             std::log(static_cast<double>(r.original_length) / (2 * std::numbers::pi * times)) /
             (2 * std::log(r.base));
    };
    const double first = std::max(std::floor(pair_of(r.high_frequency_factor)), 0.0),
                 last = std::min(std::ceil(pair_of(r.low_frequency_factor)), static_cast<double>(d - 1)),
                 width = last == first ? 1e-3 : last - first;
    return std::lerp(f, f / r.factor, std::clamp((static_cast<double>(pair) - first) / width, 0.0, 1.0));
  }
  const double waves = static_cast<double>(r.original_length) * f / (2 * std::numbers::pi);
  const double s = (waves - r.low_frequency_factor) / (r.high_frequency_factor - r.low_frequency_factor);
  return std::lerp(f / r.factor, f, std::clamp(s, 0.0, 1.0));
}

}  // namespace

template <class T>
std::vector<T> rotary_turns(std::int64_t positions, std::int64_t d, const RotarySettings& settings) {
  std::vector<T> table(static_cast<std::size_t>(element_count({positions, d})));
  const std::int64_t half = d / 2;
  const auto factor = static_cast<T>(settings.attention_factor);
  for (std::int64_t i = 0; i < half; ++i) {
    const T frequency = static_cast<T>(rotary_frequency(i, d, settings));
    for (std::int64_t p = 0; p < positions; ++p) {
      const T angle = static_cast<T>(p) * frequency;
      T* row = &table[static_cast<std::size_t>(p * d)];
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

void PositionOptions::check_positions(std::int64_t d_model, std::int64_t d_head) const {
  const Positions scheme = kPositions(positions);
  if (acts_on(scheme) == ActsOn::queries_and_keys) {
    if (d_rotary == 0 && d_head % 2)
      fail<UsageError>("positions = ", positions, " turns pairs of features, but a head is ", d_head,
                       " wide: wanted an even d_head");
    if (d_rotary % 2 || d_rotary > d_head)
      fail<UsageError>("d_rotary = ", d_rotary, " must be even, and at most d_head = ", d_head);
  }
  if ((scheme == Positions::sinusoidal_halves && d_model % 2) ||
      (scheme == Positions::sinusoidal_t2t && (d_model % 2 || d_model < 4)))
    fail<UsageError>("positions = ", positions, " needs an even d_model of at least 4, got ", d_model);
  const RotaryScaling scaling = kRotaryScalings(rope_scaling);
  if ((scaling == RotaryScaling::llama3 || scaling == RotaryScaling::yarn) &&
      rope_high_freq_factor <= rope_low_freq_factor) {
    fail<UsageError>("rope_high_freq_factor = ", rope_high_freq_factor,
                     " must be above rope_low_freq_factor = ", rope_low_freq_factor);
  }
  if (has_buckets(scheme) && (relative_buckets % 2 || relative_max_distance <= relative_buckets / 2)) {
    fail<UsageError>("relative_buckets = ", relative_buckets,
                     " must be even, and relative_max_distance = ", relative_max_distance,
                     " above half of it");
  }
  if (d_rotary > 0 && acts_on(scheme) != ActsOn::queries_and_keys)
    fail<UsageError>("d_rotary is the part of a head that turns, and positions = ", positions, " turns none");
  if (rope_local_base > 0 && rope_local_base <= 1)
    fail<UsageError>("rope_local_base is ", rope_local_base, ", wanted 0, or above 1");
  if (rope_local_base > 0 && acts_on(scheme) != ActsOn::queries_and_keys)
    fail<UsageError>("rope_local_base is a base of positions that turn, and positions = ", positions,
                     " turns none");
  if (position_offset > 0 && !adds_to_embeddings(scheme))
    fail<UsageError>("position_offset shifts a table of positions, and positions = ", positions, " has none");
}

PositionSettings::PositionSettings(const PositionOptions& o, std::int64_t width, std::int64_t heads,
                                   std::int64_t head_width, std::int64_t longest)
    : scheme(kPositions(o.positions)),
      d_model(width),
      n_heads(heads),
      d_rotary(o.d_rotary > 0 ? o.d_rotary : head_width),
      max_length(longest),
      offset(o.position_offset),
      rotary{o.rope_base,
             kRotaryScalings(o.rope_scaling),
             o.rope_factor,
             o.rope_low_freq_factor,
             o.rope_high_freq_factor,
             o.rope_original_length,
             o.rope_attention_factor},
      local_base(o.rope_local_base),
      relative_buckets(o.relative_buckets),
      relative_max_distance(o.relative_max_distance) {}

std::int64_t PositionSettings::computed_width() const {
  switch (acts_on(scheme)) {
    case ActsOn::embeddings:
    case ActsOn::embeddings_and_scores:
      return has_learned_positions(scheme) ? 0 : d_model;
    case ActsOn::queries_and_keys:
      return local_base > 0 ? 2 * d_rotary : d_rotary;
    case ActsOn::scores:
    case ActsOn::nothing:
      break;
  }
  return 0;
}

template <class T>
void add_positions(ParameterSet<T>& parameters, const std::string& stack, const PositionSettings& s) {
  const Init init = Init::normal(1 / std::sqrt(static_cast<double>(s.d_model)));
  if (has_learned_positions(s.scheme))
    parameters.add(stack + "/positions/weight", {s.offset + s.max_length, s.d_model}, init);
  if (has_buckets(s.scheme))
    parameters.add(stack + "/relative_bias/weight", {s.relative_buckets, s.n_heads}, init);
}

template <class T>
PositionalEncoding<T>::PositionalEncoding(const PositionSettings& settings) : settings_(settings) {
  if (settings_.scheme == Positions::rotary)
    turns_ = rotary_turns<T>(settings_.max_length, settings_.d_rotary, settings_.rotary);
  if (settings_.local_base > 0) {
    RotarySettings local;
    local.base = settings_.local_base;
    local_turns_ = rotary_turns<T>(settings_.max_length, settings_.d_rotary, local);
  }
}

/// The table for at least the first `count` positions. Computed on demand: many tools embed on one side, or
/// none, and sentences are mostly short.
template <class T>
Matrix<const T> PositionalEncoding<T>::computed_table(std::int64_t count) const {
  constexpr std::int64_t few = 64;
  const PositionSettings& s = settings_;
  const std::int64_t all = s.offset + s.max_length, positions = count <= few ? std::min(few, all) : all;
  Table& table = positions <= few ? few_ : all_;
  std::call_once(table.needed,
                 [&] { table.values = sinusoidal_positions<T>(positions, s.d_model, s.scheme); });
  return {table.values.data(), positions, s.d_model};
}

template <class T>
AddedPositions<T> PositionalEncoding<T>::added(const Scope<T>& stack, const Packing& rows,
                                               std::span<const std::int64_t> first) const {
  const PositionSettings& s = settings_;
  if (!adds_to_embeddings(s.scheme)) return {};
  AddedPositions<T> added{{}, positions_of(rows, first)};
  for (std::int32_t& position : added.at) position += static_cast<std::int32_t>(s.offset);
  if (has_learned_positions(s.scheme)) {
    added.table = stack.parameter("positions/weight");
  } else {
    const std::int64_t count = added.at.empty() ? 0 : 1 + *std::ranges::max_element(added.at);
    added.table = stack.tape().constant(computed_table(count));
  }
  return added;
}

template <class T>
Matrix<const T> PositionalEncoding<T>::turns(const std::vector<T>& table) const {
  if (table.empty()) return {};
  return {table.data(), settings_.max_length, settings_.d_rotary};
}

template <class T>
LayerPositions<T> PositionalEncoding<T>::within_attention(const Scope<T>& stack, std::int64_t longest) const {
  const PositionSettings& s = settings_;
  AttentionPositions<T> positions;
  positions.turns = turns(turns_);
  const std::int64_t reach = std::max<std::int64_t>(longest, 1) - 1;
  if (has_buckets(s.scheme)) {
    std::vector<std::int32_t> buckets;
    for (std::int64_t r = -reach; r <= reach; ++r)
      buckets.push_back(relative_bucket(r, s.causal, s.relative_buckets, s.relative_max_distance));
    positions.bias = embedding((stack / "relative_bias").parameter("weight"),
                               stack.tape().arena().template keep<std::int32_t>(buckets), T{1}, Var<T>(), {});
  }
  if (s.scheme == Positions::alibi) {
    const std::vector<T>& bias = stack.tape().own(alibi_bias<T>(reach, s.n_heads));
    positions.bias = stack.tape().constant({bias.data(), 2 * reach + 1, s.n_heads});
  }
  LayerPositions<T> found{positions, positions};
  if (!local_turns_.empty()) found.local.turns = turns(local_turns_);
  return found;
}

template std::vector<float> sinusoidal_positions(std::int64_t, std::int64_t, Positions);
template std::vector<double> sinusoidal_positions(std::int64_t, std::int64_t, Positions);
HEED_INSTANTIATE(rotary_turns)
HEED_INSTANTIATE(alibi_bias)
HEED_INSTANTIATE(add_positions)
HEED_INSTANTIATE_CLASS(PositionalEncoding)

}  // namespace heed
