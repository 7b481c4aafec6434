// How a Transformer learns where its tokens stand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/choice.h"
#include "tensor/matrix.h"
#include "tensor/packing.h"

namespace heed {

/// Position p, feature j of d:
///   sinusoidal         sin(p / 10000^(2k/d)) for j = 2k, cos of the same angle for j = 2k + 1 (Vaswani et al. 2017,
///                      section 3.5)
///   sinusoidal_halves  the same numbers, all sines first: j = k and j = k + d/2 (fairseq, Marian in transformers)
///   sinusoidal_t2t     likewise, with p / 10000^(k/(d/2 - 1)) (tensor2tensor, Marian, OpenNMT)
///   learned            a table
/// are added to the embeddings. What acts within self-attention instead
/// (nn/attention/multi_head_attention.h):
///   rotary             queries and keys turned by angles that grow with p (Su et al. 2021)
///   relative_buckets   a learned number for each head and range of distances, added to the scores (Raffel et al. 2020,
///                      section 2.1)
///   alibi              the distance times a fixed slope of each head, subtracted from the scores (Press et al. 2022)
enum class Positions : std::uint8_t {
  sinusoidal,
  learned,
  none,
  sinusoidal_halves,
  sinusoidal_t2t,
  rotary,
  relative_buckets,
  alibi
};
inline const Choice<Positions> kPositions{"positions",
                                          {"sinusoidal", "learned", "none", "sinusoidal_halves",
                                           "sinusoidal_t2t", "rotary", "relative_buckets", "alibi"}};

/// Whether positions are a table that is added to the embeddings.
constexpr bool are_added(Positions scheme) {
  return scheme == Positions::learned || scheme == Positions::sinusoidal ||
         scheme == Positions::sinusoidal_halves || scheme == Positions::sinusoidal_t2t;
}

/// [positions, d] of one of the three sinusoidal schemes, row-major; computed in double, then rounded.
template <class T>
std::vector<T> sinusoidal_positions(std::int64_t positions, std::int64_t d,
                                    Positions scheme = Positions::sinusoidal);

/// What lengthens the wave lengths of rotary positions, so that a model trained on short texts reads longer ones.
enum class RotaryScaling { none, linear, llama3, yarn };
inline const Choice<RotaryScaling> kRotaryScalings{"rope_scaling", {"none", "linear", "llama3", "yarn"}};

/// Frequency of pair i of d_head / 2: f = base^(-2i/d_head), the angle of position p being p f. With scaling
///   linear   f / factor
///   llama3   (Llama 3.1) with wave length w = 2 pi / f and s = (original_length / w - low) / (high - low):
///            f where s > 1, f / factor where s < 0, and (1 - s) f / factor + s f between.
///   yarn     (Peng et al.: YaRN, 2023, section 3.2, as in transformers) with pair(r) = d_head ln(original_length / (2 pi r)) / (2 ln base), the
///            pair whose wave fits r times, s falls from 1 at floor(pair(high)) to 0 at ceil(pair(low)): (1 - s) f / factor + s f;
///            cosines and sines times attention_factor, in the paper 0.1 ln(factor) + 1.
struct RotarySettings {
  double base = 10'000;
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1, low_frequency_factor = 1, high_frequency_factor = 4;
  std::int64_t original_length = 8192;
  double attention_factor = 1;
};

/// [positions, d_head]: of each position the cosines of its d_head / 2 angles, then their sines. Frequencies and
/// angles are rounded to T, as in the programs that make such models, whose far positions depend on that.
template <class T>
std::vector<T> rotary_turns(std::int64_t positions, std::int64_t d_head, const RotarySettings& settings);

/// The bucket of a key at `distance` = its position minus the query's. Half of the buckets are for single
/// distances, the others for ranges that grow up to `farthest`, from where on all are one (Raffel et al. 2020,
/// section 2.1). Causal attention has them all for keys before the query, any other half for each side.
std::int32_t relative_bucket(std::int64_t distance, bool causal, std::int64_t buckets, std::int64_t farthest);

/// Bias of ALiBi, [2 reach + 1, n_heads]: row reach + r is -slope |r|. Slopes are a geometric sequence from
/// 2^(-8/n_heads) on, for numbers of heads that are no power of two that of the next lower one with every other one of
/// the next higher one (Press, Smith, Lewis 2022, section 3 and their code).
template <class T>
std::vector<T> alibi_bias(std::int64_t reach, std::int64_t n_heads);

/// 0, 1, ..., length - 1 for each sentence in turn, or from first[i] on for sentence i.
inline std::vector<std::int32_t> positions_of(const Packing& rows, std::span<const std::int64_t> first = {}) {
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(rows.rows()));
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    const std::int64_t begin = first.empty() ? 0 : first[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i < rows.length(s); ++i)
      positions.push_back(static_cast<std::int32_t>(begin + i));
  }
  return positions;
}

}  // namespace heed
