// Positional encodings of Transformers. A scheme is defined in this file and its source alone: its line in
// HEED_POSITIONS, its settings in PositionOptions, and in positional_encoding.cpp its checks, parameters and
// values. Models, options and help texts take it from there.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/choice.h"
#include "base/range.h"
#include "nn/scope.h"
#include "tensor/matrix.h"
#include "tensor/packing.h"

namespace heed {

/// What a scheme changes: it adds rows of a table to the embeddings, rotates queries and keys of
/// self-attention, or adds to the scores of self-attention (nn/attention/multi_head_attention.h).
enum class ActsOn : std::uint8_t { nothing, embeddings, queries_and_keys, scores, embeddings_and_scores };

/// All schemes in the order of --positions, and what each acts on. Position p, feature j of d:
///   sinusoidal         sin(p / 10000^(2k/d)) for j = 2k, cos of the same angle for j = 2k + 1 (Vaswani et
///                      al. 2017, section 3.5)
///   learned            a table of parameters
///   sinusoidal_halves  the values of sinusoidal, all sines first: j = k and j = k + d/2 (fairseq, Marian in
///                      transformers)
///   sinusoidal_t2t     all sines first, with p / 10000^(k/(d/2 - 1)) (tensor2tensor, Marian, OpenNMT)
///   rotary             queries and keys rotated by angles proportional to p (Su et al. 2021)
///   relative_buckets   a learned number for each head and range of distances, added to the scores (Raffel et
///                      al. 2020, section 2.1)
///   learned_buckets    learned and relative_buckets together (Song et al. 2020: MPNet)
///   alibi              the distance times a fixed slope of each head, subtracted from the scores (Press et
///                      al. 2022)
/// Drawings know a model only by its file and use the beginning of the word: sinusoidal and learned are added
/// to the embeddings, rotary rotates queries and keys, any other word belongs to the scores; and its end:
/// buckets belong to the scores, too.
#define HEED_POSITIONS(X)          \
  X(sinusoidal, embeddings)        \
  X(learned, embeddings)           \
  X(none, nothing)                 \
  X(sinusoidal_halves, embeddings) \
  X(sinusoidal_t2t, embeddings)    \
  X(rotary, queries_and_keys)      \
  X(relative_buckets, scores)      \
  X(alibi, scores)                 \
  X(learned_buckets, embeddings_and_scores)

enum class Positions : std::uint8_t {
#define HEED_ENUMERATOR(word, acts) word,
  HEED_POSITIONS(HEED_ENUMERATOR)
#undef HEED_ENUMERATOR
};

#define HEED_WORD(word, acts) #word,
inline const Choice<Positions> kPositions{"positions", {HEED_POSITIONS(HEED_WORD)}};
#undef HEED_WORD

constexpr ActsOn acts_on(Positions scheme) {
#define HEED_ACTS_ON(word, acts) ActsOn::acts,
  constexpr ActsOn all[] = {HEED_POSITIONS(HEED_ACTS_ON)};
#undef HEED_ACTS_ON
  return all[static_cast<std::size_t>(scheme)];
}

constexpr bool adds_to_embeddings(Positions scheme) {
  return acts_on(scheme) == ActsOn::embeddings || acts_on(scheme) == ActsOn::embeddings_and_scores;
}
/// Whether there is a table of parameters for the positions, and one for ranges of distances.
constexpr bool has_learned_positions(Positions scheme) {
  return scheme == Positions::learned || scheme == Positions::learned_buckets;
}
constexpr bool has_buckets(Positions scheme) {
  return scheme == Positions::relative_buckets || scheme == Positions::learned_buckets;
}

/// [positions, d] of one of the three sinusoidal schemes, row-major; computed in double, then rounded.
template <class T>
std::vector<T> sinusoidal_positions(std::int64_t positions, std::int64_t d,
                                    Positions scheme = Positions::sinusoidal);

/// Lengthens the wavelengths of rotary positions, so that a model trained on short texts can read longer
/// ones.
enum class RotaryScaling { none, linear, llama3, yarn };
inline const Choice<RotaryScaling> kRotaryScalings{"rope_scaling", {"none", "linear", "llama3", "yarn"}};

/// Frequency of pair i of d / 2, where d features of a head turn: f = base^(-2i/d); the angle of position p
/// is p f. With scaling
///   linear   f / factor
///   llama3   (Llama 3.1) with wavelength w = 2 pi / f and s = (original_length / w - low) / (high - low):
///            f where s > 1, f / factor where s < 0, and (1 - s) f / factor + s f between.
///   yarn     (Peng et al.: YaRN, 2023, section 3.2, as in transformers) let pair(r) = d
///            ln(original_length / (2 pi r)) / (2 ln base), the pair whose wave fits r times into the
///            original length; s falls from 1 at floor(pair(high)) to 0 at ceil(pair(low)):
///            (1 - s) f / factor + s f; cosines and sines are multiplied by attention_factor, in the paper
///            0.1 ln(factor) + 1.
struct RotarySettings {
  double base = 10'000;
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1, low_frequency_factor = 1, high_frequency_factor = 4;
  std::int64_t original_length = 8192;
  double attention_factor = 1;
};

/// [positions, d]: for each position the cosines of its d / 2 angles, then their sines. Frequencies and
/// angles are rounded to T, as in the programs that such models come from, whose distant positions depend
/// on it.
template <class T>
std::vector<T> rotary_turns(std::int64_t positions, std::int64_t d, const RotarySettings& settings);

/// The bucket of a key at `distance` = its position minus the query's. Half of the buckets are for single
/// distances, the others for ranges that grow up to `farthest`, beyond which all distances share one (Raffel
/// et al. 2020, section 2.1). Causal attention uses all buckets for keys before the query; otherwise each
/// side gets half of them.
std::int32_t relative_bucket(std::int64_t distance, bool causal, std::int64_t buckets, std::int64_t farthest);

/// Bias of ALiBi, [2 reach + 1, n_heads]: row reach + r is -slope |r|. Slopes are a geometric sequence from
/// 2^(-8/n_heads) on; if the number of heads is not a power of two, the sequence of the next lower power
/// followed by every other slope of the next higher one (Press, Smith, Lewis 2022, section 3 and their code).
template <class T>
std::vector<T> alibi_bias(std::int64_t reach, std::int64_t n_heads);

/// 0, 1, ..., length - 1 for each sentence in turn; starting at first[i] for sentence i if given.
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

/// The config fields of positional encodings, for all Transformers.
struct PositionOptions {
  std::string positions = "sinusoidal";
  // Later additions: optional config fields.
  std::int64_t position_offset = 0;
  double rope_base = 10'000;
  std::string rope_scaling = "none";
  double rope_factor = 1;
  double rope_low_freq_factor = 1;
  double rope_high_freq_factor = 4;
  std::int64_t rope_original_length = 8192;
  double rope_attention_factor = 1;
  double rope_local_base = 0;
  std::int64_t d_rotary = 0;
  std::int64_t relative_buckets = 32;
  std::int64_t relative_max_distance = 128;

  template <class Self, class Visit>
  static void position_scheme(Self& self, Visit&& field) {
    field("positions", self.positions, "positional encoding", kPositions.words);
  }
  /// `optional`: visits a field that configs may omit.
  template <class Self, class Visit>
  static void position_settings(Self& self, Visit&& optional) {
    optional("position_offset", self.position_offset, "row of the first token in the position table",
             between(0, 1'000'000));
    optional("rope_base", self.rope_base, "rotary positions: base of the wavelengths", above(1));
    optional("rope_scaling", self.rope_scaling, "rotary positions: how wavelengths are extended",
             kRotaryScalings.words);
    optional("rope_factor", self.rope_factor, "rotary positions: factor of the extension", at_least(1));
    optional("rope_low_freq_factor", self.rope_low_freq_factor,
             "llama3, yarn: waves that fit fewer times into the original length are fully extended",
             above(0));
    optional("rope_high_freq_factor", self.rope_high_freq_factor,
             "llama3, yarn: waves that fit more times into the original length are unchanged", above(0));
    optional("rope_original_length", self.rope_original_length, "llama3, yarn: original length",
             up_to(10'000'000));
    optional("rope_attention_factor", self.rope_attention_factor,
             "rotary positions: factor of queries and keys", above(0));
    optional("rope_local_base", self.rope_local_base,
             "rotary positions: base in layers with the sliding window, whose wavelengths are not extended; "
             "0: as in the others",
             at_least(0));
    optional("d_rotary", self.d_rotary, "rotary positions: first features of a head that turn; 0: all",
             between(0, 65'536));
    optional("relative_buckets", self.relative_buckets, "buckets: number of buckets for distances",
             between(4, 65'536));
    optional("relative_max_distance", self.relative_max_distance, "buckets: larger distances share one",
             up_to(1'000'000));
  }
  /// Throws UsageError naming the field and its valid values.
  void check_positions(std::int64_t d_model, std::int64_t d_head) const;
};

/// The positional encoding of one stack, parsed.
struct PositionSettings {
  Positions scheme = Positions::none;
  std::int64_t d_model = 0, n_heads = 0;
  std::int64_t d_rotary = 0;    ///< features of a head that rotary positions turn
  std::int64_t max_length = 0;  ///< longest sentence in tokens
  std::int64_t offset = 0;      ///< row of the first token in the table
  bool causal = false;          ///< self-attention sees only the past
  RotarySettings rotary;
  double local_base = 0;  ///< of rotary positions in layers with a window, which are not scaled; 0: as in all
  std::int64_t relative_buckets = 0, relative_max_distance = 0;

  PositionSettings() = default;
  PositionSettings(const PositionOptions& options, std::int64_t d_model, std::int64_t n_heads,
                   std::int64_t d_head, std::int64_t max_length);
  /// Columns of the precomputed tables of the scheme; 0: none.
  std::int64_t computed_width() const;
};

/// Declares the parameters of the scheme: <stack>/positions/weight [offset + max_length, d_model]
/// (has_learned_positions), <stack>/relative_bias/weight [relative_buckets, n_heads] (has_buckets).
template <class T>
void add_positions(ParameterSet<T>& parameters, const std::string& stack, const PositionSettings& settings);

/// Added to the embeddings of tokens: row at[i] of the table for token i, or none.
template <class T>
struct AddedPositions {
  Var<T> table;  ///< [positions, d_model]
  std::vector<std::int32_t> at;
};

/// Gives a self-attention the positions of its rows; empty if positions are part of the embeddings alone.
template <class T>
struct AttentionPositions {
  Matrix<const T> turns;  ///< rotary_turns [positions, d_rotary], or no data; must outlive the pass
  Var<T> bias;            ///< [2 reach + 1, n_heads] as attention() takes it, or none
};

/// Those of the layers of a stack: with a sliding window, and without.
template <class T>
struct LayerPositions {
  AttentionPositions<T> local, global;
};

/// The positional encoding of one stack. Whole sentences, single words and prompts agree because all use the
/// same tables.
template <class T>
class PositionalEncoding {
 public:
  explicit PositionalEncoding(const PositionSettings& settings);

  /// For packed tokens; token j of sequence i has position first[i] + j, or j if `first` is empty.
  AddedPositions<T> added(const Scope<T>& stack, const Packing& rows,
                          std::span<const std::int64_t> first) const;
  /// Shared by the self-attentions of the layers in a pass whose longest sequence, including what it
  /// continues, has `longest` tokens.
  LayerPositions<T> within_attention(const Scope<T>& stack, std::int64_t longest) const;

 private:
  Matrix<const T> computed_table(std::int64_t count) const;
  Matrix<const T> turns(const std::vector<T>& table) const;

  PositionSettings settings_;
  struct Table {
    std::once_flag needed;
    std::vector<T> values;  ///< [positions, d_model], once something has been embedded
  };
  mutable Table few_, all_;     ///< of the first few positions, and of all offset + max_length
  std::vector<T> turns_;        ///< [max_length, d_rotary] or empty
  std::vector<T> local_turns_;  ///< of layers with a window, likewise; empty: as the others
};

extern template class PositionalEncoding<float>;
extern template class PositionalEncoding<double>;

}  // namespace heed
