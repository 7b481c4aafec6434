// The choices that make the layers of later models (models/transformer_parts.h,
// TransformerOptions::layer_fields), in all architectures that have such layers.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/decoder_only.h"
#include "models/encoder_only.h"
#include "models/transformer.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

struct Variant {
  const char* name;
  std::function<void(TransformerOptions&)> choose;
  /// End of the names of parameters without a gradient; softmax is blind to a shift of all scores.
  const char* without = "key/bias";
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> list{
      {"gelu", [](auto& o) { o.activation = "gelu"; }},
      {"gelu_tanh", [](auto& o) { o.activation = "gelu_tanh"; }},
      {"gelu_sigmoid", [](auto& o) { o.activation = "gelu_sigmoid"; }},
      {"gated silu",
       [](auto& o) {
         o.activation = "silu";
         o.gated = true;
       }},
      {"gated, no biases",
       [](auto& o) {
         o.activation = "gelu";
         o.gated = true;
         o.feed_forward_bias = false;
         o.attention_bias = "none";
       }},
      {"rms", [](auto& o) { o.norm_kind = "rms"; }},
      {"rms after the sublayer",
       [](auto& o) {
         o.norm_kind = "rms";
         o.norm = "post";
         o.final_norm = "yes";
       }},
      {"no final norm", [](auto& o) { o.final_norm = "no"; }},
      {"rotary",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 4;
       },
       "cross_attention/key/bias"},
      {"rotary for long texts",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 8;
         o.rope_scaling = "llama3";
         o.rope_base = 30;
         o.rope_factor = 3;
         o.rope_original_length = 16;
       },
       "cross_attention/key/bias"},
      {"rotary by YaRN, turned and scaled",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 8;
         o.rope_scaling = "yarn";
         o.rope_base = 30;
         o.rope_factor = 3;
         o.rope_original_length = 64;
         o.rope_attention_factor = 1.3;
       },
       "cross_attention/key/bias"},
      {"rotary in a part of each head",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 5;
         o.d_rotary = 2;
         o.rope_base = 30;
       },
       "cross_attention/key/bias"},
      {"layer norms without beta", [](auto& o) { o.norm_kind = "layer_no_bias"; }},
      {"rms, times 1 + gamma", [](auto& o) { o.norm_kind = "rms_plus_one"; }},
      {"rms after the sublayer, times 1 + gamma",
       [](auto& o) {
         o.norm_kind = "rms_plus_one";
         o.norm = "post";
       }},
      {"norms before and after the sublayer", [](auto& o) { o.norm = "sandwich"; }},
      {"layers of OLMo 2",
       [](auto& o) {
         o.norm = "output";
         o.norm_kind = "rms";
         o.positions = "rotary";
         o.n_kv_heads = 1;
         o.d_head = 4;
         o.qk_norm = true;
         o.qk_norm_over = "all";
         o.attention_bias = "none";
       },
       "none"},
      {"layers of Gemma 3",
       [](auto& o) {
         o.norm = "sandwich";
         o.norm_kind = "rms_plus_one";
         o.positions = "rotary";
         o.n_kv_heads = 1;
         o.d_head = 4;
         o.qk_norm = true;
         o.attention_bias = "qkv";
         o.score_width = 7;
         o.sliding_window = 2;
         o.window_layers = "wf";
         o.rope_local_base = 9;
       },
       "none"},
      {"in parallel", [](auto& o) { o.parallel_residual = "two_norms"; }},
      {"in parallel, one norm", [](auto& o) { o.parallel_residual = "one_norm"; }},
      {"in parallel, no norm",
       [](auto& o) {
         o.parallel_residual = "two_norms";
         o.norm = "none";
         o.activation = "gelu";  // what no norm bounds closes ReLUs, and loses digits
         o.embedding_scale = "1";
       }},
      {"grouped heads",
       [](auto& o) {
         o.n_heads = 4;
         o.n_kv_heads = 2;
         o.d_head = 3;
       }},
      {"grouped rotary heads, normed",
       [](auto& o) {
         o.positions = "rotary";
         o.n_kv_heads = 1;
         o.d_head = 4;
         o.qk_norm = true;
         o.attention_bias = "qkv";
       },
       "none"},
      {"scales",
       [](auto& o) {
         o.score_scale = "1";
         o.embedding_scale = "1";
         o.logit_scale = 0.6;
         o.output_bias = true;
       }},
      {"embeddings of BERT",
       [](auto& o) {
         o.positions = "learned";
         o.position_offset = 2;
         o.embedding_norm = true;
       }},
      {"sines, then cosines", [](auto& o) { o.positions = "sinusoidal_halves"; }},
      {"sines of tensor2tensor",
       [](auto& o) {
         o.positions = "sinusoidal_t2t";
         o.position_offset = 1;
       }},
      {"relative buckets",
       [](auto& o) {
         o.positions = "relative_buckets";
         o.relative_buckets = 6;
         o.relative_max_distance = 5;
       }},
      {"positions of MPNet",
       [](auto& o) {
         o.positions = "learned_buckets";
         o.position_offset = 2;
         o.relative_buckets = 6;
         o.relative_max_distance = 5;
       }},
      {"alibi", [](auto& o) { o.positions = "alibi"; }},
      {"window",
       [](auto& o) {
         o.sliding_window = 2;
         o.positions = "alibi";
       }},
      {"window in the first layer, of its own base",
       [](auto& o) {
         o.sliding_window = 2;
         o.window_layers = "wf";
         o.positions = "rotary";
         o.d_head = 4;
         o.rope_base = 50;
         o.rope_scaling = "linear";
         o.rope_factor = 2;
         o.rope_local_base = 9;
       },
       "cross_attention/key/bias"},
      {"window in the second layer",
       [](auto& o) {
         o.sliding_window = 3;
         o.window_layers = "fw";
         o.positions = "relative_buckets";
       }},
  };
  return list;
}

template <class Config>
Config small(const Variant& variant) {
  Config c;
  c.d_model = 6;
  c.d_ff = 10;
  c.n_heads = 2;
  c.max_length = 9;
  c.norm = "pre";
  c.positions = "sinusoidal";
  c.dropout = 0.2;
  c.attention_dropout = 0.1;
  c.activation_dropout = 0.15;
  variant.choose(c);
  return c;
}

DecoderOnlyConfig decoder(const Variant& variant) {
  DecoderOnlyConfig c = small<DecoderOnlyConfig>(variant);
  c.target_vocab_size = 13;
  c.n_decoder_layers = 2;
  return c;
}

TransformerConfig pair(const Variant& variant) {
  TransformerConfig c = small<TransformerConfig>(variant);
  c.source_vocab_size = 11;
  c.target_vocab_size = 13;
  c.n_encoder_layers = 2;
  c.n_decoder_layers = 2;
  c.tied = "none";
  return c;
}

EncoderOnlyConfig encoder(const Variant& variant) {
  EncoderOnlyConfig c = small<EncoderOnlyConfig>(variant);
  c.source_vocab_size = 11;
  c.n_encoder_layers = 2;
  return c;
}

/// The first layer's output of the source [rows, d], with what `recorder` wants recorded.
std::vector<double> states(const Model<double>& model, const PackedTokens& source) {
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const Matrix<const double> m = model.encode(pass, source).states.value();
  return {m.data, m.data + m.size()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(layer_options)

BOOST_AUTO_TEST_CASE(gradients_of_a_decoder) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Drawn<double> model(decoder(variant), 9);
      open_relus(model, 3);
      check_gradients(model, variant.without);
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_a_pair) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Drawn<double> model(pair(variant), 9);
      open_relus(model, 3);
      check_gradients(model, variant.without);
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_an_encoder) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Drawn<double> model(encoder(variant), 9);
      open_relus(model, 3);
      check_gradients(model, variant.without, [&](Pass<double>& pass) {
        const Encoded<double> encoded = model.encode(pass, kSource);
        return model.needed_words().loss(pass, encoded.states, kSource.ids, 0.1, 0.5).loss * 0.5;
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(step_by_step_equals_one_pass) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Drawn<double> one(decoder(variant), 6), two(pair(variant), 6);
      check_step_by_step(one);
      check_step_by_step(two);
      check_edits(one);
      check_edits(two);
    }
  }
}

BOOST_AUTO_TEST_CASE(neither_other_sentences_nor_the_future_matter) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Drawn<double> one(decoder(variant), 4), two(pair(variant), 4);
      check_sentences_apart(one);
      check_sentences_apart(two);
      check_future_unseen(one, {});
      check_future_unseen(two, tokens({{5, 7, 4, 10, 3}}));
    }
  }
}

BOOST_AUTO_TEST_CASE(configs_travel_as_json) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      check_json(*build<float>(decoder(variant)));
      check_json(*build<float>(pair(variant)));
      check_json(*build<float>(encoder(variant)));
    }
  }
}

/// Its digest covers the config.
BOOST_AUTO_TEST_CASE(a_model_without_options_has_the_config_of_a_model_before_them) {
  const Variant plain{"", [](auto&o) { o.norm = "post"; }}, gated{"", [](auto&o) { o.gated = true; }};
  const std::string json = build<float>(pair(plain))->config_json;
  BOOST_TEST(json.find("activation\"") == std::string::npos);
  BOOST_TEST(json.find("norm_kind") == std::string::npos);
  BOOST_TEST(json.find("\"norm_epsilon\"") != std::string::npos);
  BOOST_TEST(build<float>(pair(gated))->config_json.find("\"gated\": true") != std::string::npos);
  BOOST_TEST(make_model<float>("{\"architecture\": \"decoder\", \"target_vocab_size\": 9}")->decoder !=
             nullptr);
}

BOOST_AUTO_TEST_CASE(what_excludes_each_other_is_refused) {
  const std::vector<Variant> wrong{
      {"n_kv_heads = 2",
       [](auto& o) {
         o.n_heads = 3;
         o.n_kv_heads = 2;
       }},
      {"an even d_head",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 3;
       }},
      {"d_rotary = 3 must be even",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 4;
         o.d_rotary = 3;
       }},
      {"at most d_head = 4",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 4;
         o.d_rotary = 6;
       }},
      {"positions = learned turns none",
       [](auto& o) {
         o.positions = "learned";
         o.d_rotary = 2;
       }},
      {"score_width = 9 stands for d_head in 1/sqrt_d_head, and score_scale = 1",
       [](auto& o) {
         o.score_scale = "1";
         o.score_width = 9;
       }},
      {"window_layers is 'wx', wanted w or f for each layer, at most 2",
       [](auto& o) {
         o.sliding_window = 2;
         o.window_layers = "wx";
       }},
      {"window_layers is ''", [](auto& o) { o.window_layers = ""; }},
      {"at most 2 of them",
       [](auto& o) {
         o.sliding_window = 2;
         o.window_layers = "ffw";
       }},
      {"window_layers = ff leaves no layer the sliding window",
       [](auto& o) {
         o.sliding_window = 2;
         o.window_layers = "ff";
       }},
      {"window_layers = wf says which layers have the sliding window",
       [](auto& o) { o.window_layers = "wf"; }},
      {"rope_local_base = 9 is for layers with the sliding window",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 4;
         o.rope_local_base = 9;
       }},
      {"positions = alibi turns none",
       [](auto& o) {
         o.positions = "alibi";
         o.sliding_window = 2;
         o.rope_local_base = 9;
       }},
      {"rope_local_base is 0.5, wanted 0, or above 1",
       [](auto& o) {
         o.positions = "rotary";
         o.d_head = 4;
         o.sliding_window = 2;
         o.rope_local_base = 0.5;
       }},
      {"norm = pre or none",
       [](auto& o) {
         o.parallel_residual = "one_norm";
         o.norm = "post";
       }},
      {"parallel_residual = two_norms adds up",
       [](auto& o) {
         o.parallel_residual = "two_norms";
         o.norm = "sandwich";
       }},
      {"parallel_residual = one_norm adds up",
       [](auto& o) {
         o.parallel_residual = "one_norm";
         o.norm = "output";
       }},
      {"wanted qk_norm", [](auto& o) { o.qk_norm_over = "all"; }},
      {"wanted residual = true",
       [](auto& o) {
         o.parallel_residual = "two_norms";
         o.residual = false;
       }},
      {"even d_model",
       [](auto& o) {
         o.positions = "sinusoidal_halves";
         o.d_model = 9;
         o.n_heads = 3;
       }},
      {"rope_low_freq_factor",
       [](auto& o) {
         o.rope_scaling = "llama3";
         o.rope_low_freq_factor = 4;
       }},
      {"must be even",
       [](auto& o) {
         o.positions = "relative_buckets";
         o.relative_buckets = 7;
       }},
      {"above half of it",
       [](auto& o) {
         o.positions = "learned_buckets";
         o.relative_max_distance = 16;
       }},
      {"position_offset",
       [](auto& o) {
         o.positions = "none";
         o.position_offset = 1;
       }},
      {"activation", [](auto& o) { o.activation = "swish"; }},
      {"rope_factor", [](auto& o) { o.rope_factor = 0.5; }},
  };
  for (const Variant& variant : wrong) {
    BOOST_TEST_CONTEXT(variant.name) {
      BOOST_CHECK_EXCEPTION(build<float>(decoder(variant)), UsageError, [&](const Error& e) {
        return std::string(e.what()).find(variant.name) != std::string::npos;
      });
    }
  }
}

// A score depends on the distance only: words before do not matter where nothing but distances is known.
BOOST_AUTO_TEST_CASE(rotation_and_bias_know_distances_only) {
  for (const char* positions : {"rotary", "relative_buckets", "alibi"}) {
    const Variant variant{positions, [&](auto& o) {
                            o.positions = positions;
                            o.d_head = 4;
                            o.sliding_window = 2;  // of a decoder of one layer: the states know two words
                          }};
    DecoderOnlyConfig config = decoder(variant);
    config.n_decoder_layers = 1;
    const Drawn<double> model(config, 4);
    const std::vector<double> early = logits<double>(model, {}, tokens({{4, 9, 6, 3}})),
                              late = logits<double>(model, {}, tokens({{7, 12, 4, 9, 6, 3}}));
    const auto last = [](const std::vector<double>& x) {
      return std::span(x).last(2 * 13);
    };  // read 4 9, and 9 6
    BOOST_CHECK_LE(difference(last(early), last(late)), 1e-12);
  }
}

/// A layer is one of a model whose layers are all of its kind.
BOOST_AUTO_TEST_CASE(windows_and_their_bases_are_of_their_layers) {
  const auto local = [](auto& o) {
    o.positions = "rotary";
    o.d_head = 4;
    o.sliding_window = 2;
    o.rope_base = 9;
  };
  const auto global = [&](auto& o) {
    local(o);
    o.sliding_window = 0;
    o.rope_base = 50;
    o.rope_scaling = "linear";
    o.rope_factor = 2;
  };
  const auto recorded = [](const Variant& variant) {
    const Drawn<double> model(decoder(variant), 4);
    Recording<double> recorder([](const std::string&) { return true; });
    logits<double>(model, {}, kTarget, &recorder);
    return recorder;
  };
  const auto one = recorded({"", local}), other = recorded({"", global});
  const auto hidden = [](const auto& from, const char* layer) {
    return std::ranges::count(from.at(concat("decoder/", layer, "/self_attention/weights")).values, 0.0);
  };
  const auto few = hidden(other, "layer_0"), many = hidden(one, "layer_0");
  BOOST_TEST(few < many);
  for (const char* letters : {"wf", "fw"}) {
    const auto mixed = recorded({"", [&](auto& o) {
                                   global(o);
                                   o.sliding_window = 2;
                                   o.window_layers = letters;
                                   o.rope_local_base = 9;
                                 }});
    const bool local_first = letters[0] == 'w';
    const auto first = [](const auto& from) { return from.at("decoder/layer_0/output").values; };
    BOOST_TEST(first(mixed) == first(local_first ? one : other), boost::test_tools::per_element());
    BOOST_TEST(hidden(mixed, "layer_0") == (local_first ? many : few));
    BOOST_TEST(hidden(mixed, "layer_1") == (local_first ? few : many));
  }
}

/// A decoder of one layer, and all that it computes.
struct OneLayer {
  DecoderOnlyConfig config;
  Drawn<double> model;
  Recording<double> recorder{[](const std::string&) { return true; }};

  explicit OneLayer(const std::function<void(TransformerOptions&)>& choose)
      : config(of_one_layer(choose)), model(config, 4) {
    logits<double>(model, {}, kTarget, &recorder);
  }
  std::vector<double> of(const std::string& name) const { return recorder.at("decoder/" + name).values; }
  bool has(const std::string& name) const { return model.parameters.contains("decoder/" + name); }

 private:
  static DecoderOnlyConfig of_one_layer(const std::function<void(TransformerOptions&)>& choose) {
    DecoderOnlyConfig config = decoder({"", choose});
    config.n_decoder_layers = 1;
    return config;
  }
};

/// In parallel, each sublayer reads what it would read first: the input of the layer.
BOOST_AUTO_TEST_CASE(sublayers_in_parallel_read_the_same) {
  for (const char* norms : {"two_norms", "one_norm"}) {
    const OneLayer run([&](auto& o) { o.parallel_residual = norms; });
    const auto input = run.of("embedded"), attention = run.of("layer_0/self_attention/output"),
               network = run.of("layer_0/feed_forward/output"), output = run.of("layer_0/output");
    for (std::size_t i = 0; i < output.size(); ++i)
      BOOST_CHECK_SMALL(output[i] - (input[i] + attention[i] + network[i]), 1e-14);
    BOOST_TEST(run.has("layer_0/feed_forward_norm/gamma") == (std::string(norms) == "two_norms"));
  }
}

/// What is added is normalised, here with gamma = 1 and beta = 0.
BOOST_AUTO_TEST_CASE(what_is_added_may_be_normalised) {
  for (const std::string place : {"sandwich", "output"}) {
    const OneLayer run([&](auto& o) { o.norm = place; });
    const auto input = run.of("embedded"), attention = run.of("layer_0/self_attention_post_norm/output"),
               network = run.of("layer_0/feed_forward_post_norm/output"), output = run.of("layer_0/output");
    for (std::size_t i = 0; i < output.size(); ++i)
      BOOST_CHECK_SMALL(output[i] - (input[i] + attention[i] + network[i]), 1e-14);
    const auto raw = run.of("layer_0/self_attention/output");
    for (std::size_t first = 0; first < raw.size(); first += 6) {
      const auto row = std::span(raw).subspan(first, 6);
      double mean = 0, variance = 0;
      for (const double x : row) mean += x / 6;
      for (const double x : row) variance += (x - mean) * (x - mean) / 6;
      for (std::size_t j = 0; j < 6; ++j)
        BOOST_CHECK_SMALL(
            attention[first + j] - (row[j] - mean) / std::sqrt(variance + run.config.norm_epsilon), 1e-12);
    }
    BOOST_TEST(run.has("final_norm/gamma"));
    BOOST_TEST(run.has("layer_0/self_attention_norm/gamma") == (place == "sandwich"));
  }
}

/// Queries are divided by the root mean square of a head, or of all heads of the row; gamma is as wide, here 1.
BOOST_AUTO_TEST_CASE(queries_are_normed_by_head_or_over_all_heads) {
  for (const std::string over : {"head", "all"}) {
    const OneLayer run([&](auto& o) {
      o.n_heads = 2;
      o.d_head = 3;
      o.qk_norm = true;
      o.qk_norm_over = over;
    });
    const auto query = run.of("layer_0/self_attention/query"),
               normed = run.of("layer_0/self_attention/normed_query");
    const std::size_t width = over == "head" ? 3 : 6;
    BOOST_REQUIRE_EQUAL(normed.size(), query.size());
    for (std::size_t first = 0; first < query.size(); first += width) {
      double square = 0;
      for (std::size_t j = 0; j < width; ++j) square += query[first + j] * query[first + j];
      const double size = std::sqrt(square / static_cast<double>(width) + run.config.norm_epsilon);
      for (std::size_t j = 0; j < width; ++j)
        BOOST_CHECK_SMALL(normed[first + j] - query[first + j] / size, 1e-12);
    }
    BOOST_TEST(run.model.parameters.view("decoder/layer_0/self_attention/query_norm/gamma").size() ==
               static_cast<std::int64_t>(width));
  }
}

BOOST_AUTO_TEST_CASE(positions_tell_orders_apart) {
  for (const char* positions :
       {"rotary", "relative_buckets", "learned_buckets", "alibi", "sinusoidal_halves", "sinusoidal_t2t"}) {
    const Variant variant{positions, [&](auto& o) {
                            o.positions = positions;
                            o.d_head = 4;
                          }};
    const Drawn<double> model(encoder(variant), 4);
    const std::vector<double> one = states(model, tokens({{5, 7, 4, 3}})),
                              other = states(model, tokens({{7, 5, 4, 3}}));
    // The last word sees the same words in another order; a bias alone would not tell before from after.
    BOOST_CHECK_GT(difference(std::span(one).last(6), std::span(other).last(6)), 1e-4);
  }
}

BOOST_AUTO_TEST_SUITE_END()
