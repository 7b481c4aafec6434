#include "draw/model_graph.h"

#include "base/error.h"
#include "draw/attention_graph.h"
#include "draw/cell_graph.h"
#include "draw/recurrent_graph.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;
using Way = Graph::Way;

/// A lane of boxes, each on the one before: the stream that the layers of a Transformer add to.
class Stream {
 public:
  Stream(const ModelShapes& model, Graph& graph, int lane) : model_(model), graph_(graph), lane_(lane) {}

  std::size_t put(const std::string& title, Kind kind, std::vector<std::string> lines = {}) {
    const std::size_t box = graph_.add(lane_, title, kind, std::move(lines));
    if (box != last_ && has_last_) graph_.connect(last_, box);
    last_ = box;
    has_last_ = true;
    return box;
  }

  /// x + sublayer(norm(x)), or norm(x + sublayer(x)), or what the model leaves of that.
  std::size_t sublayer(const std::string& title, Kind kind, std::vector<std::string> lines) {
    const std::size_t input = last_;
    const std::string norm = model_.text("norm");
    if (norm == "pre") put("layer norm", Kind::norm);
    const std::size_t box = put(title, kind, std::move(lines));
    if (model_.flag("residual", true)) {
      const std::size_t sum = put("add", Kind::other);
      graph_.connect(input, sum, Way::skip);
    }
    if (norm == "post") put("layer norm", Kind::norm);
    return box;
  }

  std::size_t attention(const std::string& scope, const std::string& title) {
    const std::string heads = concat(model_.text("n_heads"), " heads, query, key, value, output:");
    return sublayer(title, Kind::attention, {heads, model_.shape(scope + "/query/weight")});
  }

  void feed_forward(const std::string& scope) {
    sublayer("feed-forward", Kind::linear,
             {model_.shape(scope + "/inner/weight") + ", ReLU", model_.shape(scope + "/outer/weight")});
  }

  std::size_t last() const { return last_; }
  int row() const { return graph_.nodes[last_].row; }
  void plate(int first_row, const std::string& text) {
    graph_.plates.push_back({lane_, first_row, row(), text});
  }

 private:
  const ModelShapes& model_;
  Graph& graph_;
  int lane_;
  std::size_t last_ = 0;
  bool has_last_ = false;
};

/// One layer upon what the stream has; returns the box of the attention to the source, if there is one.
std::size_t add_layer(Stream& stream, const std::string& scope, bool is_decoder) {
  stream.attention(scope + "/self_attention", is_decoder ? "masked self-attention" : "self-attention");
  std::size_t cross = 0;
  if (is_decoder) cross = stream.attention(scope + "/cross_attention", "cross-attention");
  stream.feed_forward(scope + "/feed_forward");
  return cross;
}

void add_embedding(Stream& stream, const ModelShapes& model, const std::string& side) {
  stream.put(side == "encoder" ? "source pieces" : "target pieces so far", Kind::data, {"[position]"});
  stream.put("embedding", Kind::linear,
             {model.shape(side + "/embedding/weight", "encoder/embedding/weight")});
  if (model.text("positions") != "none") stream.put("add positions", Kind::other, {model.text("positions")});
}

Graph transformer(const ModelShapes& model) {
  Graph graph;
  graph.title = "Transformer";
  graph.subtitle = concat(model.text("norm"), "-norm, d_model ", model.text("d_model"), ", d_ff ",
                          model.text("d_ff"), ", ", model.text("n_heads"), " heads");
  Stream encoder(model, graph, 0), decoder(model, graph, 1);
  add_embedding(encoder, model, "encoder");
  int first = encoder.row() + 1;
  add_layer(encoder, "encoder/layer_0", false);
  encoder.plate(first, "\u00d7 " + model.text("n_encoder_layers"));
  if (model.has("encoder/final_norm/gamma")) encoder.put("layer norm", Kind::norm);
  encoder.put("encoder states", Kind::data, {concat("[position, ", model.text("d_model"), "]")});
  add_embedding(decoder, model, "decoder");
  first = decoder.row() + 1;
  const std::size_t cross = add_layer(decoder, "decoder/layer_0", true);
  decoder.plate(first, "\u00d7 " + model.text("n_decoder_layers"));
  if (model.has("decoder/final_norm/gamma")) decoder.put("layer norm", Kind::norm);
  decoder.put("linear to words", Kind::linear,
              {concat(model.text("d_model"), " \u00d7 ", model.text("target_vocab_size"),
                      model.text("tied") == "none" ? "" : ", the embedding's")});
  decoder.put("softmax", Kind::other);
  decoder.put("next piece", Kind::data, {concat("[", model.text("target_vocab_size"), "]")});
  graph.connect(encoder.last(), cross);
  return graph;
}

Graph transformer_layer(const ModelShapes& model, const std::string& scope) {
  Graph graph;
  graph.title = scope;
  const bool is_decoder = scope.starts_with("decoder/");
  Stream stream(model, graph, 0);
  const std::string width = concat("[position, ", model.text("d_model"), "]");
  stream.put("from the layer below", Kind::data, {width});
  const std::size_t cross = add_layer(stream, scope, is_decoder);
  stream.put("to the layer above", Kind::data, {width});
  if (is_decoder) {
    const std::size_t states = graph.add(-1, "encoder states", Kind::data, {width}, graph.nodes[cross].row);
    graph.connect(states, cross);
  }
  return graph;
}

Graph part_of_model(const ModelShapes& model, const std::string& scope) {
  if (scope.ends_with("attention")) return multi_head_graph(model, scope);
  if (model.text("architecture") == "transformer" && model.has(scope + "/feed_forward/inner/weight")) {
    return transformer_layer(model, scope);
  }
  if (const std::string layer = recurrent_scope(model, scope); !layer.empty())
    return cell_graph(model, layer);
  fail("no graph of /", escaped(scope),
       ": wanted a layer (encoder/layer_0), or an attention of a Transformer "
       "(encoder/layer_0/self_attention)");
}

}  // namespace

Graph model_graph(const TensorMap& map, const std::string& scope) {
  if (!map.contains("model/config")) return steps_graph(map, scope);
  const ModelShapes model(map);
  if (!scope.empty()) return part_of_model(model, scope.starts_with('/') ? scope.substr(1) : scope);
  const std::string architecture = model.text("architecture");
  if (architecture == "transformer") return transformer(model);
  if (architecture == "bahdanau") return bahdanau_graph(model);
  if (architecture == "cho") return cho_graph(model);
  if (architecture == "luong") return luong_graph(model);
  if (architecture == "xu") return xu_graph(model);
  if (architecture == "sutskever") return sutskever_graph(model);
  fail("no graph of the architecture '", escaped(architecture), "' is known");
}

}  // namespace heed::draw
