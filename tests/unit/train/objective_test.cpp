#include "train/objective.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "models/encoder_only.h"

using namespace heed;

namespace {

constexpr std::int32_t kMask = 4;
constexpr std::int64_t kWords = 100;

SpecialIds with_mask() {
  SpecialIds special;
  special.mask = kMask;
  return special;
}

/// 20 words and the end.
TokenIds sentence() {
  TokenIds ids;
  for (std::int32_t i = 0; i < 20; ++i) ids.push_back(10 + 3 * i);
  ids.push_back(kDefaultSpecialIds.eos);
  return ids;
}

std::unique_ptr<Model<float>> model_of(std::int64_t classes) {
  EncoderOnlyConfig config;
  config.source_vocab_size = kWords;
  config.n_encoder_layers = 1;
  config.d_model = config.d_ff = 8;
  config.n_heads = 2;
  config.n_classes = classes;
  auto model = build<float>(config);
  model->parameters.initialize(1);
  model->source_special = with_mask();
  return model;
}

CrossEntropySums loss_of(const Model<float>& model, const Corpus& corpus, std::uint64_t seed,
                         std::uint64_t step) {
  Tape<float> tape;
  Pass<float> pass(tape, model.parameters);
  pass.seed = seed;
  pass.step = step;
  const std::vector<std::int64_t> all{0, 1};
  return Objective(model).forward(pass, corpus, all, 0, 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(objective)

BOOST_AUTO_TEST_CASE(masks_follow_from_seed_and_number) {
  const MaskedSentence a = mask_words(sentence(), with_mask(), kWords, 5, 1);
  const MaskedSentence b = mask_words(sentence(), with_mask(), kWords, 5, 1);
  BOOST_TEST(a.ids == b.ids);
  BOOST_TEST(a.positions == b.positions);
  BOOST_TEST(a.positions != mask_words(sentence(), with_mask(), kWords, 6, 1).positions);
  BOOST_TEST(a.positions != mask_words(sentence(), with_mask(), kWords, 5, 2).positions);
}

// Bounds of five standard deviations.
BOOST_AUTO_TEST_CASE(shares_are_berts) {
  constexpr int kDraws = 10'000;
  const TokenIds whole = sentence();
  std::vector<int> at(whole.size());
  int masked = 0, other = 0, kept = 0;
  for (int n = 0; n < kDraws; ++n) {
    const MaskedSentence m = mask_words(whole, with_mask(), kWords, 3, static_cast<std::uint64_t>(n));
    BOOST_REQUIRE_EQUAL(m.positions.size(), 3);  // 15% of 20
    BOOST_REQUIRE(std::is_sorted(m.positions.begin(), m.positions.end()));
    for (std::size_t i = 0, p = 0; i < whole.size(); ++i) {
      if (p == m.positions.size() || m.positions[p] != static_cast<std::int64_t>(i)) {
        BOOST_REQUIRE_EQUAL(m.ids[i], whole[i]);
        continue;
      }
      ++p;
      ++at[i];
      masked += m.ids[i] == kMask;
      kept += m.ids[i] == whole[i];
      other += m.ids[i] != kMask && m.ids[i] != whole[i];
      BOOST_REQUIRE(m.ids[i] == kMask || !with_mask().contains(m.ids[i]));
    }
  }
  auto check = [](double count, double draws, double share) {
    BOOST_TEST(std::abs(count - draws * share) < 5 * std::sqrt(draws * share * (1 - share)));
  };
  const double again = 0.1 / 95;  // another word may be the same one
  check(masked, 3.0 * kDraws, 0.8);
  check(kept, 3.0 * kDraws, 0.1 + again);
  check(other, 3.0 * kDraws, 0.1 - again);
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) check(at[i], kDraws, 0.15);
  BOOST_TEST(at.back() == 0);  // the end is never hidden
}

BOOST_AUTO_TEST_CASE(masked_words_are_counted) {
  const auto model = model_of(0);
  Corpus corpus;
  corpus.source = {sentence(), {7, kDefaultSpecialIds.eos}};
  const Objective objective(*model);
  BOOST_TEST(objective.unit() == "masked words");
  BOOST_TEST(objective.predictions(corpus, 0) == 3);
  BOOST_TEST(objective.predictions(corpus, 1) == 1);  // at least one
  const CrossEntropySums sums = loss_of(*model, corpus, 1, 1);
  BOOST_TEST(sums.loss == loss_of(*model, corpus, 1, 1).loss);
  BOOST_TEST(sums.loss != loss_of(*model, corpus, 1, 2).loss);
  BOOST_TEST(sums.loss != loss_of(*model, corpus, 2, 1).loss);
  BOOST_TEST(sums.loss / 4 > 1.0);  // of four words, near log 100 each
  BOOST_TEST(sums.loss / 4 < 12.0);
}

BOOST_AUTO_TEST_CASE(classes_are_counted_by_sentences) {
  const auto model = model_of(3);
  Corpus corpus;
  corpus.source = {sentence(), {7, kDefaultSpecialIds.eos}};
  corpus.labels = {2, 0};
  const Objective objective(*model);
  BOOST_TEST(objective.unit() == "sentences");
  BOOST_TEST(objective.predictions(corpus, 0) == 1);
  BOOST_TEST(loss_of(*model, corpus, 1, 1).loss == loss_of(*model, corpus, 2, 2).loss);  // nothing is drawn
}

BOOST_AUTO_TEST_CASE(masks_need_a_mask) {
  const auto model = model_of(0);
  model->source_special.mask = SpecialIds::kAbsent;
  BOOST_CHECK_THROW(Objective{*model}, UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
