// What a model learns from a corpus: the words of a target, after a source or by itself; the words that are masked
// in a source; or the class of a source.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "train/corpus.h"

namespace heed {

/// BERT's recipe (Devlin et al. 2019, section 3.1): of the words of a sentence this share is predicted, at least
/// one; of these 80% are masked, 10% become another word and 10% stay.
inline constexpr double kMaskedShare = 0.15;

/// A sentence with some words hidden.
struct MaskedSentence {
  TokenIds ids;
  std::vector<std::int64_t> positions;  ///< of the words to predict, ascending
};
/// `special`: of the vocabulary, whose mask must be there; `number` tells the draws of one seed apart.
MaskedSentence mask_words(const TokenIds& sentence, const SpecialIds& special, std::int64_t vocab_size,
                          std::uint64_t seed, std::uint64_t number);

class Objective {
 public:
  enum class Kind { target_words, masked_words, classes };

  /// Follows from the model's parts. Throws UsageError when the source's vocabulary has no mask, but the model learns
  /// to fill in masks.
  /// `consistency`: in training the words of a target are read twice and are to agree, as in R-Drop
  /// (autograd/ops.h, consistent_cross_entropy); 0: they are read once. Throws UsageError when the model learns other things.
  explicit Objective(const Model<float>& model, double consistency = 0);

  Kind kind() const { return kind_; }
  /// What is counted: "target tokens", "masked words" or "sentences".
  std::string unit() const;
  /// How many of them sentence i has.
  std::int64_t predictions(const Corpus& corpus, std::int64_t i) const;
  /// The loss of some sentences, summed, with `scale` times its gradients put on a tape that takes them. What is
  /// masked is drawn by the pass's seed and step.
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

/// What the model's encoder makes of the sources `indices`, sentences or images.
Encoded<float> encode_sources(const Model<float>& model, Pass<float>& pass, const Corpus& corpus,
                              std::span<const std::int64_t> indices);

/// The sentences `indices` of one side, packed.
PackedTokens pack(const Sentences& sentences, std::span<const std::int64_t> indices);

}  // namespace heed
