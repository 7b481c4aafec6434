#include "models/cho.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

ChoConfig small(const std::string& cell, const std::string& decoder_cell) {
  ChoConfig c;
  c.source_vocab_size = 11;
  c.target_vocab_size = 13;
  c.d_embedding = 4;
  c.d_hidden = 5;
  c.d_maxout = 3;
  c.cell = cell;
  c.decoder_cell = decoder_cell;
  c.reverse_source = cell == "lstm";
  c.init = "xavier";
  c.dropout = 0.2;
  return c;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cho)

BOOST_DATA_TEST_CASE(gradients_of_all_parameters, boost::unit_test::data::make(cell_names()), cell) {
  const auto owner = build<double>(small(cell, cell == "gru"               ? "gru-reset-after"
                                               : cell == "gru-reset-after" ? "gru"
                                                                           : cell));
  Model<double>& model = *owner;
  model.parameters.initialize(3);
  check_gradients(model, "none");
}

BOOST_DATA_TEST_CASE(step_by_step_equals_one_pass, boost::unit_test::data::make(cell_names()), cell) {  // P41
  Drawn<double> model(small("gru", cell), 6);
  check_step_by_step(model);
  check_edits(model);
}

BOOST_AUTO_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other) {  // P15
  Drawn<double> model(small("gru", "gru-reset-after"), 3);
  check_sentences_apart(model);
}

BOOST_AUTO_TEST_CASE(config_travels_as_json) {
  const auto model_owner = build<float>(small("lstm", "rnn"));
  Model<float>& model = *model_owner;
  check_json(model);
  ChoConfig odd = small("gru", "gru");
  odd.d_maxout = 0;
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
    return std::string(e.what()).find("d_maxout is 0") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
