// Graphs of an attention, operation by operation.
#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/paths.h"
#include "draw/graph/model_graph.h"
#include "draw/print/printable.h"
#include "draw/select/tensors.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;

/// Dot-product attention of queries, keys and values (Vaswani et al. 2017, figure 2), with the scale and the
/// bias of the model's self-attention or, where they differ, of its cross-attention.
std::size_t add_dot_product(Graph& graph, const ModelShapes& model, const std::string& scope, bool cross,
                            const std::vector<std::size_t>& inputs, const std::string& scores,
                            const std::string& context) {
  auto node = graph.add("matmul: Q K\u1d40", Kind::attention, {scores}, {inputs[0], inputs[1]});
  const std::string width = model.text("score_width");  // stated where it is not d_k
  if (model.text("score_scale") != "1")
    node = graph.add("scale: / \u221a" + (width.empty() ? "d_k" : width), Kind::other, {}, {node});
  const std::string positions = cross ? "" : model.text("positions");
  if (positions.ends_with("buckets")) {
    // The layers of a stack share the table of its first.
    const std::string table = scope.substr(0, scope.find('/')) + "/relative_bias/weight";
    node = graph.add("add the bias of the distance", Kind::other, {model.shape(table)}, {node});
  } else if (positions == "alibi") {
    node = graph.add("subtract slope \u00d7 distance", Kind::other, {"a slope for each head"}, {node});
  }
  const std::string seen = cross ? "" : model.seen(scope);
  const auto mask = graph.add("mask: -\u221e for hidden keys", Kind::other,
                              seen.empty() ? std::vector<std::string>{} : std::vector{seen}, {node});
  const auto softmax = graph.add("softmax over the keys", Kind::other, {scores}, {mask});
  return graph.add("matmul: weights V", Kind::attention, {context}, {softmax, inputs[2]});
}

/// By which positions turn, and where bases differ between layers, that of this one.
std::vector<std::string> rotation(const ModelShapes& model, const std::string& scope) {
  std::vector<std::string> lines{model.with_part("by position")};
  const std::string local = model.text("rope_local_base");  // stated where it is another one
  if (local.empty()) return lines;
  const std::string base = model.window(scope).empty() ? model.text("rope_base") : local;
  lines.push_back("base " + (base.empty() ? "10000.0" : base));
  return lines;
}

/// "[head 4, query 7, key 9]": the shape for one sentence and layer.
std::string shape_of(const Tensor& tensor) {
  std::string text;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
    const std::string dim = i < tensor.dims().size() ? tensor.dims()[i] : "";
    if (dim == "sentence" || dim == "layer") continue;
    const bool is_named = !dim.empty() && !dim.starts_with("dim_");
    text += concat(text.empty() ? "[" : ", ", is_named ? dim + " " : "", tensor.shape()[i]);
  }
  return text + "]";
}

}  // namespace

Graph multi_head_graph(const ModelShapes& model, const std::string& scope) {
  if (!model.has(scope + "/query/weight")) fail("the model has no attention /", escaped(scope));
  if (!model.has(scope + "/value/weight")) fail("/", escaped(scope), " is not a multi-head attention");
  const bool cross = scope.find("cross") != std::string::npos;
  Graph graph;
  graph.title = scope;
  const std::string heads = model.text("n_heads");
  const std::string kv_heads = model.text("n_kv_heads");
  graph.subtitle = concat("multi-head attention, ", heads, " heads in parallel",
                          kv_heads.empty() ? "" : concat(", ", kv_heads, " of keys and values"));
  const std::string width = concat("[position, ", model.size(scope + "/query/weight", 0), "]");
  std::vector<std::size_t> projected;
  for (const std::string name : {"query", "key", "value"}) {
    const bool of_encoder = cross && name != "query";
    const auto input = graph.add(of_encoder ? "encoder states" : "states of the layer", Kind::data, {width});
    auto node =
        graph.add("linear: " + name, Kind::linear, {model.shape(scope + "/" + name + "/weight")}, {input});
    if (model.has(scope + "/" + name + "_norm/gamma"))
      node = graph.add("RMS norm", Kind::norm, {"of each head"}, {node});
    if (name != "value" && !cross && model.text("positions").starts_with("rotary"))
      node = graph.add("rotate", Kind::other, rotation(model, scope), {node});
    projected.push_back(node);
  }
  const auto context =
      add_dot_product(graph, model, scope, cross, projected, concat("[head ", heads, ", query, key]"),
                      concat("[head ", heads, ", query, d_k]"));
  const std::string side_by_side = concat("[position, ", model.size(scope + "/output/weight", 0), "]");
  const auto concatenated = graph.add("concatenate heads", Kind::other, {side_by_side}, {context});
  graph.add("linear: output", Kind::linear, {model.shape(scope + "/output/weight")}, {concatenated});
  return graph;
}

Graph steps_graph(const TensorMap& map, const std::string& name) {
  const std::string group = name.empty() ? "attention" : without_root(name);
  const Tensor* scores = map.find(in_group(group, "scores"));
  const Tensor* weights = map.find(in_group(group, "weights"));
  if (!scores || !weights) {
    fail(
        "--graph needs a model file, a folder with the model of another program, or the steps of an "
        "attention (attend --steps): there is neither /model/config nor /",
        escaped(group), "/scores");
  }
  const auto stated = map.groups.find(group);
  // Empty: it does not say which.
  const std::string score =
      stated == map.groups.end() ? "" : text_attribute(stated->second.attributes, "score");
  const bool is_scaled = score == "scaled-dot";
  const auto setting = [&](const char* attribute) {  // 0: it was left as it is
    if (stated == map.groups.end()) return 0.0;
    const auto found = stated->second.attributes.find(attribute);
    const double* number =
        found == stated->second.attributes.end() ? nullptr : std::get_if<double>(&found->second);
    return number ? *number : 0.0;
  };
  const double factor = setting("score_scale");
  const bool is_turned = setting("rotary") > 0;
  Graph graph;
  graph.title = is_scaled       ? "Scaled dot-product attention"
                : score.empty() ? "Attention"
                                : concat("Attention (", score, ")");
  graph.subtitle = group + ", of each sentence and layer";
  const auto shape = [&](const std::string& tensor) {
    const Tensor* found = map.find(in_group(group, tensor));
    return found ? shape_of(*found) : "";
  };
  const auto has = [&](const std::string& tensor) { return map.contains(in_group(group, tensor)); };
  std::vector<std::size_t> vectors;
  for (const auto& [titles, letter, role] :
       {std::tuple("queries", " Q", "query"), {"keys", " K", "key"}, {"values", " V", "value"}}) {
    const std::string weight = concat("parameters/", role, "/weight"), vector = concat(role, "_vector");
    const bool is_projected = has(weight);
    graph.inputs.push_back(graph.add(concat(titles, is_projected ? "" : letter), Kind::data,
                                     {is_projected ? "" : shape(vector)}));
    vectors.push_back(graph.inputs.back());
    if (is_projected)
      vectors.back() = graph.add(concat("linear: ", role, letter), Kind::linear,
                                 {"W " + shape(weight), shape(vector)}, {vectors.back()});
    if (is_turned && vectors.size() < 3)
      vectors.back() = graph.add("rotate", Kind::other, {"by position"}, {vectors.back()});
  }
  const std::string by_keys = shape_of(*scores);
  const bool is_product = is_scaled || score == "dot";
  auto node = graph.add(is_product      ? "matmul: Q K\u1d40"
                        : score.empty() ? "score"
                                        : "score: " + score,
                        Kind::attention, {by_keys}, {vectors[0], vectors[1]});
  if (factor > 0)
    node = graph.add("scale: \u00d7 " + shortest(factor), Kind::other, {}, {node});
  else if (is_scaled)
    node = graph.add("scale: / \u221ad_k", Kind::other, {}, {node});
  for (const auto& [tensor, title] : {std::pair("capped", "cap: c tanh(score / c)"),
                                      {"biased", "add the bias"},
                                      {"tempered", "divide by the temperature"}})
    if (has(tensor)) node = graph.add(title, Kind::other, {}, {node});
  node = graph.add("mask: -\u221e for hidden keys", Kind::other, {}, {node});
  node = graph.add("softmax over the keys", Kind::other, {by_keys}, {node});
  if (has("probabilities")) node = graph.add("weights: window, or the chosen key", Kind::other, {}, {node});
  const bool has_heads = has("head_context");
  node = graph.add("matmul: weights V", Kind::attention, {shape(has_heads ? "head_context" : "context")},
                   {node, vectors[2]});
  const auto head = std::ranges::find(scores->dims(), "head");
  const bool has_several = head != scores->dims().end() &&
                           scores->shape()[static_cast<std::size_t>(head - scores->dims().begin())] > 1;
  if (has_several && has("context"))
    node = graph.add("concatenate heads", Kind::other, {shape("context")}, {node});
  if (has("output"))
    graph.add(
        "linear: output", Kind::linear,
        {has("parameters/output/weight") ? "W " + shape("parameters/output/weight") : "", shape("output")},
        {node});
  return graph;
}

}  // namespace heed::draw
