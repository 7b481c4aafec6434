#include "models/encoder_only.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "base/sentence_error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

/// Masked words, or classes pooled so.
EncoderOnlyConfig small(const std::string& pooling = "") {
  EncoderOnlyConfig c;
  c.source_vocab_size = 11;
  c.n_encoder_layers = 2;
  c.d_model = 6;
  c.d_ff = 10;
  c.n_heads = 2;
  c.max_length = 9;
  c.norm = pooling == "first" ? "post" : "pre";
  c.n_classes = pooling.empty() ? 0 : 3;
  if (!pooling.empty()) c.pooling = pooling;
  c.dropout = 0.2;
  c.attention_dropout = 0.1;
  c.activation_dropout = 0.15;
  return c;
}

/// As BERT has it: masked words, or classes.
EncoderOnlyConfig like_bert(const std::string& pooling = "") {
  EncoderOnlyConfig c = small(pooling);
  c.n_token_types = 2;
  c.embedding_norm = true;
  c.activation = "gelu";
  c.word_transform = pooling.empty();
  c.output_bias = pooling.empty();
  c.pooler = !pooling.empty();
  return c;
}

/// As ELECTRA has it.
EncoderOnlyConfig like_electra(const std::string& pooling = "") {
  EncoderOnlyConfig c = like_bert(pooling);
  c.embedding_width = 4;
  c.embedding_scale = "1";
  c.pooler_activation = "gelu";
  return c;
}

/// As ModernBERT has it; layer 1 has a window that is shorter than the sentences.
EncoderOnlyConfig like_modernbert(const std::string& pooling = "") {
  EncoderOnlyConfig c = like_bert(pooling);
  c.n_token_types = 0;
  c.norm = "pre";
  c.norm_kind = "layer_no_bias";
  c.first_norm = false;
  c.positions = "rotary";
  c.d_head = 4;
  c.embedding_scale = "1";
  c.gated = true;
  c.feed_forward_bias = c.head_bias = false;
  c.attention_bias = "none";
  c.sliding_window = 2;
  c.window_layers = "fw";
  c.rope_local_base = 50;
  c.pooler_activation = "gelu";
  c.pooler_norm = true;
  return c;
}

/// kSource in two segments.
PackedTokens of_two_types() {
  PackedTokens tokens = kSource;
  tokens.types = {0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1};
  return tokens;
}

/// Logits of the classes, or of the words of every position.
std::vector<double> predictions(const Model<double>& model, const PackedTokens& source) {
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const Encoded<double> encoded = model.encode(pass, source);
  const Matrix<const double> m =
      (model.classes ? model.class_logits(pass, encoded) : model.needed_words().logits(pass, encoded.states))
          .value();
  return {m.data, m.data + m.size()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(encoder_only)

BOOST_AUTO_TEST_CASE(gradients_of_all_parameters_masked_words) {
  const auto model = build<double>(small());
  model->parameters.initialize(9);
  open_relus(*model, 3);
  const std::vector<std::int32_t> hidden{7, 4, 9, 8};
  check_gradients(*model, "key/bias", [&](Pass<double>& pass) {
    const Encoded<double> encoded = model->encode(pass, kSource);
    const Var<double> states = select_rows<double>({encoded.states}, {{0, 1}, {0, 2}, {0, 7}, {0, 10}});
    return model->needed_words().loss(pass, states, hidden, 0.1, 0.5).loss * 0.5;
  });
}

BOOST_AUTO_TEST_CASE(gradients_of_all_parameters_classes) {
  for (const std::string& pooling : kPoolings.words) {
    // One for each sentence, or for each token.
    const std::vector<std::int32_t> labels =
        pooling == "none" ? std::vector<std::int32_t>{2, 0, 1, 1, 0, 2, 2, 1, 0, 0, 1, 2, 0, 1}
                          : std::vector<std::int32_t>{2, 0, 1};
    const auto model = build<double>(small(pooling));
    model->parameters.initialize(9);
    open_relus(*model, 3);
    check_gradients(*model, "key/bias", [&](Pass<double>& pass) {
      const Encoded<double> encoded = model->encode(pass, kSource);
      return model->class_loss(pass, encoded, labels, 0.1, 0.5).loss * 0.5;
    });
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_what_bert_adds) {
  const PackedTokens source = of_two_types();
  const std::vector<std::int32_t> hidden{7, 4, 9, 8}, labels{2, 0, 1};
  for (const auto& like : {like_bert, like_electra}) {
    for (const std::string pooling : {"", "first", "mean"}) {
      const auto model = build<double>(like(pooling));
      model->parameters.initialize(9);
      check_gradients(*model, "key/bias", [&](Pass<double>& pass) {
        const Encoded<double> encoded = model->encode(pass, source);
        if (model->classes) return model->class_loss(pass, encoded, labels, 0.1, 0.5).loss * 0.5;
        const Var<double> states = select_rows<double>({encoded.states}, {{0, 1}, {0, 2}, {0, 7}, {0, 10}});
        return model->needed_words().loss(pass, states, hidden, 0.1, 0.5).loss * 0.5;
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_what_modernbert_adds) {
  for (const std::string pooling : {"", "first", "mean", "none"}) {
    const std::vector<std::int32_t> words{7, 4, 9, 8};
    const std::vector<std::int32_t> labels =
        pooling == "none" ? std::vector<std::int32_t>{2, 0, 1, 1, 0, 2, 2, 1, 0, 0, 1, 2, 0, 1}
                          : std::vector<std::int32_t>{2, 0, 1};
    Drawn<double> model(like_modernbert(pooling), 9);
    const ParameterSet<double>& p = model.parameters;
    BOOST_TEST(!p.contains("encoder/layer_0/self_attention_norm/gamma"));
    BOOST_TEST(p.contains("encoder/layer_1/self_attention_norm/gamma"));
    BOOST_TEST(!p.contains("encoder/final_norm/beta"));
    BOOST_TEST(p.contains("encoder/pooler_norm/gamma") == !pooling.empty());
    check_gradients(model, "none", [&](Pass<double>& pass) {
      const Encoded<double> encoded = model.encode(pass, kSource);
      if (model.classes) return model.class_loss(pass, encoded, labels, 0.1, 0.5).loss * 0.5;
      const Var<double> states = select_rows<double>({encoded.states}, {{0, 1}, {0, 2}, {0, 7}, {0, 10}});
      return model.needed_words().loss(pass, states, words, 0.1, 0.5).loss * 0.5;
    });
  }
}

/// The states of `words` as one sentence.
std::vector<double> states_of(const Model<double>& model, const std::vector<std::int32_t>& words) {
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const Matrix<const double> states = model.encode(pass, tokens({words})).states.value();
  return {states.data, states.data + states.size()};
}

/// As a language model reads: what follows changes nothing, and the last state has seen all.
BOOST_AUTO_TEST_CASE(causal_encoders_read_the_past_alone) {
  for (const std::string positions : {"learned", "rotary", "alibi", "relative_buckets"}) {
    EncoderOnlyConfig config = small("last");
    config.causal = true;
    config.activation = "gelu";
    config.positions = positions;
    if (positions == "rotary") config.d_head = 4;
    Drawn<double> model(config, 9);
    const std::vector<double> states = states_of(model, {4, 9, 6, 3, 8, 5, 7, 10}),
                              other = states_of(model, {4, 9, 6, 3, 2, 5, 7, 10});
    for (std::int64_t i = 0; i < 8; ++i) {
      const auto row = static_cast<std::size_t>(i) * 6;
      BOOST_TEST(
          (difference(std::span(states).subspan(row, 6), std::span(other).subspan(row, 6)) > 0) == (i >= 4),
          positions << " " << i);
    }
    const std::vector<std::int32_t> labels{2, 0, 1};
    check_gradients(model, "key/bias", [&](Pass<double>& pass) {
      return model.class_loss(pass, model.encode(pass, kSource), labels, 0.1, 0.5).loss * 0.5;
    });
  }
  for (const std::string pooling : {"", "first"}) {
    EncoderOnlyConfig odd = small(pooling);
    odd.causal = true;
    BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
      return std::string(e.what()).find("causal = true") != std::string::npos;
    });
  }
}

/// y = f(x W + b), one element after the other.
std::vector<double> naive_linear(const std::vector<double>& x, Matrix<const double> w, const double* b,
                                 double (*f)(double)) {
  std::vector<double> y;
  for (std::int64_t j = 0; j < w.cols; ++j) {
    double sum = b ? b[j] : 0;
    for (std::int64_t i = 0; i < w.rows; ++i) sum += x[static_cast<std::size_t>(i)] * w(i, j);
    y.push_back(f(sum));
  }
  return y;
}

/// Of one sentence, by each pooling, without layers above it, with one and with two.
BOOST_AUTO_TEST_CASE(vectors_of_sentences_are_pooled_states_through_dense_layers) {
  const std::vector<std::int32_t> words{4, 9, 6, 3, 8};
  for (const std::string pooling : {"first", "mean", "last"}) {
    for (const int layers : {0, 1, 2}) {
      for (const bool bias : {true, false}) {
        EncoderOnlyConfig config = small();
        config.masked_words = false;
        config.pooling = pooling;
        config.dense_width = layers > 0 ? 3 : 0;
        config.dense_inner_width = layers > 1 ? 7 : 0;
        config.dense_bias = bias;
        config.normalised = bias;
        const Drawn<double> model(config, 5);
        const std::vector<double> states = states_of(model, words);
        std::vector<double> v(6);
        for (std::size_t j = 0; j < 6; ++j)
          for (std::size_t i = 0; i < 5; ++i)
            v[j] += pooling == "mean"    ? states[i * 6 + j] / 5
                    : pooling == "first" ? (i == 0 ? states[i * 6 + j] : 0)
                                         : (i == 4 ? states[i * 6 + j] : 0);
        const auto dense = [&](const std::string& scope) {
          const double* b = bias ? model.parameters.view(scope + "/bias").data : nullptr;
          v = naive_linear(v, model.parameters.view(scope + "/weight"), b, std::tanh);
        };
        if (layers > 1) dense("sentences/dense_inner");
        if (layers > 0) dense("sentences/dense");
        BOOST_TEST(model.parameters.contains("sentences/dense/bias") == (bias && layers > 0));
        double length = 0;
        for (const double x : v) length += x * x;
        if (bias)
          for (double& x : v) x /= std::sqrt(length);
        Tape<double> tape;
        Pass<double> pass(tape, model.parameters);
        const PackedTokens both = tokens({words, {5, 7}});
        const Encoded<double> encoded = model.encode(pass, both);
        std::vector<double> got = model.sentences->of(pass, encoded.states, *encoded.rows);
        BOOST_REQUIRE_EQUAL(got.size(), 2 * v.size());
        got.resize(v.size());
        BOOST_CHECK_LE(difference(got, v), 1e-12);
      }
    }
  }
}

/// Without a causal mask a window is as wide to either side.
BOOST_AUTO_TEST_CASE(a_window_has_two_sides) {
  EncoderOnlyConfig config = small();
  config.n_encoder_layers = 1;
  config.positions = "none";
  for (const std::int64_t window : {1, 2, 4}) {
    config.sliding_window = window;
    const Drawn<double> model(config, 3);
    const auto weights_and_states = [&](const std::vector<std::int32_t>& words) {
      Recording<double> recorder([](const std::string& name) { return name.ends_with("weights"); });
      Tape<double> tape;
      Pass<double> pass(tape, model.parameters);
      pass.recorder = &recorder;
      const Matrix<const double> states = model.encode(pass, tokens({words})).states.value();
      return std::pair(recorder.at("encoder/layer_0/self_attention/weights").values,
                       std::vector<double>(states.data, states.data + states.size()));
    };
    const auto [weights, states] = weights_and_states({4, 9, 6, 3, 8, 5, 7, 10});
    const auto other = weights_and_states({4, 9, 6, 3, 2, 5, 7, 10}).second;
    for (std::int64_t i = 0; i < 8; ++i) {
      const auto row = static_cast<std::size_t>(i) * 6;
      BOOST_TEST((difference(std::span(states).subspan(row, 6), std::span(other).subspan(row, 6)) > 0) ==
                 (std::abs(i - 4) < window));
      for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t j = 0; j < 8; ++j)
          BOOST_TEST((weights[static_cast<std::size_t>((h * 8 + i) * 8 + j)] > 0) ==
                     (std::abs(i - j) < window));
    }
  }
}

/// Two images of 3 channels and 4 * 4 pixels, in patches of 2 * 2.
BOOST_AUTO_TEST_CASE(gradients_of_patches) {
  EncoderOnlyConfig config = small("first");
  config.activation = "gelu";
  config.source_vocab_size = 1;
  config.image_size = 4;
  config.patch_size = 2;
  config.max_length = 5;
  const auto model = build<double>(config);
  model->parameters.initialize(9);
  std::vector<double> pixels;
  for (int i = 0; i < 2 * 3 * 4 * 4; ++i) pixels.push_back(std::sin(1.7 * i));
  Packing rows;
  rows.append(5);
  rows.append(5);
  const std::vector<std::int32_t> labels{2, 0};
  check_gradients(*model, "key/bias", [&](Pass<double>& pass) {
    const Encoded<double> encoded =
        model->encode(pass, model->images->embed<double>(pass, pixels, rows), rows);
    return model->class_loss(pass, encoded, labels, 0.1, 0.5).loss * 0.5;
  });
  Tape<double> tape;
  Pass<double> pass(tape, model->parameters);
  BOOST_CHECK_THROW(model->encode(pass, kSource), UsageError);  // words
  config.max_length = 4;
  BOOST_CHECK_THROW(build<double>(config), UsageError);
}

BOOST_AUTO_TEST_CASE(types_of_tokens) {
  Drawn<double> model(like_bert(), 3);
  PackedTokens first = kSource, other = of_two_types();
  const std::vector<double> plain = predictions(model, first);
  first.types.assign(first.ids.size(), 0);
  BOOST_CHECK_EQUAL(difference(predictions(model, first), plain), 0);
  BOOST_CHECK_GT(difference(predictions(model, other), plain), 1e-3);
  other.types[7] = 2;
  BOOST_CHECK_EXCEPTION(predictions(model, other), SentenceError, [](const SentenceError& e) {
    return e.sentence == 2 && std::string(e.what()).find("token 0 is of type 2") != std::string::npos;
  });
  other.types[7] = 1;
  const Drawn<double> untyped(small(), 3);  // as DistilBERT, which reads pairs without them
  BOOST_CHECK_EQUAL(difference(predictions(untyped, other), predictions(untyped, kSource)), 0);
}

BOOST_AUTO_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other) {
  std::vector<std::string> heads = kPoolings.words;
  heads.emplace_back();  // masked words
  for (const std::string& pooling : heads) {
    const auto model = build<double>(small(pooling));
    model->parameters.initialize(3);
    std::vector<double> alone;
    for (std::int64_t s = 0; s < 3; ++s) {
      PackedTokens one;
      one.append(std::span(kSource.ids)
                     .subspan(static_cast<std::size_t>(kSource.rows.offset(s)),
                              static_cast<std::size_t>(kSource.rows.length(s))));
      const std::vector<double> part = predictions(*model, one);
      alone.insert(alone.end(), part.begin(), part.end());
    }
    BOOST_CHECK_LE(difference(predictions(*model, kSource), alone), 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(modernberts_head_stays_with_other_labels_and_poolings) {
  EncoderOnlyConfig config = like_modernbert();
  config.pooling = "mean";  // of its classifiers
  config.classify(4);
  BOOST_TEST((config.pooler && config.pooling == "mean" && !config.word_transform));
  config.classify(5, "first");
  BOOST_TEST(config.pooler);
  const auto model = build<float>(config);
  BOOST_TEST((model->classes->pooler && model->classes->pooler->norm && !model->classes->pooler->bias));
  check_json(*model);
}

BOOST_AUTO_TEST_CASE(config_travels_as_json_and_is_checked) {
  const auto model = build<float>(small("attention"));
  BOOST_CHECK_EQUAL(make_model<float>(model->config_json)->parameters.count(), model->parameters.count());
  BOOST_CHECK(model->encoder && !model->decoder && model->classes && !model->words);
  EncoderOnlyConfig bare = like_bert("first");
  bare.n_classes = 0;
  bare.masked_words = false;
  const auto states_alone = build<float>(bare);
  BOOST_CHECK(!states_alone->words && !states_alone->classes);
  BOOST_CHECK(states_alone->parameters.contains("encoder/pooler/weight"));
  bare.word_transform = true;
  BOOST_CHECK_THROW(build<float>(bare), UsageError);
  EncoderOnlyConfig odd = small("mean");
  odd.n_classes = 1;
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
  odd.problem_type = "regression";  // of one number
  BOOST_CHECK_EQUAL(build<float>(odd)->n_classes, 1);
  odd.pooling = "none";
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
  odd = small("");
  odd.problem_type = "multi_label";
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
  odd = like_electra();
  odd.word_transform = false;  // its states are wider than the table
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
  odd = like_electra("first");
  odd.positions = "sinusoidal";
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
  odd = like_bert("none");
  BOOST_CHECK_THROW(build<float>(odd), UsageError);  // a pooler
  odd = like_modernbert();
  odd.norm = "post";
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
    return std::string(e.what()).find("first_norm = false") != std::string::npos;
  });
  odd = small("max");
  BOOST_CHECK_EXCEPTION(build<float>(odd), UsageError, [](const Error& e) {
    return std::string(e.what()).find("first, mean, last, attention or none") != std::string::npos;
  });
  odd = small();
  odd.masked_words = false;
  odd.dense_inner_width = 4;  // and no layer after it
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
