#include "draw/graph/model_graph.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "draw/select/tensors.h"
#include "text/bounded_json.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;
using Flow = Graph::Flow;

/// The only text of the configuration.
const std::string& config_of(const TensorMap& map) {
  const Tensor& config = map.at("model/config");
  if (config.dtype() != DType::string || config.size() != 1) fail("/model/config: wanted one text");
  return config.values<std::string>()[0];
}

std::map<std::string, Shape> parameter_shapes(const TensorMap& map) {
  constexpr std::string_view folder = "model/parameters/";
  std::map<std::string, Shape> shapes;
  for (const auto& [path, tensor] : map.tensors())
    if (path.starts_with(folder)) shapes.emplace(path.substr(folder.size()), tensor.shape());
  return shapes;
}

/// Whether a recurrence replaces the self-attention of a layer.
bool is_recurrent(const ModelShapes& model, const std::string& layer) {
  return model.has(layer + "/recurrence/forget/weight");
}

bool has_stack(const ModelShapes& model, const std::string& side) {
  return model.has(side + "/layer_0/self_attention/query/weight") || is_recurrent(model, side + "/layer_0");
}

/// Positions are told apart by the beginning and the end of their word (nn/positional_encoding.h).
bool are_added(const std::string& positions) {
  return positions.starts_with("learned") || positions.starts_with("sinusoidal");
}
bool act_within_attention(const std::string& positions) {
  return !positions.empty() && positions != "none" &&
         (!are_added(positions) || positions.ends_with("buckets"));
}

}  // namespace

std::size_t add_places(Graph& graph, const ModelShapes& model) {
  const std::int64_t rows = model.size("encoder/positions/weight", 0);
  const bool class_token = model.has("encoder/class_token");
  const auto image = graph.add(
      model.text("image_size").empty() ? "features of an image" : "image, cut into patches", Kind::data,
      {concat("[", rows - class_token, " places, ", model.size("encoder/patches/weight", 0), "]")});
  const auto projected = graph.add("linear", Kind::linear, {model.shape("encoder/patches/weight")}, {image});
  return graph.add(class_token ? "class token before them, add positions" : "add positions", Kind::other,
                   {model.shape("encoder/positions/weight")}, {projected});
}

namespace {

/// One stack of a Transformer ("encoder" or "decoder"), node upon node.
class Stack {
 public:
  Stack(const ModelShapes& model, Graph& graph, std::string side)
      : model_(model), graph_(graph), side_(std::move(side)) {}

  std::size_t put(const std::string& title, Kind kind, std::vector<std::string> lines = {}) {
    top_ = graph_.add(title, kind, std::move(lines), top_ ? std::vector{*top_} : std::vector<std::size_t>{});
    return *top_;
  }

  /// For an encoder of images, its places (models/image_patches.h); otherwise pieces.
  void embedding() {
    if (side_ == "encoder" && model_.has("encoder/patches/weight")) {
      top_ = add_places(graph_, model_);
      return;
    }
    const bool causal = side_ == "decoder", alone = !has_stack(model_, causal ? "encoder" : "decoder");
    put(concat(alone    ? ""
               : causal ? "target "
                        : "source ",
               causal ? "pieces so far" : "pieces"),
        Kind::data, {"[position]"});
    put("embedding", Kind::linear, {model_.shape(side_ + "/embedding/weight", "encoder/embedding/weight")});
    const std::string positions = model_.text("positions");
    if (are_added(positions)) put("add positions", Kind::other, {positions});
    if (model_.has(side_ + "/embedding_norm/gamma")) norm();
    const std::string projection = side_ + "/embedding_projection/weight";
    if (model_.has(projection)) put("linear", Kind::linear, {model_.shape(projection)});
  }

  /// The layer at `scope`; returns the node of its cross-attention, if it has one.
  std::optional<std::size_t> layer(const std::string& scope) {
    const std::string parallel = model_.text("parallel_residual");  // stated where it is not "no"
    read_ = parallel.empty() ? std::nullopt : top_;
    shares_norm_ = parallel == "one_norm";
    is_normed_ = false;
    is_bare_ = !model_.flag("first_norm", true) && scope == side_ + "/layer_0";
    if (is_recurrent(model_, scope)) {
      const std::string shape = model_.shape(scope + "/recurrence/forget/weight");
      sublayer("recurrence", Kind::linear, {"candidate, forget gate:", shape, "ReLU of the cell"});
    } else {
      const bool causal = side_ == "decoder" || model_.flag("causal", false);
      attention(scope + "/self_attention", causal ? "masked self-attention" : "self-attention");
    }
    std::optional<std::size_t> cross;
    if (model_.has(scope + "/cross_attention/query/weight"))
      cross = attention(scope + "/cross_attention", "cross-attention");
    const std::string inner = scope + "/feed_forward/inner/weight";
    const std::string gate = model_.shape(scope + "/feed_forward/gate/weight");
    std::vector<std::string> lines{model_.shape(inner) + ", " + activation_name(),
                                   model_.shape(scope + "/feed_forward/outer/weight")};
    if (!gate.empty()) lines[0] = model_.shape(inner) + " gated by " + gate + ", " + activation_name();
    sublayer("feed-forward", Kind::linear, std::move(lines));
    return cross;
  }

  /// All layers as a plate around the first, and the norm after the last.
  std::optional<std::size_t> layers() {
    const std::size_t first = graph_.nodes.size();
    stands_for_all_ = true;
    const auto cross = layer(side_ + "/layer_0");
    std::string count = model_.text("n_" + side_ + "_layers");
    if (count.empty()) count = model_.text("n_layers");
    graph_.plates.push_back({first, graph_.nodes.size(), "\u00d7 " + count});
    if (model_.has(side_ + "/final_norm/gamma")) norm();
    return cross;
  }

  /// From the states of the last layer to words.
  void words(const std::string& result) {
    std::string size = model_.text("target_vocab_size");
    if (size.empty()) size = std::to_string(model_.size(side_ + "/embedding/weight", 0));
    const std::int64_t transformed = model_.size("masked_word/inner/weight", 1);
    put("linear to words", Kind::linear,
        {concat(transformed > 0 ? std::to_string(transformed) : model_.text("d_model"), " \u00d7 ", size,
                model_.text("tied") == "none" ? "" : ", shared with the embedding")});
    put("softmax", Kind::other);
    put(result, Kind::data, {concat("[", size, "]")});
  }

  /// From the states of the last layer to classes, as in models/heads.h.
  void classes() {
    const bool of_pieces = model_.text("pooling") == "none";
    if (!of_pieces) pooling();
    pooler();
    put("linear to classes", Kind::linear, {model_.shape("classes/weight")});
    const std::string problem = model_.text("problem_type");  // stated where it is not one class
    if (problem != "regression") put(problem == "multi_label" ? "sigmoid" : "softmax", Kind::other);
    put(of_pieces                  ? "class of each piece"
        : problem == "regression"  ? "numbers"
        : problem == "multi_label" ? "probability of each class"
                                   : "class",
        Kind::data);
  }

  /// From the states of the last layer to the embedding of the sentence, as in encode --pool model.
  void sentence_embedding() {
    pooled_state();
    std::string width = model_.text("d_model");
    for (const auto& [dense, title] : {std::pair("sentences/dense_inner/weight", "linear"),
                                       {"sentences/dense/weight", "linear to the embedding"}}) {
      if (!model_.has(dense)) continue;
      const std::string activation = model_.text("dense_activation");  // stated where it is not tanh
      put(title, Kind::linear,
          {concat(model_.shape(dense), activation.empty()     ? ", tanh"
                                       : activation == "none" ? ""
                                                              : ", " + activation)});
      width = std::to_string(model_.size(dense, 1));
    }
    if (model_.flag("normalised", false)) put("scaled to length 1", Kind::other);
    put("sentence embedding", Kind::data, {concat("[", width, "]")});
  }

  std::size_t top() const { return *top_; }

 private:
  /// What the self-attention of a layer sees, if it has a window; of all layers where the first stands for them.
  std::string seen(const std::string& scope) const {
    std::string line;
    std::int64_t n_layers = 0, n_windows = 0;
    const auto count = [&](const std::string& layer) {
      const std::string own = model_.seen(layer);
      if (!own.empty()) line = own;
      n_windows += !own.empty();
      ++n_layers;
    };
    const auto of_stack = [&] { return concat(side_, "/layer_", n_layers); };
    if (!stands_for_all_) count(scope);
    while (stands_for_all_ && model_.has(of_stack() + "/self_attention/query/weight")) count(of_stack());
    if (line.empty() || n_windows == n_layers) return line;
    return concat(line, ", in ", n_windows, " of ", n_layers, " layers");
  }

  /// From the states of a sentence to the vector that is classified.
  void pooling() {
    const std::string attention = "classes/attention";
    if (model_.has(attention + "/query/weight")) {
      const std::size_t states = *top_;
      put("scores u\u00b7tanh(W h_j + b) of the positions", Kind::attention,
          {"W " + model_.shape(attention + "/query/weight"),
           "u " + model_.shape(attention + "/score/weight")});
      put("softmax: \u03b1_j", Kind::other, {"[position]"});
      graph_.connect(states, put("pooled vector v = \u03a3 \u03b1_j h_j", Kind::attention));
    } else {
      pooled_state();
    }
  }

  void pooler() {
    if (!model_.has("encoder/pooler/weight")) return;
    const std::string f = model_.text("pooler_activation");  // stated where it is not tanh
    put(concat("pooler: ",
               f == "relu"   ? "ReLU"
               : f == "gelu" ? "GELU"
               : f.empty()   ? "tanh"
                             : f,
               " of a linear layer"),
        Kind::linear, {model_.shape("encoder/pooler/weight")});
    if (model_.has("encoder/pooler_norm/gamma")) norm();
  }

  void pooled_state() {
    const std::string how = model_.text("pooling");
    put(how == "mean" ? "mean over the positions" : concat("state at the ", how, " position"), Kind::other,
        {concat("[", model_.text("d_model"), "]")});
  }

  /// x + sublayer(norm(x)), norm(x + sublayer(x)), x + norm(sublayer(norm(x))), x + norm(sublayer(x)), or the same
  /// without the sum or the norm.
  std::size_t sublayer(const std::string& title, Kind kind, std::vector<std::string> lines) {
    const std::size_t sum = *top_;
    if (read_) top_ = read_;
    const std::string place = model_.text("norm");
    if ((place == "pre" || place == "sandwich") && !is_normed_ && !std::exchange(is_bare_, false)) norm();
    if (shares_norm_) {
      read_ = top_;
      is_normed_ = true;
    }
    const std::size_t node = put(title, kind, std::move(lines));
    if (place == "sandwich" || place == "output") norm();
    if (model_.flag("residual", true)) graph_.connect(sum, put("add", Kind::other), Flow::skip);
    if (place == "post") norm();
    return node;
  }

  std::size_t attention(const std::string& scope, const std::string& title) {
    std::vector<std::string> lines{concat(model_.text("n_heads"), " heads, query, key, value, output:"),
                                   model_.shape(scope + "/query/weight")};
    if (const std::string grouped = model_.text("n_kv_heads"); !grouped.empty())
      lines.push_back(concat(grouped, " heads of keys and values"));
    const std::string positions = model_.text("positions");
    if (act_within_attention(positions) && !scope.ends_with("cross_attention"))
      lines.push_back(model_.with_part(positions));
    if (const std::string line = seen(scope); !line.empty() && !scope.ends_with("cross_attention"))
      lines.push_back(line);
    if (is_bare_) lines.emplace_back("without a norm in layer 0 alone");
    return sublayer(title, Kind::attention, std::move(lines));
  }

  void norm() { put(model_.text("norm_kind").starts_with("rms") ? "RMS norm" : "layer norm", Kind::norm); }
  std::string activation_name() const {
    const std::string name = model_.text("activation");  // stated where it is not the ReLU
    return name.empty() ? "ReLU" : name;
  }

  const ModelShapes& model_;
  Graph& graph_;
  std::string side_;
  std::optional<std::size_t> top_;
  /// What all sublayers of a layer read in parallel; none: each reads the sum so far.
  std::optional<std::size_t> read_;
  bool stands_for_all_ = false;  ///< the layer that is drawn, for all of its stack
  bool shares_norm_ = false,
       is_normed_ = false;  ///< in parallel: one norm for all, and whether read_ is its output
  bool is_bare_ = false;    ///< the next sublayer begins without a norm
};

/// The stacks that the model has: both, or an encoder or a decoder alone.
Graph transformer(const ModelShapes& model) {
  const bool encodes = has_stack(model, "encoder"), decodes = has_stack(model, "decoder");
  if (!encodes && !decodes) fail("the model has no layers: neither /encoder/layer_0 nor /decoder/layer_0");
  Graph graph;
  graph.title = !decodes ? "Transformer encoder" : !encodes ? "Transformer decoder" : "Transformer";
  graph.subtitle = concat(model.text("norm"), "-norm, d_model ", model.text("d_model"), ", d_ff ",
                          model.text("d_ff"), ", ", model.text("n_heads"), " heads");
  Stack encoder(model, graph, "encoder"), decoder(model, graph, "decoder");
  if (encodes) {
    encoder.embedding();
    encoder.layers();
    encoder.put("encoder states", Kind::data, {concat("[position, ", model.text("d_model"), "]")});
    const bool classifies = model.has("classes/weight");
    const bool is_alone = !decodes && !classifies, fills_in = model.flag("masked_words", true);
    if (is_alone && fills_in) encoder.words("piece at each masked position");
    if (is_alone && !fills_in && model.has("encoder/embedding/weight")) encoder.sentence_embedding();
    if (classifies) encoder.classes();
  }
  if (decodes) {
    decoder.embedding();
    const auto cross = decoder.layers();
    decoder.words("next piece");
    if (encodes && cross) graph.connect(encoder.top(), *cross);
  }
  return graph;
}

Graph transformer_layer(const ModelShapes& model, const std::string& scope) {
  Graph graph;
  graph.title = scope;
  Stack stack(model, graph, scope.substr(0, scope.find('/')));
  const std::string width = concat("[position, ", model.text("d_model"), "]");
  stack.put("from the layer below", Kind::data, {width});
  const auto cross = stack.layer(scope);
  stack.put("to the layer above", Kind::data, {width});
  if (cross) graph.connect(graph.add("encoder states", Kind::data, {width}), *cross);
  return graph;
}

Graph part_of_model(const ModelShapes& model, const std::string& scope) {
  if (scope.ends_with("attention")) return multi_head_graph(model, scope);
  if (model.has(scope + "/self_attention/query/weight") || is_recurrent(model, scope))
    return transformer_layer(model, scope);
  if (const std::string layer = recurrent_scope(model, scope); !layer.empty())
    return cell_graph(model, layer);
  fail("there is no graph for /", escaped(scope),
       ": wanted a layer (encoder/layer_0), or an attention of a Transformer "
       "(encoder/layer_0/self_attention)");
}

}  // namespace

ModelShapes::ModelShapes(const TensorMap& map) : ModelShapes(config_of(map), parameter_shapes(map)) {}

ModelShapes::ModelShapes(const std::string& config, std::map<std::string, Shape> shapes)
    : config_(text::parse_bounded_json(config, "/model/config")), shapes_(std::move(shapes)) {
  if (!config_.is_object()) fail("/model/config is not a JSON object: is this a model file?");
}

const Shape* ModelShapes::find(const std::string& parameter) const {
  const auto found = shapes_.find(parameter);
  return found == shapes_.end() ? nullptr : &found->second;
}

bool ModelShapes::has(const std::string& parameter) const {
  return find(parameter) != nullptr;
}

std::string ModelShapes::shape(const std::string& parameter, const std::string& otherwise) const {
  const Shape* shape = find(parameter);
  if (!shape) shape = find(otherwise);
  if (!shape) return "";
  std::string text;
  for (std::int64_t size : *shape) text += (text.empty() ? "" : " \u00d7 ") + std::to_string(size);
  return text;
}

std::int64_t ModelShapes::size(const std::string& parameter, std::size_t axis) const {
  const Shape* shape = find(parameter);
  return shape && axis < shape->size() ? (*shape)[axis] : 0;
}

std::string ModelShapes::text(const std::string& field) const {
  const auto found = config_.find(field);
  if (found == config_.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

bool ModelShapes::flag(const std::string& field, bool otherwise) const {
  const auto found = config_.find(field);
  return found != config_.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string ModelShapes::window(const std::string& scope) const {
  constexpr std::string_view layer = "coder/layer_";  // of either side
  const std::size_t at = scope.find(layer);
  if (at == std::string::npos) return "";
  std::size_t index = 0;
  std::from_chars(scope.data() + at + layer.size(), scope.data() + scope.size(), index);
  const std::string letters = text("window_layers"),
                    window = text("sliding_window");  // stated where they matter
  const bool is_local = letters.empty() || letters[index % letters.size()] == 'w';
  return is_local && window != "0" ? window : "";
}

std::string ModelShapes::seen(const std::string& scope) const {
  const std::string width = window(scope);
  if (width.empty()) return "";
  return scope.starts_with("decoder") ? width + " positions are seen"
                                      : concat("positions less than ", width, " away are seen");
}

std::string ModelShapes::with_part(const std::string& words) const {
  const std::string turned = text("d_rotary");  // stated where it is not the whole head
  return turned.empty() ? words : concat(words, ", first ", turned, " features");
}

Graph model_graph(const TensorMap& map, const std::string& scope) {
  if (!map.contains("model/config")) return steps_graph(map, scope);
  return model_graph(ModelShapes(map), scope);
}

Graph model_graph(const ModelShapes& model, const std::string& scope) {
  if (!scope.empty()) return part_of_model(model, without_root(scope));
  const std::string architecture = model.text("architecture");
  if (architecture == "transformer" || architecture == "encoder" || architecture == "decoder")
    return transformer(model);
  if (const auto graph = recurrent_graph(model, architecture)) return *graph;
  fail("there is no graph for the architecture '", escaped(architecture), "'");
}

}  // namespace heed::draw
