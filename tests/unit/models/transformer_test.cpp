#include "models/transformer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "base/bfloat16.h"
#include "base/error.h"
#include "nn/recording.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

TransformerConfig small(const std::string& norm, const std::string& positions, const std::string& tied) {
  TransformerConfig c;
  c.source_vocab_size = 11;
  c.target_vocab_size = tied == "all" ? 11 : 13;
  c.n_encoder_layers = 2;
  c.n_decoder_layers = 3;
  c.d_model = 6;
  c.d_ff = 10;
  c.n_heads = 2;
  c.max_length = 9;
  c.norm = norm;
  c.positions = positions;
  c.tied = tied;
  c.dropout = 0.2;
  c.attention_dropout = 0.1;
  c.activation_dropout = 0.15;
  return c;
}

/// The logits of two steps of a search, of weights that are held once, as products read them, or beside the
/// parameters.
std::vector<float> searched(const TransformerConfig& config, Precision precision, Unpacked unpacked) {
  Drawn<float> model(config, 5);
  const std::vector<float> drawn = values_of(model);
  Tape<float> tape;
  Pass<float> pass(tape, model.parameters);
  const Encoded<float> memory = model.encode(pass, kSource);
  const PackedWeights<float> exact(std::as_const(model.parameters).values());
  model.set_precision(precision, unpacked);
  Hypotheses<float> hypotheses(model, model.packed ? *model.packed : exact, 3, &memory);
  std::vector<float> all;
  for (const std::vector<std::int32_t>& words : {std::vector{1, 1, 1}, std::vector{4, 299, 7}}) {
    const Matrix<const float> logits = hypotheses.read(words, std::vector<std::int64_t>{0, 1, 2}).all();
    all.insert(all.end(), logits.data, logits.data + logits.size());
  }
  if (unpacked == Unpacked::released) BOOST_TEST(share_changed(model, drawn) > 0.2);
  return all;
}

/// Changes nothing; what may be edited is kept as it is named.
class NoEdits : public Editor<float> {
  bool edits(const std::string&) const override { return false; }
  void edit(const std::string&, Matrix<float>, std::span<const Place>, std::int64_t) const override {}
  void edit_attention(const std::string&, std::span<float>, const Place&, std::int64_t) const override {}
};

}  // namespace

BOOST_AUTO_TEST_SUITE(transformer)

BOOST_AUTO_TEST_CASE(gradients_of_all_parameters) {
  for (const auto& [norm, positions, tied] :
       {std::tuple{"post", "sinusoidal", "all"}, std::tuple{"pre", "learned", "none"},
        std::tuple{"post", "none", "decoder"}}) {
    Drawn<double> model(small(norm, positions, tied), 3);
    check_gradients(model, "key/bias");  // softmax is blind to a shift of all scores
  }
}

BOOST_AUTO_TEST_CASE(gradients_without_norm_or_residual) {
  for (const auto& [norm, residual] : {std::pair{"none", true}, std::pair{"none", false},
                                       std::pair{"post", false}, std::pair{"pre", false}}) {
    TransformerConfig config = small(norm, "sinusoidal", "all");
    config.residual = residual;
    config.n_encoder_layers = config.n_decoder_layers = 1;  // without a residual little gets through two
    Drawn<double> model(config, 3);
    check_step_by_step(model);
    open_relus(model, 1);  // words hardly differ here
    check_gradients(model, "key/bias");
  }
}

BOOST_AUTO_TEST_CASE(a_search_may_hold_weights_once) {
  TransformerConfig config = small("post", "sinusoidal", "all");
  config.source_vocab_size = config.target_vocab_size = 300;
  config.d_model = 64;
  config.d_ff = 200;
  for (const char* tied : {"all", "decoder", "none"}) {
    for (const char* past : {"attention", "ssru"}) {
      config.tied = tied;
      config.decoder_past = past;
      for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
        BOOST_TEST_CONTEXT(tied << ", " << past << ", " << static_cast<int>(precision))
        BOOST_TEST(
            (searched(config, precision, Unpacked::released) == searched(config, precision, Unpacked::kept)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(keys_and_values_of_less_precision_are_bfloat16_however_they_are_held) {
  TransformerConfig config = small("post", "sinusoidal", "all");
  config.d_model = 64;
  config.d_ff = 200;
  for (const std::int64_t n_heads :
       {2, 4, 64}) {  // heads of one number cannot be held in pairs, and stay float32
    config.n_heads = n_heads;
    for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
      BOOST_TEST_CONTEXT(n_heads << ", " << static_cast<int>(precision)) {
        Drawn<float> model(config, 5);
        Tape<float> tape;
        Pass<float> pass(tape, model.parameters);
        const Encoded<float> memory = model.encode(pass, kSource);
        const PackedWeights<float> weights(std::as_const(model.parameters).values(), precision);
        const NoEdits none;
        Hypotheses<float> plain(model, weights, 3, &memory, &none), fast(model, weights, 3, &memory);
        std::vector<std::int64_t> many(20, 0);  // hypotheses of a sentence, more than a beam usually has
        many.push_back(2);
        for (const std::vector<std::int64_t>& parents :
             {std::vector<std::int64_t>{0, 1, 2}, std::vector<std::int64_t>{0, 1, 2}, many}) {
          std::vector<std::int32_t> words;
          for (std::size_t i = 0; i < parents.size(); ++i)
            words.push_back(static_cast<std::int32_t>(4 + i % 5));
          const Matrix<const float> wanted = plain.read(words, parents).all(),
                                    got = fast.read(words, parents).all();
          for (std::int64_t i = 0; i < wanted.rows; ++i)
            for (std::int64_t j = 0; j < wanted.cols; ++j) BOOST_REQUIRE(wanted(i, j) == got(i, j));
        }
        Tape<float> keys_tape;
        keys_tape.set_packed_weights(&weights);
        Pass<float> keys_pass(keys_tape, model.parameters);
        const Encoded<float> states{keys_tape.constant(memory.states.value()), memory.rows, {}};
        const DecoderState<float> state = model.decoder->start(keys_pass, 3, &states);
        const Matrix<const float> key = state.memory[0].value(), value = state.memory[1].value();
        std::int64_t longer = 0;
        for (std::int64_t i = 0; i < key.rows; ++i)
          for (std::int64_t j = 0; j < key.cols; ++j)
            for (const float x : {key(i, j), value(i, j)}) longer += from_bfloat16(to_bfloat16(x)) != x;
        const bool in_pairs = precision != Precision::float32 && n_heads < 64;
        BOOST_TEST((longer == 0) == in_pairs);
        BOOST_TEST(static_cast<bool>(state.memory[3]) == in_pairs);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_recurrence_stands_for_self_attention) {
  for (const char* norm : {"post", "pre"}) {
    TransformerConfig config = small(norm, "sinusoidal_t2t", "decoder");
    config.decoder_past = "ssru";
    Drawn<double> model(config, 3);
    open_relus(model, 1);
    check_gradients(model, "key/bias");
    check_step_by_step(model);
    check_edits(model);
    check_sentences_apart(model);
    check_future_unseen(model, tokens({{5, 7, 4, 10, 3}}));
    check_json(*build<float>(config));
    BOOST_TEST(!model.parameters.contains("decoder/layer_0/self_attention/query/weight"));
    BOOST_TEST(model.parameters.contains("encoder/layer_0/self_attention/query/weight"));
    for (const char* positions : {"rotary", "relative_buckets", "learned_buckets", "alibi"}) {
      config.positions = positions;
      BOOST_CHECK_THROW(build<float>(config), UsageError);
    }
  }
}

BOOST_AUTO_TEST_CASE(only_the_residual_carries_words_past_silent_sublayers) {  // P32
  for (bool residual : {true, false}) {
    TransformerConfig config = small("none", "none", "none");
    config.residual = residual;
    Drawn<double> model(config, 3);
    for (const Parameter& p : model.parameters.list()) {  // what each sublayer ends in
      const bool last =
          p.name.find("/output/") != std::string::npos || p.name.find("/outer/") != std::string::npos;
      Matrix<double> values = p.in(model.parameters.values().data());
      if (last && p.name.starts_with("encoder/")) std::fill(values.data, values.data + values.size(), 0.0);
    }
    Tape<double> tape;
    Pass<double> pass(tape, model.parameters);
    Matrix<const double> x = model.embed(pass, Side::source, kSource).value();
    Matrix<const double> y = model.encode(pass, kSource).states.value();
    for (std::int64_t i = 0; i < x.size(); ++i) BOOST_CHECK_EQUAL(y.data[i], residual ? x.data[i] : 0);
  }
}

BOOST_AUTO_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other) {  // P15
  Drawn<double> model(small("post", "sinusoidal", "all"), 3);
  check_sentences_apart(model);
}

BOOST_AUTO_TEST_CASE(the_future_changes_nothing) {  // P14
  Drawn<double> model(small("pre", "learned", "none"), 4);
  check_future_unseen(model, tokens({{5, 7, 4, 10, 3}}));
}

BOOST_AUTO_TEST_CASE(step_by_step_equals_one_pass) {  // P41
  for (const auto& [norm, positions, tied] :
       {std::tuple{"post", "sinusoidal", "all"}, std::tuple{"pre", "learned", "decoder"}}) {
    Drawn<double> model(small(norm, positions, tied), 6);
    check_step_by_step(model);
    check_edits(model);
  }
}

BOOST_AUTO_TEST_CASE(layer_ranges_compose) {
  Drawn<double> model(small("pre", "sinusoidal", "all"), 8);
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const Encoded<double> x{model.embed(pass, Side::source, kSource), &kSource.rows, {}};
  Matrix<const double> whole = model.encoder->encode(pass, x, 0, 2).states.value();
  Matrix<const double> parts =
      model.encoder->encode(pass, model.encoder->encode(pass, x, 0, 1), 1, 2).states.value();
  BOOST_CHECK(std::equal(whole.data, whole.data + whole.size(), parts.data));
}

/// Layers whose values nobody looks at share memory, and give the same bits.
BOOST_AUTO_TEST_CASE(layers_share_memory) {
  for (const auto& [norm, positions, past] :
       {std::tuple{"post", "sinusoidal", "attention"}, std::tuple{"pre", "relative_buckets", "attention"},
        std::tuple{"none", "alibi", "attention"}, std::tuple{"post", "sinusoidal", "ssru"}}) {
    TransformerConfig config = small(norm, positions, "all");
    config.d_model = 8;
    config.decoder_past = past;
    const Drawn<double> model(config, 9);
    auto states = [&](bool watched, std::size_t& memory) {
      Tape<double> tape;
      Pass<double> pass(tape, model.parameters);
      Recording<double> nothing([](const std::string&) { return false; });
      if (watched) pass.recorder = &nothing;
      const Encoded<double> encoded = model.encode(pass, kSource);
      const Matrix<const double> x = encoded.states.value();
      std::vector<double> all(x.data, x.data + x.size());
      const Matrix<const double> y = model.decode(pass, &encoded, kTarget).states.value();
      all.insert(all.end(), y.data, y.data + y.size());
      memory = tape.arena().mark().total;
      tape.reset();  // and begins anew
      const Matrix<const double> again = model.encode(pass, kSource).states.value();
      BOOST_TEST(std::equal(again.data, again.data + again.size(), all.data()));
      return all;
    };
    std::size_t with_all = 0, shared = 0;
    BOOST_TEST(states(true, with_all) == states(false, shared));
    BOOST_TEST(5 * shared < 4 * with_all);
  }
}

BOOST_AUTO_TEST_CASE(config_travels_as_json) {
  const auto model_owner = build<float>(small("pre", "learned", "decoder"));
  Model<float>& model = *model_owner;
  check_json(model);
  BOOST_CHECK_THROW(make_model<float>("{\"architecture\": \"transformer\", \"d_modle\": 5}"), Error);
  BOOST_CHECK_THROW(make_model<float>("{\"architecture\": \"perceptron\"}"), Error);
  TransformerConfig odd = small("post", "none", "all");
  odd.n_heads = 4;
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
    return std::string(e.what()).find("n_heads = 4") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
