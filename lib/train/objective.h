// The training objective: the words of a target, after a source or by itself; the masked words of a source;
// or the class of a source.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "train/corpus.h"

namespace heed {

/// BERT's recipe (Devlin et al. 2019, section 3.1): this share of a sentence's words is predicted, at least
/// one; of these 80% are masked, 10% replaced by another word and 10% unchanged.
inline constexpr double kMaskedShare = 0.15;

/// A sentence with some words hidden.
struct MaskedSentence {
  TokenIds ids;
  std::vector<std::int64_t> positions;  ///< of the words to predict, ascending
};
/// `special`: of the vocabulary, which must have a mask; `number` distinguishes draws with the same seed.
MaskedSentence mask_words(const TokenIds& sentence, const SpecialIds& special, std::int64_t vocab_size,
                          std::uint64_t seed, std::uint64_t number);

class Objective {
 public:
  enum class Kind { target_words, masked_words, classes };

  /// Determined by the model's parts. Throws UsageError if the source's vocabulary has no mask, but the model
  /// learns to fill in masks. `consistency`: in training each target is read twice and the predictions are to
  /// agree, as in R-Drop (autograd/ops.h, consistent_cross_entropy); 0: it is read once. Throws UsageError if
  /// the objective does not support it.
  explicit Objective(const Model<float>& model, double consistency = 0);

  Kind kind() const { return kind_; }
  /// The unit of predictions: "target tokens", "masked words" or "sentences".
  std::string unit() const;
  /// Number of predictions in sentence i.
  std::int64_t predictions(const Corpus& corpus, std::int64_t i) const;
  /// The summed loss of some sentences; `scale` times its gradients is added to a tape that takes them. Masks
  /// are drawn by the pass's seed and step.
  CrossEntropySums forward(Pass<float>& pass, const Corpus& corpus, std::span<const std::int64_t> sentences,
                           double smoothing, float scale, double baseline = 0) const;

 private:
  CrossEntropySums masked(Pass<float>& pass, const Corpus& corpus, std::span<const std::int64_t> sentences,
                          double smoothing, float scale) const;

  CrossEntropySums read_twice(Pass<float>& pass, const Corpus& corpus,
                              std::span<const std::int64_t> sentences, double smoothing, float scale) const;
  Decoded<float> decode(Pass<float>& pass, const Corpus& corpus, std::span<const std::int64_t> sentences,
                        const PackedTokens& target) const;

  const Model<float>& model_;
  Kind kind_;
  double consistency_;
};

/// The encoder's output for the sources `indices`, sentences or images.
Encoded<float> encode_sources(const Model<float>& model, Pass<float>& pass, const Corpus& corpus,
                              std::span<const std::int64_t> indices);

/// The sentences `indices` of one side, packed.
PackedTokens pack(const Sentences& sentences, std::span<const std::int64_t> indices);

}  // namespace heed
