#include "models/luong.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;
namespace data = boost::unit_test::data;

namespace {

LuongConfig small_luong() {
  LuongConfig c;
  c.source_vocab_size = 11;
  c.target_vocab_size = 13;
  c.d_embedding = 4;
  c.d_hidden = 5;
  c.d_attentional = 3;
  c.n_layers = 2;
  c.d_align = 6;
  c.max_source_positions = 8;
  c.window = 2;
  c.init = "xavier";
  c.dropout = 0.2;
  c.output_dropout = 0.1;
  return c;
}

LuongConfig with(const std::string& score, const std::string& attention, bool input_feeding) {
  LuongConfig c = small_luong();
  c.score = score;
  c.attention = attention;
  c.input_feeding = input_feeding;
  return c;
}

LuongConfig bidirectional(const std::string& cell, std::int64_t n_layers) {
  LuongConfig c = small_luong();
  c.bidirectional = true;
  c.reverse_source = false;
  c.cell = cell;
  c.n_layers = n_layers;
  return c;
}

/// First values, enlarged so that the tanh of scores bends: else the state's part of a sum hardly changes the
/// softmax. What begins at zero gets other values, too; words begin far apart.
void initialize(Model<double>& model, std::uint64_t seed, double scale = 3) {
  model.parameters.initialize(seed);
  for (const Parameter& p : model.parameters.list()) {
    const Matrix<double> x = p.in(model.parameters.values().data());
    const double by = p.name.ends_with("embedding/weight") ? 0.3 : scale;
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t j = 0; j < x.cols; ++j)
        x(i, j) = x(i, j) == 0 ? 0.1 * static_cast<double>(j % 7 - 2) : by * x(i, j);
    }
  }
}

const auto scores = data::make({"dot", "general", "concat", "location", "additive"});
const auto attentions = data::make({"global", "local-m", "local-p"});
const auto feeding = data::make({true, false});

/// The named values of a pass.
Recording<double> run(const LuongConfig& config) {
  const auto model_owner = build<double>(config);
  Model<double>& model = *model_owner;
  initialize(model, 5);
  Recording<double> recording([](const std::string&) { return true; });
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  pass.recorder = &recording;
  const Encoded<double> memory = model.encode(pass, kSource);
  model.decode(pass, &memory, kTarget);
  return recording;
}

/// Calls visit(sentence, step, weights over the source) for each word of the target.
template <class Visit>
void each_row(const std::vector<double>& blocks, Visit&& visit) {
  const double* row = blocks.data();
  for (std::int64_t s = 0; s < kTarget.rows.sentences(); ++s) {
    const std::int64_t m = kSource.rows.length(s);
    for (std::int64_t t = 0; t < kTarget.rows.length(s); ++t, row += m)
      visit(s, t, std::span(row, static_cast<std::size_t>(m)));
  }
  BOOST_CHECK(row == blocks.data() + blocks.size());
}

const std::string kWeights = "decoder/layer_1/cross_attention/weights";

}  // namespace

BOOST_AUTO_TEST_SUITE(luong)

BOOST_DATA_TEST_CASE(gradients_of_all_parameters, scores* attentions* feeding, score, attention, feeds) {
  const auto model_owner = build<double>(with(score, attention, feeds));
  Model<double>& model = *model_owner;
  initialize(model, 3);
  check_gradients(model, "none");
}

BOOST_DATA_TEST_CASE(gradients_with_a_bidirectional_encoder, data::make(cell_names()), cell) {
  const auto model_owner = build<double>(bidirectional(cell, cell == "lstm" ? 3 : 1));
  Model<double>& model = *model_owner;
  initialize(model, 4);
  check_gradients(model, "none");
}

BOOST_DATA_TEST_CASE(gradients_with_the_options_of_layers, feeding, feeds) {
  LuongConfig config = with("general", "global", feeds);
  config.peepholes = config.learned_start = true;
  config.layer_norm = feeds;
  // Not both at once: a vector that is dropped whole has nothing to normalise.
  config.recurrent_dropout = feeds ? 0 : 0.3;
  config.dropout = feeds ? 0 : 0.2;
  const auto model_owner = build<double>(config);
  Model<double>& model = *model_owner;
  initialize(model, 5, 2);  // normalised sums are steep enough
  check_gradients(model, "none");
}

BOOST_AUTO_TEST_CASE(step_by_step_equals_one_pass_with_the_options_of_layers) {
  LuongConfig config = small_luong();
  config.peepholes = config.layer_norm = config.learned_start = true;
  const auto model_owner = build<double>(config);
  Model<double>& model = *model_owner;
  initialize(model, 6);
  check_step_by_step(model);
}

BOOST_DATA_TEST_CASE(step_by_step_equals_one_pass, scores* attentions* feeding, score, attention, feeds) {
  const auto model_owner = build<double>(with(score, attention, feeds));
  Model<double>& model = *model_owner;  // P41
  initialize(model, 6);
  check_step_by_step(model);
  const bool unread = std::string(score) == "location";
  check_edits(model, unread ? std::vector<std::string>{"cross_attention/key"} : std::vector<std::string>{});
}

BOOST_DATA_TEST_CASE(step_by_step_equals_one_pass_of_other_cells, data::make(cell_names()), cell) {
  const auto model_owner = build<double>(bidirectional(cell, 2));
  Model<double>& model = *model_owner;
  initialize(model, 6);
  check_step_by_step(model);
  check_edits(model);
}

BOOST_DATA_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other, attentions* feeding, attention, feeds) {
  const auto model_owner = build<double>(with("general", attention, feeds));
  Model<double>& model = *model_owner;  // P15
  initialize(model, 3);
  check_sentences_apart(model);
}

BOOST_AUTO_TEST_CASE(a_moving_window_is_all_that_is_seen) {
  LuongConfig config = with("general", "local-m", true);
  config.window = 1;
  std::int64_t outside = 0;
  each_row(run(config).at(kWeights).values,
           [&](std::int64_t, std::int64_t t, std::span<const double> weights) {
             double sum = 0;
             for (std::size_t j = 0; j < weights.size(); ++j) {
               const bool inside = std::abs(static_cast<std::int64_t>(j) - t) <= 1;
               BOOST_TEST((weights[j] > 0) == inside);
               outside += !inside;
               sum += weights[j];
             }
             const bool sees = t - 1 < static_cast<std::int64_t>(weights.size());
             BOOST_TEST(std::abs(sum - sees) < 1e-12);
           });
  BOOST_TEST(outside > 10);
}

BOOST_AUTO_TEST_CASE(predicted_windows_weigh_by_nearness_without_renormalising) {
  LuongConfig config = with("dot", "local-p", true);
  config.window = 1;
  const Recording<double> local = run(config);
  const std::vector<double>& positions = local.at("decoder/layer_1/cross_attention/position").values;
  const std::vector<double>& scores = local.at("decoder/layer_1/cross_attention/scores").values;
  const double *p = positions.data(), *e = scores.data();
  each_row(local.at(kWeights).values, [&](std::int64_t, std::int64_t, std::span<const double> weights) {
    BOOST_TEST((*p > 0 && *p < static_cast<double>(weights.size())));
    double total = 0, sum = 0;
    auto inside = [&](std::size_t j) { return std::abs(static_cast<double>(j) - *p) <= 1; };
    for (std::size_t j = 0; j < weights.size(); ++j) total += inside(j) ? std::exp(e[j]) : 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double distance = static_cast<double>(j) - *p;
      const double wanted = inside(j) ? std::exp(e[j]) / total * std::exp(-2 * distance * distance) : 0;
      BOOST_TEST(std::abs(weights[j] - wanted) < 1e-12);
      sum += weights[j];
    }
    BOOST_TEST(sum <= 1.0);
    ++p;
    e += weights.size();
  });
}

BOOST_DATA_TEST_CASE(a_window_over_everything_is_global, scores* feeding, score, feeds) {
  LuongConfig config = with(score, "local-m", feeds);
  config.window = 100;
  const Recording<double> local = run(config), global = run(with(score, "global", feeds));
  BOOST_CHECK_EQUAL(difference(local.at("decoder/output").values, global.at("decoder/output").values), 0.0);
}

BOOST_DATA_TEST_CASE(a_reversed_source_ends_with_its_first_word, data::make({true, false}), reversed) {
  LuongConfig config = small_luong();
  config.reverse_source = reversed;
  const auto model_owner = build<double>(config);
  Model<double>& model = *model_owner;
  initialize(model, 5);
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const Encoded<double> encoded = model.encode(pass, kSource);
  for (std::int64_t s = 0; s < kSource.rows.sentences(); ++s) {
    const double* last = encoded.final_states.at(1).value().row(s);
    const double* h =
        encoded.states.value().row(reversed ? kSource.rows.offset(s) : kSource.rows.offset(s + 1) - 1);
    BOOST_CHECK_EQUAL(difference({last, 5}, {h, 5}), 0.0);
  }
}

BOOST_AUTO_TEST_CASE(the_paper_starts_uniformly) {
  LuongConfig config = small_luong();
  config.init = "paper";
  const Drawn<double> model(config, 4);
  double largest = 0;
  for (const double x : model.parameters.values()) largest = std::max(largest, std::abs(x));
  BOOST_TEST(largest <= 0.1);
  BOOST_TEST(largest > 0.099);
}

BOOST_AUTO_TEST_CASE(config_travels_as_json) {
  const auto model_owner = build<float>(with("concat", "local-p", false));
  Model<float>& model = *model_owner;
  check_json(model);
  LuongConfig odd = bidirectional("lstm", 1);
  odd.reverse_source = true;
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError,
                        [](const Error& e) { return std::string(e.what()).starts_with("reverse_source: "); });
}

BOOST_AUTO_TEST_CASE(location_scores_know_their_longest_source) {
  LuongConfig config = with("location", "global", true);
  config.max_source_positions = 6;
  const auto model_owner = build<double>(config);
  Model<double>& model = *model_owner;
  BOOST_TEST(model.sizes(Side::source).max_length == 6);
  BOOST_TEST(model.sizes(Side::target).max_length == 0);  // the score limits the source alone
  BOOST_CHECK_EXCEPTION(logits<double>(model, kSource, kTarget), Error, [](const Error& e) {
    return std::string(e.what()).find("7 tokens") != std::string::npos &&
           std::string(e.what()).find("max_source_positions") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
