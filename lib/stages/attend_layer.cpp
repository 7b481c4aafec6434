#include "stages/attend_layer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attend/attention_group.h"
#include "base/error.h"
#include "base/paths.h"
#include "inspect/value_names.h"
#include "models/shards.h"
#include "nn/attention/score_function.h"
#include "nn/recording.h"
#include "stages/translate.h"
#include "tensor/padding.h"
#include "text/token_map.h"

namespace heed {

AttentionLayer attention_layer(const Model<float>& model, std::string path) {
  struct Kind {
    const char* stack;
    const char* attention;
    std::int64_t first, last;  ///< layers
    bool decoder, cross;
  };
  path = without_root(path);
  std::vector<Kind> kinds;
  if (model.encoder && model.encoder->sizes().self_attends)
    kinds.push_back({"encoder", "self_attention", 0, model.encoder->sizes().n_layers, false, false});
  if (model.decoder) {
    const DecoderSizes& sizes = model.decoder->sizes();
    if (sizes.self_attends) kinds.push_back({"decoder", "self_attention", 0, sizes.n_layers, true, false});
    if (sizes.reads_memory)
      kinds.push_back(
          {"decoder", "cross_attention", sizes.first_attending_layer, sizes.n_layers, true, true});
  }
  std::vector<std::string> known;
  for (const auto& [stack, attention, first, last, decoder, cross] : kinds) {
    for (std::int64_t i = first; i < last; ++i) {
      if (path == concat(stack, "/layer_", i, "/", attention)) return {path, i, decoder, cross};
    }
    if (last - first == 1) known.push_back(concat(stack, "/layer_", first, "/", attention));
    if (last - first > 1)
      known.push_back(concat(stack, "/layer_I/", attention, " for I from ", first, " to ", last - 1));
  }
  if (known.empty()) {
    fail<UsageError>("--layer: architecture ", model.architecture,
                     model.decoder ? " has no attention: its decoder reads the encoder's last states only"
                                   : " has none in its layers; decode --attention keeps what follows them");
  }
  fail<UsageError>("--layer: got '", escaped(path), "', this ", model.architecture, " has ", joined(known));
}

namespace {

/// The stages of a layer besides those common to all.
std::vector<std::string> own_stages(const Model<float>& model, const AttentionLayer& layer) {
  std::vector<std::string> stages;
  for (const NamedValue& value : value_names(model, stages_of(layer))) {
    for (const char* name : {"output", "probabilities", "position", "position_bias"}) {
      if (value.name == layer.path + "/" + name) stages.emplace_back(name);
    }
  }
  return stages;
}

/// The name of the score function of its attentions.
std::string score_of(const Model<float>& model, const PartSizes& part) {
  const auto config = nlohmann::json::parse(model.config_json);
  if (part.self_attends) return config.value("score_scale", "") == "1" ? "dot" : "scaled-dot";
  return config.value("score", "additive");  // Luong's have several; Bahdanau's and Xu's are additive
}

/// How its attentions score: what steps_graph and other readers need to know.
Attributes settings_of(const Model<float>& model, const PartSizes& part) {
  Attributes settings{{"score", score_of(model, part)}};
  const auto config = nlohmann::json::parse(model.config_json);
  if (const std::int64_t width = config.value("score_width", std::int64_t{0}); part.self_attends && width > 0)
    settings["score_scale"] = scaled_dot_factor(width);
  return settings;
}

/// Copies a shard's recorded values into the group.
void keep(const Recording<float>& recorder, const std::string& layer, const AttentionSizes& sizes,
          SentenceRange range, AttentionGroup<float>& group) {
  const Packing queries = slice(sizes.queries, range), keys = slice(sizes.keys, range);
  auto value = [&](const std::string& name) -> const Recorded<float>& {
    return recorder.at(layer + "/" + name);
  };
  // The compared vectors are those after normalisation and rotation, if any.
  auto compared = [&](const std::string& part) {
    for (const char* last : {"rotated_", "normed_"})
      if (recorder.has(layer + "/" + last + part)) return value(last + part).matrix();
    return value(part).matrix();
  };
  const std::int64_t shared = sizes.kv_heads > 0 ? sizes.heads / sizes.kv_heads : 1;
  const Matrix<const float> q_all = compared("query"), k_all = compared("key"),
                            v_all = value("value").matrix(), context = value("context").matrix();
  for (std::int64_t i = 0; i < range.count; ++i) {
    const std::int64_t s = range.first + i, n = queries.length(i), m = keys.length(i);
    for (std::int64_t h = 0; h < sizes.heads; ++h) {
      auto part = [&](Matrix<const float> x, const Packing& rows, std::int64_t width, std::int64_t head) {
        return x.row_range(rows.offset(i), rows.length(i)).columns(head * width, width);
      };
      const std::int64_t kv = h / shared;
      const Matrix<const float> q = part(q_all, queries, sizes.key_dim, h),
                                k = part(k_all, keys, sizes.key_dim, kv);
      if (group.has("products")) {
        const Matrix<float> products = group.rows("products", {s, 0, h}, 0, n).columns(0, m);
        score_function("dot").kernels<float>().forward({{q, {}}, {k, {}}, {}, 0}, products);
      }
      for (const char* name : {"position_bias", "scores", "probabilities", "weights"}) {
        if (group.has(name)) group.set(name, {s, 0, h}, value(name).block(i, h));
      }
      group.set("query_vector", {s, 0, h}, q);
      group.set("key_vector", {s, 0, kv}, k);
      group.set("value_vector", {s, 0, kv}, part(v_all, keys, sizes.value_dim, kv));
      group.set("head_context", {s, 0, h}, part(context, queries, sizes.value_dim, h));
    }
    group.set("context", {s, 0}, context.row_range(queries.offset(i), n));
    auto of_queries = [&](const char* name) { return value(name).matrix().row_range(queries.offset(i), n); };
    if (group.has("output")) group.set("output", {s, 0}, of_queries("output"));
    if (group.has("position")) group.set("position", {s}, of_queries("position").t());
  }
}

}  // namespace

Stages stages_of(const AttentionLayer& layer) {
  Stages stages;
  stages.decode = layer.decoder;
  stages.last = layer.decoder ? 0 : layer.index + 1;
  return stages;
}

namespace {

class LayerAttention : public FrameWork {
 public:
  LayerAttention(const Model<float>& model, const AttentionLayer& layer, bool steps, TargetIds targets,
                 TensorMap& frame, Inspection* inspection, Values wanted)
      : layer_(layer),
        targets_(std::move(targets)),
        frame_(frame),
        model_(model),
        inspection_(inspection),
        alone_(layer.decoder && !model.encoder),
        encoded_(layer.decoder && !alone_ && frame.contains("encoder/states")),
        part_(model.sizes(layer.decoder ? Side::target : Side::source)),
        input_(encoded_ ? memory_of(frame, model, wanted)
                        : read_embeddings(frame, model, alone_ ? Side::target : Side::source, wanted)) {
    if (reads_targets() && std::cmp_not_equal(targets_.size(), input_.rows.sentences()))
      fail("there are ", targets_.size(), " targets for ", input_.rows.sentences(), " source sentences");
    PackedTokens target;
    for (const auto& ids : targets_) target.append(ids);
    sizes_ = {reads_targets() ? target.rows : input_.rows,
              reads_targets() && !layer.cross ? target.rows : input_.rows,
              part_.n_heads,
              part_.heads.key,
              part_.heads.value,
              0,
              part_.n_kv_heads,
              part_.self_attends ? part_.d_model : 0};
    std::vector<std::string> names{"scores", "weights", "context"};
    if (steps) names.insert(names.end(), {"query_vector", "key_vector", "value_vector", "head_context"});
    if (steps && part_.self_attends) names.push_back("products");  // of scaled-dot
    if (steps) {
      for (const std::string& stage : own_stages(model, layer)) names.push_back(stage);
    }
    group_.emplace(sizes_, names);
    if (!inspection) return;
    inspection->begin(frame, input_.rows, alone_ ? Side::target : Side::source);
    inspection->expect_targets(targets_);
    inspection->start_trace(targets_);
  }

  std::int64_t parts() const override { return shards_of(input_.rows.sentences()); }
  void compute(std::int64_t part) override {
    in_shard(input_.rows.sentences(), part, [&](SentenceRange range) { attend(range); });
  }
  void finish() override {
    if (inspection_) inspection_->end(frame_);
    TensorMap map = group_->take("Attention of " + layer_.path, settings_of(model_, part_));
    const char* kind = layer_.cross ? "cross" : layer_.decoder ? "decoder_self" : "encoder_self";
    map.at("attention/weights").attributes["kind"] = std::string(kind);
    map.groups.at("attention").attributes["model_layer"] = layer_.path;
    replace_attention(frame_, std::move(map));
    input_ = {};  // the frame may wait
  }

 protected:
  const AttentionLayer& layer_;
  const TargetIds targets_;
  TensorMap& frame_;

 private:
  /// A decoder alone reads the text of the input; one of a pair reads the targets, and the input is its source.
  bool reads_targets() const { return layer_.decoder && !alone_; }

  void attend(SentenceRange range) {
    InspectedPass pass(model_, inspection_, range.numbers(),
                       [&](const std::string& name) { return name.starts_with(layer_.path + "/"); });
    const Selection shard(input_, range.numbers());
    Encoded<float> x = shard.on(pass);
    if (!layer_.decoder) x = model_.encoder->encode(pass, x, 0, layer_.index + 1);
    if (reads_targets() && !encoded_) {
      InferencePass plain(model_);
      plain.tape = pass.tape;
      x = model_.encode(plain, x.states, *x.rows);
    }
    PackedTokens own;
    for (std::int64_t i = 0; reads_targets() && i < range.count; ++i)
      own.append(targets_[static_cast<std::size_t>(range.first + i)]);
    if (alone_) model_.decode(pass, nullptr, x.states, *x.rows);
    if (reads_targets()) model_.decode(pass, &x, own);
    pass.keep();
    keep(pass.recorded(), layer_.path, sizes_, range, *group_);
  }

  const Model<float>& model_;
  Inspection* inspection_;
  const bool alone_, encoded_;
  const PartSizes& part_;
  PackedStates input_;
  AttentionSizes sizes_;
  std::optional<AttentionGroup<float>> group_;
};

class LabelledAttention final : public LayerAttention {
 public:
  LabelledAttention(const LoadedModel& loaded, const AttentionLayer& layer, bool steps, TargetIds targets,
                    TensorMap& frame, Inspection* inspection, Values wanted)
      : LayerAttention(*loaded.model, layer, steps, std::move(targets), frame, inspection, wanted),
        loaded_(loaded) {}
  void finish() override {
    LayerAttention::finish();
    label_layer(layer_, loaded_, targets_, frame_);
  }

 private:
  const LoadedModel& loaded_;
};

}  // namespace

std::unique_ptr<FrameWork> attention_work(const LoadedModel& loaded, const AttentionLayer& layer, bool steps,
                                          TargetIds targets, TensorMap& frame, Inspection* inspection,
                                          Values wanted) {
  return std::make_unique<LabelledAttention>(loaded, layer, steps, std::move(targets), frame, inspection,
                                             wanted);
}

void attend_layer(const Model<float>& model, const AttentionLayer& layer, bool steps,
                  const TargetIds& targets, int threads, TensorMap& frame) {
  LayerAttention(model, layer, steps, targets, frame, nullptr, Values::finite).run(threads);
}

void label_layer(const AttentionLayer& layer, const LoadedModel& loaded, const TargetIds& targets,
                 TensorMap& frame) {
  std::vector<std::vector<std::string>> sources, produced, read;
  if (frame.contains("tokens/ids")) {
    for (const auto& ids : text::sentence_ids(frame, loaded.source))
      sources.push_back(loaded.source.pieces(ids));
  }
  for (const auto& ids : targets) produced.push_back(loaded.target.pieces(ids));
  if (layer.decoder && targets.empty()) produced = sources;  // a decoder alone
  read = pieces_read(produced, loaded.target, loaded.model->reads_as_given);
  const auto& query = layer.decoder ? produced : sources;
  const auto& key = layer.decoder && !layer.cross ? read : sources;
  if (!query.empty()) label_attention(frame, "query_token", query);
  if (!key.empty()) label_attention(frame, "key_token", key);
}

}  // namespace heed
