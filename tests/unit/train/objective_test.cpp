#include "train/objective.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/decoder_only.h"
#include "models/encoder_only.h"
#include "models/xu.h"

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

// From the logits of both readings: loss, agreement and hits by their definitions, and the gradient along
// itself.
BOOST_AUTO_TEST_CASE(two_readings_count_as_one) {
  DecoderOnlyConfig config;
  config.target_vocab_size = kWords;
  config.n_decoder_layers = 1;
  config.d_model = config.d_ff = 8;
  config.n_heads = 2;
  config.dropout = 0.3;
  const auto model = build<float>(config);
  model->parameters.initialize(1);
  Corpus corpus;
  corpus.target = {sentence(), {7, 8, kDefaultSpecialIds.eos}};
  const std::vector<std::int64_t> all{0, 1};
  const double consistency = 3, scale = 0.25;
  const Objective objective(*model, consistency);
  const auto pass_of = [&](Tape<float>& tape, std::uint64_t step) {
    Pass<float> pass(tape, model->parameters);
    pass.training = true;
    pass.seed = 5;
    pass.step = step;
    return pass;
  };
  int odd[2] = {0, 0};
  for (std::uint64_t step = 0; step < 40; ++step) {
    Tape<float> tape;
    Pass<float> pass = pass_of(tape, step), again = pass_of(tape, step);
    const CrossEntropySums sums = objective.forward(pass, corpus, all, 0, static_cast<float>(scale));
    const PackedTokens target = pack(corpus.target, std::vector<std::int64_t>{0, 1, 0, 1});
    const Matrix<const float> logits =
        model->needed_words().logits(again, model->decode(again, nullptr, target).states).value();
    const auto log_p = [&](std::int64_t i, std::int64_t j) {
      double sum = 0;
      for (std::int64_t k = 0; k < kWords; ++k) sum += std::exp(static_cast<double>(logits(i, k)));
      return static_cast<double>(logits(i, j)) - std::log(sum);
    };
    double nll = 0, divergence = 0;
    std::int64_t correct = 0;
    const std::int64_t half = logits.rows / 2;
    for (std::int64_t i = 0; i < logits.rows; ++i) {
      const std::int32_t wanted = target.ids[static_cast<std::size_t>(i)];
      nll -= log_p(i, wanted);
      correct += std::max_element(logits.row(i), logits.row(i) + kWords) == logits.row(i) + wanted;
      const std::int64_t other = i < half ? i + half : i - half;
      for (std::int64_t j = 0; j < kWords; ++j)
        divergence += std::exp(log_p(i, j)) * (log_p(i, j) - log_p(other, j));
    }
    BOOST_REQUIRE_GT(divergence, 1);
    BOOST_CHECK_CLOSE(sums.nll, nll / 2, 1e-3);
    BOOST_CHECK_CLOSE(sums.loss, nll / 2 + consistency / 4 * divergence, 1e-3);
    BOOST_CHECK_LE(std::abs(2 * sums.correct - correct), 1);
    if (correct % 2 != 0) {
      ++odd[step % 2];
      BOOST_TEST((2 * sums.correct > correct) == (step % 2 == 1));  // rounded up in every second update
    }
  }
  BOOST_TEST(odd[0] > 0);
  BOOST_TEST(odd[1] > 0);

  const auto loss = [&](float* gradient) {
    Tape<float> tape;
    tape.set_with_gradients(gradient != nullptr);
    Pass<float> pass = pass_of(tape, 1);
    pass.gradients = gradient;
    const double value = objective.forward(pass, corpus, all, 0.1, static_cast<float>(scale)).loss;
    if (gradient) tape.backward();
    return value;
  };
  const std::span<float> values = model->parameters.values();
  const std::vector<float> before(values.begin(), values.end());
  std::vector<float> gradient(values.size());
  loss(gradient.data());
  double square = 0;
  for (const float g : gradient) square += static_cast<double>(g) * g;
  const auto moved = [&](double step) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = before[i] + static_cast<float>(step / std::sqrt(square) * gradient[i]);
    return loss(nullptr);
  };
  BOOST_CHECK_CLOSE(scale * (moved(1e-3) - moved(-1e-3)) / 2e-3, std::sqrt(square), 1);
}

BOOST_AUTO_TEST_CASE(two_readings_need_the_words_of_a_target_and_no_other_loss) {
  const auto encoder = model_of(3);
  BOOST_CHECK_THROW(Objective(*encoder, 1), UsageError);
  XuConfig config;
  config.source_vocab_size = config.target_vocab_size = kWords;
  config.d_embedding = config.d_hidden = config.d_align = 4;
  const auto xu = build<float>(config);
  xu->parameters.initialize(1);
  Corpus corpus;
  corpus.source = corpus.target = {sentence()};
  Tape<float> tape;
  Pass<float> pass(tape, xu->parameters);
  pass.training = true;
  const std::vector<std::int64_t> all{0};
  BOOST_CHECK_EXCEPTION(Objective(*xu, 1).forward(pass, corpus, all, 0, 1), UsageError, [](const Error& e) {
    return std::string(e.what()) ==
           "--r-drop: a model like xu has a loss of its own besides that of the words";
  });
}

BOOST_AUTO_TEST_SUITE_END()
