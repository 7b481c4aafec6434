#include "pipeline/attend_layer.h"

#include <map>

#include "base/error.h"
#include "pipeline/attention_group.h"
#include "pipeline/shards.h"
#include "pipeline/translate.h"
#include "tensor/gemm.h"
#include "tensor/padding.h"
#include "text/token_map.h"

namespace heed {

AttentionLayer attention_layer(const Model<float>& model, std::string path) {
  if (!model.attends()) {
    fail<UsageError>("--layer: a ", model.architecture(),
                     " has no attention: its decoder reads the encoder's last states only");
  }
  while (path.starts_with('/')) path.erase(0, 1);
  for (const bool decoder : {false, true}) {
    const std::string stack = decoder ? "decoder" : "encoder";
    const std::int64_t count = decoder ? model.n_decoder_layers() : model.n_encoder_layers();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string layer = stack + "/layer_" + std::to_string(i);
      if (model.self_attends() && path == layer + "/self_attention") return {path, i, decoder, false};
      if (decoder && i >= model.first_attending_layer() && path == layer + "/cross_attention")
        return {path, i, true, true};
    }
  }
  if (!model.self_attends()) {
    fail<UsageError>("--layer: got '", escaped(path), "', this ", model.architecture(), " has decoder/layer_",
                     model.first_attending_layer(), "/cross_attention");
  }
  fail<UsageError>("--layer: got '", escaped(path), "', this ", model.architecture(),
                   " has encoder/layer_I/self_attention for I below ", model.n_encoder_layers(),
                   " and decoder/layer_I/self_attention, decoder/layer_I/cross_attention for I below ",
                   model.n_decoder_layers());
}

namespace {

/// Keeps what one attention layer computes, by the last part of its name.
class LayerRecorder final : public Recorder<float> {
 public:
  explicit LayerRecorder(std::string scope) : scope_(std::move(scope) + "/") {}

  bool wants(const std::string& name) const override { return name.starts_with(scope_); }
  void record(const std::string& name, Matrix<const float> value, const Packing&) override {
    Kept& kept = kept_[name.substr(scope_.size())];
    kept.cols = value.cols;
    for (std::int64_t i = 0; i < value.rows; ++i)
      kept.values.insert(kept.values.end(), value.row(i), value.row(i) + value.cols);
  }
  void record_attention(const std::string& name, std::span<const float> blocks, std::int64_t, const Packing&,
                        const Packing&) override {
    kept_[name.substr(scope_.size())].values.assign(blocks.begin(), blocks.end());
  }

  /// A value of packed rows [rows, d].
  Matrix<const float> matrix(const std::string& name) const {
    const Kept& kept = kept_.at(name);
    const auto rows = static_cast<std::int64_t>(kept.values.size()) / kept.cols;
    return {kept.values.data(), rows, kept.cols};
  }
  bool has(const std::string& name) const { return kept_.count(name) != 0; }
  const float* blocks(const std::string& name) const { return kept_.at(name).values.data(); }

 private:
  struct Kept {
    std::vector<float> values;
    std::int64_t cols = 1;
  };
  std::string scope_;
  std::map<std::string, Kept> kept_;
};

/// Copies a shard's recorded values into the group. What the model calls scores are scaled products, or the
/// values of a network of its own.
void keep(const LayerRecorder& recorder, const AttentionSizes& sizes, bool scaled_dot, SentenceRange range,
          AttentionGroup<float>& group) {
  const Packing queries = slice(sizes.queries, range), keys = slice(sizes.keys, range);
  const Matrix<const float> q_all = recorder.matrix("query"), k_all = recorder.matrix("key"),
                            v_all = recorder.matrix("value"), context = recorder.matrix("context");
  const float *model_scores = recorder.blocks("scores"), *weights = recorder.blocks("weights");
  for (std::int64_t i = 0; i < range.count; ++i) {
    const std::int64_t s = range.first + i, n = queries.length(i), m = keys.length(i);
    for (std::int64_t h = 0; h < sizes.heads; ++h, model_scores += n * m, weights += n * m) {
      auto part = [&](Matrix<const float> x, const Packing& rows, std::int64_t width) {
        return x.row_range(rows.offset(i), rows.length(i)).columns(h * width, width);
      };
      const Matrix<const float> q = part(q_all, queries, sizes.key_dim), k = part(k_all, keys, sizes.key_dim);
      if (scaled_dot) {
        std::vector<float> products(static_cast<std::size_t>(n * m));
        gemm<float>(1, q, k.t(), 0, Matrix<float>(products.data(), n, m));
        group.set("scores", {s, 0, h}, {products.data(), n, m});
        group.set("scaled", {s, 0, h}, {model_scores, n, m});
      } else {
        group.set("scores", {s, 0, h}, {model_scores, n, m});
      }
      group.set("weights", {s, 0, h}, {weights, n, m});
      group.set("queries", {s, 0, h}, q);
      group.set("keys", {s, 0, h}, k);
      group.set("values", {s, 0, h}, part(v_all, keys, sizes.value_dim));
      group.set("head_context", {s, 0, h}, part(context, queries, sizes.value_dim));
    }
    group.set("context", {s, 0}, context.row_range(queries.offset(i), n));
    if (recorder.has("output"))
      group.set("output", {s, 0}, recorder.matrix("output").row_range(queries.offset(i), n));
  }
}

}  // namespace

void attend_layer(const Model<float>& model, const AttentionLayer& layer, bool steps,
                  const std::vector<std::vector<std::int32_t>>& targets, int threads, TensorMap& frame) {
  const bool encoded = layer.decoder && frame.contains("encoder/states");
  const PackedStates input = encoded ? memory_of(frame, model) : read_embeddings(frame, model);
  const std::int64_t sentences = input.rows.sentences();
  if (layer.decoder && static_cast<std::int64_t>(targets.size()) != sentences) {
    fail("there are ", targets.size(), " targets for ", sentences, " source sentences");
  }
  PackedTokens target;
  for (const auto& ids : targets) target.append(ids);
  const bool scaled_dot = model.self_attends();
  const AttentionSizes sizes{layer.decoder ? target.rows : input.rows,
                             layer.decoder && !layer.cross ? target.rows : input.rows, model.n_heads(),
                             model.head_widths().key, model.head_widths().value};
  std::vector<std::string> names{"scores", "weights", "context"};
  if (steps) names.insert(names.end(), {"queries", "keys", "values", "head_context"});
  if (steps && scaled_dot) names.insert(names.end(), {"scaled", "output"});
  AttentionGroup<float> group(sizes, names);

  for_each_shard(sentences, threads, [&](SentenceRange range) {
    LayerRecorder recorder(layer.path);
    InferencePass pass(model, &recorder);
    const Selection shard(input, range.numbers());
    Encoded<float> x = shard.on(pass);
    if (!encoded) x = model.encode(pass, x, 0, layer.decoder ? model.n_encoder_layers() : layer.index + 1);
    PackedTokens own;
    for (std::int64_t i = 0; layer.decoder && i < range.count; ++i)
      own.append(targets[static_cast<std::size_t>(range.first + i)]);
    if (layer.decoder) model.decode(pass, x, own);
    keep(recorder, sizes, scaled_dot, range, group);
  });
  TensorMap map = group.take("Attention of " + layer.path);
  const char* kind = layer.cross ? "cross" : layer.decoder ? "decoder_self" : "encoder_self";
  map.at("attention/weights").attributes["kind"] = std::string(kind);
  map.groups.at("attention").attributes["model_layer"] = layer.path;
  replace_attention(frame, std::move(map));
}

void label_layer(const AttentionLayer& layer, const text::Tokenizer& source, const text::Tokenizer& target,
                 const std::vector<std::vector<std::int32_t>>& targets, TensorMap& frame) {
  std::vector<std::vector<std::string>> sources, produced, read;
  if (frame.contains("tokens/ids")) {
    for (const auto& ids : text::sentence_ids(frame, source)) sources.push_back(source.pieces(ids));
  }
  for (const auto& ids : targets) {
    produced.push_back(target.pieces(ids));
    read.push_back({target.piece(kBos)});
    read.back().insert(read.back().end(), produced.back().begin(), produced.back().end() - 1);
  }
  const auto& query = layer.decoder ? produced : sources;
  const auto& key = layer.decoder && !layer.cross ? read : sources;
  if (!query.empty()) label_attention(frame, "query_token", query);
  if (!key.empty()) label_attention(frame, "key_token", key);
}

}  // namespace heed
