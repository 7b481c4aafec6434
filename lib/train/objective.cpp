#include "train/objective.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "tensor/philox.h"

namespace heed {

namespace {

/// Streams of random numbers that neither dropout (nn/scope.h) nor batches (batching.cpp) use.
constexpr std::uint64_t kMaskStream = 0xba7e000000000000u;

std::int64_t masked_count(const TokenIds& sentence, const SpecialIds& special) {
  const auto words = std::count_if(sentence.begin(), sentence.end(), [&](std::int32_t id) {
    return id == special.unk || !special.contains(id);
  });
  if (words == 0) return 0;
  return std::max<std::int64_t>(std::llround(kMaskedShare * static_cast<double>(words)), 1);
}

}  // namespace

Encoded<float> encode_sources(const Model<float>& model, Pass<float>& pass, const Corpus& corpus,
                              std::span<const std::int64_t> indices) {
  const PackedTokens& source = pass.tape->own(pack(corpus.source, indices));
  if (!model.images) return model.encode(pass, source);
  std::vector<std::int64_t> which;
  for (const std::int64_t i : indices) which.push_back(corpus.line_of[static_cast<std::size_t>(i)]);
  const std::vector<float> pixels = corpus.pictures.values(*model.images, which);
  return model.encode(pass, model.images->embed<float>(pass, pixels, source.rows), source.rows);
}

PackedTokens pack(const Sentences& sentences, std::span<const std::int64_t> indices) {
  PackedTokens packed;
  for (std::int64_t i : indices) packed.append(sentences[static_cast<std::size_t>(i)]);
  return packed;
}

MaskedSentence mask_words(const TokenIds& sentence, const SpecialIds& special, std::int64_t vocab_size,
                          std::uint64_t seed, std::uint64_t number) {
  Random random(seed, kMaskStream ^ number);
  std::vector<std::int64_t> words;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i] == special.unk || !special.contains(sentence[i]))
      words.push_back(static_cast<std::int64_t>(i));
  }
  MaskedSentence masked{sentence, {}};
  for (std::int64_t left = masked_count(sentence, special); left > 0; --left) {
    const auto at = static_cast<std::ptrdiff_t>(random.below(words.size()));
    masked.positions.push_back(words[static_cast<std::size_t>(at)]);
    words.erase(words.begin() + at);
  }
  std::sort(masked.positions.begin(), masked.positions.end());
  for (const std::int64_t position : masked.positions) {
    std::int32_t& id = masked.ids[static_cast<std::size_t>(position)];
    const double what = random.uniform();
    if (what < 0.8) {
      id = special.mask;
    } else if (what < 0.9) {
      do id = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocab_size)));
      while (special.contains(id));
    }
  }
  return masked;
}

Objective::Objective(const Model<float>& model, double consistency)
    : model_(model),
      kind_(model.decoder   ? Kind::target_words
            : model.classes ? Kind::classes
                            : Kind::masked_words),
      consistency_(consistency) {
  if (kind_ == Kind::classes &&
      (model.classes->of_tokens() || model.classes->problem != ProblemType::single_label))
    fail<UsageError>(
        "a classifier is trained for one label of a sentence: wanted problem_type = single_label and a "
        "pooling other than none");
  if (consistency > 0 && kind_ != Kind::target_words)
    fail<UsageError>("--r-drop: is for the words of a target, and this model predicts none");
  if (kind_ == Kind::masked_words && model.source_special.mask == SpecialIds::kAbsent) {
    fail<UsageError>(
        "the vocabulary has no <mask>, and without --labels the model learns to fill in masks: tokenize "
        "--train --special mask gives it one");
  }
}

std::string Objective::unit() const {
  switch (kind_) {
    case Kind::masked_words:
      return "masked words";
    case Kind::classes:
      return "sentences";
    default:
      return "target tokens";
  }
}

std::int64_t Objective::predictions(const Corpus& corpus, std::int64_t i) const {
  if (kind_ == Kind::classes) return 1;
  if (kind_ == Kind::masked_words)
    return masked_count(corpus.source[static_cast<std::size_t>(i)], model_.source_special);
  return corpus.target.length(i);
}

CrossEntropySums Objective::forward(Pass<float>& pass, const Corpus& corpus,
                                    std::span<const std::int64_t> sentences, double smoothing, float scale,
                                    double baseline) const {
  if (kind_ == Kind::masked_words) return masked(pass, corpus, sentences, smoothing, scale);
  if (kind_ == Kind::classes) {
    std::vector<std::int32_t> labels;
    for (const std::int64_t i : sentences) labels.push_back(corpus.labels[static_cast<std::size_t>(i)]);
    return model_.class_loss(pass, encode_sources(model_, pass, corpus, sentences), labels, smoothing, scale);
  }
  if (consistency_ > 0 && pass.training) return read_twice(pass, corpus, sentences, smoothing, scale);
  const PackedTokens& target = pass.tape->own(pack(corpus.target, sentences));
  return model_.loss(pass, decode(pass, corpus, sentences, target), target, smoothing, scale, baseline);
}

Decoded<float> Objective::decode(Pass<float>& pass, const Corpus& corpus,
                                 std::span<const std::int64_t> sentences, const PackedTokens& target) const {
  std::optional<Encoded<float>> encoded;
  if (model_.encoder) encoded = encode_sources(model_, pass, corpus, sentences);
  return model_.decode(pass, encoded ? &*encoded : nullptr, target);
}

/// The mean over both readings, as if there were one.
CrossEntropySums Objective::read_twice(Pass<float>& pass, const Corpus& corpus,
                                       std::span<const std::int64_t> sentences, double smoothing,
                                       float scale) const {
  std::vector<std::int64_t> twice(sentences.begin(), sentences.end());
  twice.insert(twice.end(), sentences.begin(), sentences.end());
  const PackedTokens& target = pass.tape->own(pack(corpus.target, twice));
  const Decoded<float> decoded = decode(pass, corpus, twice, target);
  if (decoded.extra_loss)
    fail<UsageError>("--r-drop: a model like ", model_.architecture,
                     " has a loss of its own besides that of the words");
  CrossEntropySums sums = model_.needed_words().consistent_loss(pass, decoded.states, target.ids, smoothing,
                                                                consistency_, scale / 2);
  sums.loss /= 2;
  sums.nll /= 2;
  sums.correct =
      (sums.correct + static_cast<std::int64_t>(pass.step % 2)) / 2;  // halves up and down by turns
  return sums;
}

CrossEntropySums Objective::masked(Pass<float>& pass, const Corpus& corpus,
                                   std::span<const std::int64_t> sentences, double smoothing,
                                   float scale) const {
  PackedTokens read;
  std::vector<RowOf> rows;
  std::vector<std::int32_t> hidden;
  for (const std::int64_t i : sentences) {
    const TokenIds sentence = corpus.source[static_cast<std::size_t>(i)];
    const std::uint64_t number = (pass.step << 24) ^ static_cast<std::uint64_t>(i);
    const MaskedSentence masked =
        mask_words(sentence, model_.source_special, model_.encoder->sizes().vocab_size, pass.seed, number);
    for (const std::int64_t position : masked.positions) {
      rows.push_back({0, read.rows.rows() + position});
      hidden.push_back(sentence[static_cast<std::size_t>(position)]);
    }
    read.append(masked.ids);
  }
  if (hidden.empty()) return {};
  const Encoded<float> encoded = model_.encode(pass, pass.tape->own(std::move(read)));
  return model_.needed_words().loss(pass, select_rows<float>({encoded.states}, rows), hidden, smoothing,
                                    scale);
}

}  // namespace heed
