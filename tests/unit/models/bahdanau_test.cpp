#include "models/bahdanau.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

BahdanauConfig small(const std::string& cell, const std::string& readout_state, bool align_bias) {
  BahdanauConfig c;
  c.source_vocab_size = 11;
  c.target_vocab_size = 13;
  c.d_embedding = 4;
  c.d_hidden = 5;
  c.d_align = 6;
  c.d_maxout = 3;
  c.cell = cell;
  c.readout_state = readout_state;
  c.align_bias = align_bias;
  c.init = "xavier";
  c.dropout = 0.2;
  return c;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bahdanau)

BOOST_DATA_TEST_CASE(gradients_of_all_parameters, boost::unit_test::data::make(cell_names()), cell) {
  Drawn<double> model(small(cell, cell == "gru" ? "current" : "previous", cell != "gru"), 3);
  check_gradients(model, "none");
}

BOOST_DATA_TEST_CASE(step_by_step_equals_one_pass, boost::unit_test::data::make(cell_names()), cell) {  // P41
  Drawn<double> model(small(cell, cell == "lstm" ? "previous" : "current", true), 6);
  check_step_by_step(model);
  check_edits(model,
              cell == "lstm" ? std::vector<std::string>{"layer_0/output"} : std::vector<std::string>{});
}

BOOST_AUTO_TEST_CASE(every_option_of_the_layers_and_another_depth_and_width) {
  BahdanauConfig config = small("lstm", "current", false);
  config.d_decoder = 4;
  config.n_encoder_layers = 2;
  config.peepholes = config.layer_norm = config.learned_start = true;
  config.recurrent_dropout = 0.3;
  Drawn<double> model(config, 8);
  // The first values leave these at zero, where little of their effect shows.
  for (const Parameter& p : model.parameters.list()) {
    if (!p.name.ends_with("start") && p.name.find("peephole") == std::string::npos) continue;
    for (std::int64_t j = 0; j < p.cols; ++j)
      p.in(model.parameters.values().data())(0, j) = 0.1 * static_cast<double>(j + 1);
  }
  check_gradients(model, "none");
  check_step_by_step(model);
}

BOOST_AUTO_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other) {  // P15
  Drawn<double> model(small("gru", "current", false), 3);
  check_sentences_apart(model);
}

BOOST_AUTO_TEST_CASE(the_paper_starts_with_orthogonal_recurrent_matrices) {
  BahdanauConfig config = small("gru", "current", false);
  config.init = "paper";
  Drawn<double> model(config, 4);
  const Matrix<const double> u =
      std::as_const(model.parameters).view("decoder/layer_0/state/recurrent/reset/weight");
  for (std::int64_t a = 0; a < u.rows; ++a) {
    for (std::int64_t b = 0; b < u.rows; ++b) {
      double product = 0;
      for (std::int64_t j = 0; j < u.cols; ++j) product += u(a, j) * u(b, j);
      BOOST_TEST(std::abs(product - (a == b)) < 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(config_travels_as_json) {
  const auto model_owner = build<float>(small("lstm", "previous", true));
  Model<float>& model = *model_owner;
  check_json(model);
  BahdanauConfig odd = small("gru", "current", false);
  odd.d_align = 0;
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
    return std::string(e.what()).find("d_align is 0") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
