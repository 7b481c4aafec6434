#include "models/xu.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

XuConfig small(const std::string& attend_to, const std::string& cell = "lstm") {
  XuConfig c;
  c.source_vocab_size = 11;
  c.target_vocab_size = 13;
  c.d_embedding = 4;
  c.d_hidden = 5;
  c.d_align = 6;
  c.cell = cell;
  c.attend_to = attend_to;
  c.context_gate = cell != "gru";
  c.doubly_stochastic = cell == "rnn" ? 0 : 0.7;
  c.dropout = 0.2;
  return c;
}

/// Three source words, two target words: nine ways to pick positions.
const PackedTokens kThreeWords = tokens({{5, 7, 3}});
const PackedTokens kTwoWords = tokens({{6, 3}});

/// The positions that a pass attended to and how likely they were.
class Picks {
 public:
  explicit Picks(const Recording<double>& recording)
      : weights(recording.at("decoder/layer_0/cross_attention/weights").values),
        alpha(recording.at("decoder/layer_0/cross_attention/probabilities").values) {}

  std::vector<double> weights, alpha;  ///< 2 steps of 3 keys
  /// A number from 0 to 8; -1 when the expectation was kept.
  int way() const {
    int found = 0;
    for (std::size_t step = 0; step < 2; ++step) {
      const auto one = std::find(weights.begin() + 3 * static_cast<std::ptrdiff_t>(step),
                                 weights.begin() + 3 * static_cast<std::ptrdiff_t>(step + 1), 1.0);
      const auto key = one - weights.begin() - 3 * static_cast<std::ptrdiff_t>(step);
      if (key > 2) return -1;
      found = 3 * found + static_cast<int>(key);
    }
    return found;
  }
  double probability() const {
    double p = 1;
    for (std::size_t i = 0; i < 6; ++i) {
      if (weights[i] == 1.0) p *= alpha[i];
    }
    return p;
  }
};

struct Draw {
  int way;
  double probability, nll;
};

/// One training pass with the draws of `seed`; its gradient, times `share`, is added to `gradients`.
Draw draw(const Model<double>& model, std::uint64_t seed, double baseline = 0,
          std::vector<double>* gradients = nullptr, double share = 1) {
  Tape<double> tape;
  tape.set_with_gradients(gradients != nullptr);
  std::vector<double> own(model.parameters.values().size());
  Recording<double> recording([](const std::string&) { return true; });
  Pass<double> pass(tape, model.parameters);
  pass.gradients = gradients ? own.data() : nullptr;
  pass.training = true;
  pass.seed = seed;
  pass.recorder = &recording;
  const Encoded<double> memory = model.encode(pass, kThreeWords);
  const CrossEntropySums sums =
      model.loss(pass, model.decode(pass, &memory, kTwoWords), kTwoWords, 0, 1, baseline);
  tape.backward();
  for (std::size_t i = 0; gradients && i < own.size(); ++i) (*gradients)[i] += share * own[i];
  const Picks picks(recording);
  return {picks.way(), picks.probability(), sums.nll};
}

XuConfig hard_config() {
  XuConfig config = small("drawn");
  config.doubly_stochastic = config.entropy = config.expected_share = config.dropout = 0;
  return config;
}

/// A seed for each of the nine ways.
std::map<int, std::uint64_t> seed_of_each_way(const Model<double>& model) {
  std::map<int, std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seeds.size() < 9 && seed < 5000; ++seed)
    seeds.try_emplace(draw(model, seed).way, seed);
  return seeds;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(xu)

BOOST_DATA_TEST_CASE(gradients_of_soft_attention, boost::unit_test::data::make(cell_names()), cell) {
  Drawn<double> model(small("mean", cell), 3);
  check_gradients(model, "none");
}

BOOST_AUTO_TEST_CASE(gradients_when_all_sentences_keep_the_expectation) {  // with the bonus for entropy
  XuConfig config = small("drawn");
  config.expected_share = 1;
  config.entropy = 0.3;
  Drawn<double> model(config, 3);
  check_gradients(model, "none");
}

/// Three images of two channels, and features of three places each.
BOOST_AUTO_TEST_CASE(gradients_of_places) {
  for (const bool features : {false, true}) {
    XuConfig config = small("mean");
    config.source_vocab_size = 1;
    config.n_channels = 2;
    config.patch_size = 2;
    (features ? config.feature_places : config.image_size) = features ? 3 : 4;
    config.feature_width = 4;
    Drawn<double> model(config, 3);
    const ImagePatches& images = *model.images;
    BOOST_CHECK_EQUAL(images.rows(), features ? 3 : 4);
    for (const Parameter& p : model.parameters.list()) {  // a closed ReLU has no gradient to check
      Matrix<double> values = p.in(model.parameters.values().data());
      if (p.name == "encoder/patches/bias" || p.name == "encoder/layer_0/annotation/bias")
        std::fill(values.data, values.data + values.size(), 6.0);
    }
    std::vector<double> pixels;
    for (std::int64_t i = 0; i < 3 * images.values(); ++i)
      pixels.push_back(std::sin(1.7 * static_cast<double>(i)));
    Packing rows;
    for (int i = 0; i < 3; ++i) rows.append(images.rows());
    check_gradients(model, "none", [&](Pass<double>& pass) {
      const Encoded<double> memory = model.encode(pass, images.embed<double>(pass, pixels, rows), rows);
      const Decoded<double> decoded = model.decode(pass, &memory, kTarget);
      return model.loss(pass, decoded, kTarget, 0.1, 0.5).loss * 0.5;
    });
    check_json(Drawn<float>(config, 3));
    config.source_vocab_size = 2;
    BOOST_CHECK_THROW(build<double>(config), UsageError);
  }
}

/// sum_s p(s) (estimate of the gradient for s) is the gradient of sum_s p(s) (-log p(y | s)), whatever the
/// baseline.
BOOST_DATA_TEST_CASE(the_estimate_is_right_on_average, boost::unit_test::data::make({0.0, -1.7}), baseline) {
  Drawn<double> model(hard_config(), 5);
  for (double& value : model.parameters.values()) value *= 2;  // else the positions hardly matter
  const std::map<int, std::uint64_t> seeds = seed_of_each_way(model);
  BOOST_REQUIRE_EQUAL(seeds.size(), 9u);
  BOOST_REQUIRE_EQUAL(seeds.count(-1), 0u);
  auto expected_nll = [&] {
    double total = 0, all = 0;
    for (const auto& [way, seed] : seeds) {
      const Draw d = draw(model, seed);
      BOOST_REQUIRE_EQUAL(d.way, way);  // a small change of a parameter must not change the draw
      total += d.probability * d.nll;
      all += d.probability;
    }
    BOOST_REQUIRE_SMALL(all - 1, 1e-12);
    return total;
  };
  std::vector<double> gradients(model.parameters.values().size());
  for (const auto& [way, seed] : seeds)
    draw(model, seed, baseline, &gradients, draw(model, seed).probability);
  for (const char* name :
       {"decoder/layer_0/cross_attention/query/weight", "decoder/layer_0/cross_attention/score/weight",
        "encoder/layer_0/forward/input/candidate/weight", "decoder/output/weight"}) {
    const Parameter& p = model.parameters.find(name);
    const Matrix<double> values = p.in(model.parameters.values().data()), d = p.in(gradients.data());
    for (std::int64_t i = 0; i < values.rows; ++i) {
      const auto width = static_cast<std::size_t>(values.cols);
      check_gradient(name, {values.row(i), width}, {d.row(i), width}, expected_nll);
    }
  }
}

BOOST_AUTO_TEST_CASE(positions_are_drawn_as_often_as_they_are_likely) {
  XuConfig config = hard_config();
  config.expected_share = 0.5;
  Drawn<double> model(config, 5);
  constexpr int passes = 4000;
  std::map<int, int> count;
  std::map<int, double> probability;
  for (std::uint64_t seed = 1; seed <= passes; ++seed) {
    const Draw d = draw(model, seed);
    ++count[d.way];
    probability[d.way] = d.way < 0 ? 0.5 : d.probability / 2;
  }
  BOOST_REQUIRE_EQUAL(count.size(), 10u);  // nine ways and the expectation
  for (const auto& [way, p] : probability)
    BOOST_CHECK_LE(std::abs(count[way] - passes * p), 4 * std::sqrt(passes * p * (1 - p)));
}

BOOST_DATA_TEST_CASE(step_by_step_equals_one_pass, boost::unit_test::data::make({"mean", "drawn"}),
                     attend_to) {  // P41
  Drawn<double> model(small(attend_to), 6);
  // A query that changes must be able to move the pick.
  for (double& value : model.parameters.values()) value *= 4;
  check_step_by_step(model);
  check_edits(model);
}

BOOST_DATA_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other,
                     boost::unit_test::data::make({"mean", "drawn"}), attend_to) {  // P15
  Drawn<double> model(small(attend_to), 3);
  check_sentences_apart(model);
}

/// The logits of kTwoWords in one pass that samples by `stream`, and where it looked.
struct Sampled {
  std::vector<double> logits;
  int way;
  std::vector<double> first_alpha;
};
Sampled sampled(const Model<double>& model, const SampleStream& stream) {
  Tape<double> tape;
  Recording<double> recording([](const std::string&) { return true; });
  Pass<double> pass(tape, model.parameters);
  pass.recorder = &recording;
  const Encoded<double> memory = model.encode(pass, kThreeWords);
  const Var<double> states = model.decode(pass, &memory, kTwoWords, {stream}).states;
  const Matrix<const double> logits = model.words->logits(pass, states).value();
  const Picks picks(recording);
  return {{logits.data, logits.data + logits.size()},
          picks.way(),
          {picks.alpha.begin(), picks.alpha.begin() + 3}};
}

BOOST_AUTO_TEST_CASE(a_sampled_translation_looks_where_it_was_drawn_to) {
  Drawn<double> model(hard_config(), 5);
  for (double& value : model.parameters.values()) value *= 2;
  constexpr std::size_t count = 1000;
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const Encoded<double> memory = model.encode(pass, kThreeWords);
  const PackedWeights<double> weights(model.parameters.values());
  Hypotheses<double> hypotheses(model, weights, 1, &memory, nullptr, {SampleStream::of(9, 4, 0)});
  const std::vector<std::int64_t> one_sentence(count, 0);
  std::vector<std::int64_t> reversed(count);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto copy = [](Matrix<const double> m) { return std::vector<double>(m.data, m.data + m.size()); };
  const std::vector<double>
      first =
          copy(hypotheses.read(std::vector<std::int32_t>(count, kDefaultSpecialIds.bos), one_sentence).all()),
      second = copy(hypotheses.read(std::vector<std::int32_t>(count, 6), reversed).all());
  std::map<int, int> ways;
  std::vector<double> looked(3), alpha;
  for (std::size_t i = 0; i < count; ++i) {
    const Sampled whole = sampled(model, SampleStream::of(9, 4, i));
    const std::span<const double> words(whole.logits);
    BOOST_REQUIRE_LE(difference(std::span(first).subspan(13 * i, 13), words.first(13)), 1e-12);
    BOOST_REQUIRE_LE(difference(std::span(second).subspan(13 * (count - 1 - i), 13), words.last(13)), 1e-12);
    ++ways[whole.way];
    ++looked[static_cast<std::size_t>(whole.way / 3)];
    alpha = whole.first_alpha;
  }
  BOOST_CHECK_EQUAL(ways.size(), 9u);
  for (std::size_t key = 0; key < 3; ++key) {
    const double p = alpha[key];
    BOOST_CHECK_LE(std::abs(looked[key] - count * p), 4 * std::sqrt(count * p * (1 - p)));
  }
}

BOOST_AUTO_TEST_CASE(config_travels_as_json) {
  const auto model_owner = build<float>(small("drawn", "gru"));
  Model<float>& model = *model_owner;
  check_json(model);
  XuConfig odd = small("drawn");
  odd.entropy = -1;
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
    return std::string(e.what()).find("entropy is -1") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
