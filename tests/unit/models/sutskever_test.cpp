#include "models/sutskever.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "base/error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

SutskeverConfig small(const std::string& cell, std::int64_t n_layers, bool reverse_source) {
  SutskeverConfig c;
  c.source_vocab_size = 11;
  c.target_vocab_size = 13;
  c.d_embedding = 4;
  c.d_hidden = 5;
  c.n_layers = n_layers;
  c.cell = cell;
  c.reverse_source = reverse_source;
  c.init = "xavier";
  c.dropout = 0.2;
  return c;
}

PackedTokens reversed(const PackedTokens& tokens) {
  PackedTokens backwards = tokens;
  for (std::int64_t s = 0; s < tokens.rows.sentences(); ++s) {
    const auto begin = backwards.ids.begin();
    std::reverse(begin + tokens.rows.offset(s), begin + tokens.rows.offset(s + 1));
  }
  return backwards;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sutskever)

BOOST_DATA_TEST_CASE(gradients_of_all_parameters, boost::unit_test::data::make(cell_names()), cell) {
  Drawn<double> model(small(cell, cell == "lstm" ? 3 : 2, cell != "rnn"), 3);
  check_gradients(model, "none");
}

BOOST_DATA_TEST_CASE(step_by_step_equals_one_pass, boost::unit_test::data::make(cell_names()), cell) {  // P41
  Drawn<double> model(small(cell, 2, true), 6);
  check_step_by_step(model);
  check_edits(model);
}

BOOST_AUTO_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other) {  // P15
  Drawn<double> model(small("lstm", 2, true), 3);
  check_sentences_apart(model);
}

BOOST_AUTO_TEST_CASE(a_reversed_source_is_the_source_read_backwards) {
  const auto plain_owner = build<double>(small("lstm", 2, false)),
             backwards_owner = build<double>(small("lstm", 2, true));
  Model<double>&plain = *plain_owner, &backwards = *backwards_owner;
  plain.parameters.initialize(3);
  backwards.parameters.initialize(3);
  const std::vector<double> wanted = logits<double>(plain, reversed(kSource), kTarget);
  BOOST_CHECK_EQUAL(difference(logits<double>(backwards, kSource, kTarget), wanted), 0.0);
  BOOST_CHECK_GT(difference(logits<double>(plain, kSource, kTarget), wanted), 1e-3);
}

BOOST_AUTO_TEST_CASE(layers_may_run_one_at_a_time) {
  Drawn<double> model(small("lstm", 3, true), 8);
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const Encoded<double> whole = model.encode(pass, kSource);
  Encoded<double> parts{model.embed(pass, Side::source, kSource), &kSource.rows, {}};
  for (std::int64_t l = 0; l < 3; ++l) parts = model.encoder->encode(pass, parts, l, l + 1);
  BOOST_REQUIRE_EQUAL(parts.final_states.size(), whole.final_states.size());
  for (std::size_t l = 0; l < 3; ++l) {
    const Matrix<const double> a = whole.final_states[l].value(), b = parts.final_states[l].value();
    BOOST_REQUIRE_EQUAL(a.size(), 3 * 10);
    BOOST_CHECK_EQUAL(difference({a.data, 30}, {b.data, 30}), 0.0);
  }
}

BOOST_AUTO_TEST_CASE(the_paper_starts_uniformly) {
  SutskeverConfig config = small("lstm", 2, true);
  config.init = "paper";
  Drawn<double> model(config, 4);
  double largest = 0;
  for (const double x : model.parameters.values()) largest = std::max(largest, std::abs(x));
  BOOST_TEST(largest <= 0.08);
  BOOST_TEST(largest > 0.079);
}

BOOST_AUTO_TEST_CASE(config_travels_as_json) {
  const auto model_owner = build<float>(small("gru", 2, false));
  Model<float>& model = *model_owner;
  check_json(model);
  SutskeverConfig odd = small("gru", 0, false);
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
    return std::string(e.what()).find("n_layers is 0") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
