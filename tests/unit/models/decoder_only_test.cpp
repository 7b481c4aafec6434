#include "models/decoder_only.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

DecoderOnlyConfig small(const std::string& norm, const std::string& positions, const std::string& tied) {
  DecoderOnlyConfig c;
  c.target_vocab_size = 13;
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

DecoderOnlyConfig realistic() {
  DecoderOnlyConfig c;
  c.target_vocab_size = 300;
  c.n_decoder_layers = 4;
  c.d_model = 128;
  c.d_ff = 512;
  c.n_heads = 4;
  c.max_length = 64;
  return c;
}

/// Llama's layers.
DecoderOnlyConfig modern() {
  DecoderOnlyConfig c = realistic();
  c.norm_kind = "rms";
  c.positions = "rotary";
  c.rope_scaling = "llama3";
  c.activation = "silu";
  c.gated = true;
  c.n_kv_heads = 2;
  c.attention_bias = "none";
  c.feed_forward_bias = false;
  c.embedding_scale = "1";
  return c;
}

DecoderOnlyConfig with(DecoderOnlyConfig c, const std::string& positions, std::int64_t window) {
  c.positions = positions;
  c.sliding_window = window;
  return c;
}

/// Puts other values into head 1 of layer 0's context, at positions 2 and 5 of every text.
template <class T>
class HeadEdit final : public Editor<T> {
 public:
  bool edits(const std::string& name) const override {
    return name == "decoder/layer_0/self_attention/context";
  }
  void edit(const std::string&, Matrix<T> value, std::span<const Place> places,
            std::int64_t n_heads) const override {
    const std::int64_t width = value.cols / n_heads;
    for (std::int64_t i = 0; i < value.rows; ++i) {
      const std::int64_t position = places[static_cast<std::size_t>(i)].position;
      for (std::int64_t j = 0; j < width && (position == 2 || position == 5); ++j)
        value(i, width + j) = static_cast<T>(0.25 * static_cast<double>(j % 7) - 0.5);
    }
  }
  void edit_attention(const std::string&, std::span<T>, const Place&, std::int64_t) const override {}
};

/// The logits after each of `texts`, all of one length, which are read in parts: at each of `cuts` a new one
/// begins.
template <class T>
std::vector<T> logits_after(const Model<T>& model, const std::vector<std::vector<std::int32_t>>& texts,
                            const std::vector<std::size_t>& cuts, const Editor<T>* editor) {
  const PackedWeights<T> exact(model.parameters.values());
  const PackedWeights<T>& weights = model.packed ? *model.packed : exact;
  Hypotheses<T> hypotheses(model, weights, static_cast<std::int64_t>(texts.size()), nullptr, editor);
  Matrix<const T> last;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : texts[0].size();
    PackedTokens part;
    for (const auto& text : texts) part.append(std::span(text).subspan(begin, end - begin));
    last = hypotheses.read(part).all();
    begin = end;
  }
  return {last.data, last.data + last.size()};
}

std::vector<std::vector<std::int32_t>> prompts(std::size_t count, std::size_t length) {
  std::vector<std::vector<std::int32_t>> texts(count);
  for (std::size_t s = 0; s < count; ++s) {
    texts[s].push_back(kDefaultSpecialIds.bos);
    for (std::size_t i = 1; i < length; ++i)
      texts[s].push_back(static_cast<std::int32_t>(4 + (37 * s + 11 * i * i) % 296));
  }
  return texts;
}

template <class T>
void check_parts(const DecoderOnlyConfig& config) {
  Drawn<T> model(config, 5);
  const std::vector<std::size_t> each{1, 2, 3, 4, 5, 6};
  const HeadEdit<T> edit;
  for (std::size_t sentences : {1u, 3u, 40u}) {  // 7, 21 and 280 rows at once against 1, 3 and 40
    const auto texts = prompts(sentences, 7);
    const std::vector<T> plain = logits_after<T>(model, texts, {}, nullptr);
    const std::vector<T> patched = logits_after<T>(model, texts, {}, &edit);
    BOOST_TEST(plain != patched);
    BOOST_TEST((plain == logits_after<T>(model, texts, each, nullptr)));
    BOOST_TEST((patched == logits_after<T>(model, texts, each, &edit)));
    BOOST_TEST((patched == logits_after<T>(model, texts, {3}, &edit)));
    BOOST_TEST((patched == logits_after<T>(model, texts, {1, 5}, &edit)));
  }
}

/// A search by weights that are held once, as products read them, gives the bits of one that keeps the
/// parameters.
template <class T>
void check_held_once(DecoderOnlyConfig config, const std::string& tied) {
  config.tied = tied;
  Drawn<T> model(config, 5);
  const auto texts = prompts(3, 7);
  const std::vector<T> before = logits_after<T>(model, texts, {1, 3}, nullptr);
  const std::vector<T> drawn = values_of(model);
  model.set_precision(Precision::float32, Unpacked::released);
  for (int time = 0; time < 2; ++time) BOOST_TEST((before == logits_after<T>(model, texts, {1, 3}, nullptr)));
  BOOST_TEST(share_changed(model, drawn) > 0.7);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(decoder_only)

BOOST_AUTO_TEST_CASE(gradients_of_all_parameters) {
  for (const auto& [norm, positions, tied] :
       {std::tuple{"pre", "learned", "decoder"}, std::tuple{"post", "sinusoidal", "none"}}) {
    Drawn<double> model(small(norm, positions, tied), 9);
    open_relus(model, 3);
    check_gradients(model, "key/bias");  // softmax is blind to a shift of all scores
  }
}

BOOST_AUTO_TEST_CASE(step_by_step_equals_one_pass) {
  for (const auto& [norm, positions, tied] :
       {std::tuple{"pre", "learned", "decoder"}, std::tuple{"post", "sinusoidal", "none"}}) {
    Drawn<double> model(small(norm, positions, tied), 6);
    check_step_by_step(model);
    check_edits(model);
  }
}

BOOST_AUTO_TEST_CASE(sentences_of_a_batch_do_not_touch_each_other) {
  Drawn<double> model(small("pre", "learned", "decoder"), 3);
  check_sentences_apart(model);
}

BOOST_AUTO_TEST_CASE(the_future_changes_nothing) {
  Drawn<double> model(small("pre", "learned", "decoder"), 4);
  check_future_unseen(model, {});
}

BOOST_AUTO_TEST_CASE(a_text_in_parts_gives_the_same_bits) {
  for (const DecoderOnlyConfig& config :
       {realistic(), modern(), with(modern(), "rotary", 3), with(realistic(), "relative_buckets", 0),
        with(modern(), "alibi", 4)}) {
    check_parts<float>(config);
    check_parts<double>(config);
  }
}

BOOST_AUTO_TEST_CASE(weights_may_be_held_once) {
  for (const std::string tied : {"decoder", "none"}) {
    for (const DecoderOnlyConfig& config :
         {realistic(), modern(), with(realistic(), "relative_buckets", 0)}) {
      check_held_once<float>(config, tied);
      check_held_once<double>(config, tied);
    }
  }
}

BOOST_AUTO_TEST_CASE(config_travels_as_json_and_is_checked) {
  const auto model = build<float>(small("pre", "learned", "decoder"));
  check_json(*model);
  BOOST_CHECK(!model->encoder && model->decoder && model->words && !model->classes);
  BOOST_CHECK_EXCEPTION(model->needed_encoder(), UsageError, [](const Error& e) {
    return std::string(e.what()).find("architecture decoder, which has no encoder") != std::string::npos;
  });
  DecoderOnlyConfig odd = small("pre", "learned", "decoder");
  odd.n_decoder_layers = 0;
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
