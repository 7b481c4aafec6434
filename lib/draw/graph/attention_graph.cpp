// Graphs of an attention, operation by operation.
#include "base/error.h"
#include "draw/graph/model_graph.h"
#include "draw/select/tensors.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;

/// Scaled dot-product attention of queries, keys and values (Vaswani et al. 2017, figure 2).
std::size_t add_dot_product(Graph& graph, const std::vector<std::size_t>& inputs, const std::string& scores,
                            const std::string& context) {
  const auto product = graph.add("matmul: Q K\u1d40", Kind::attention, {scores}, {inputs[0], inputs[1]});
  const auto scale = graph.add("scale: / \u221ad_k", Kind::other, {}, {product});
  const auto mask = graph.add("mask: -\u221e for hidden keys", Kind::other, {}, {scale});
  const auto softmax = graph.add("softmax over the keys", Kind::other, {scores}, {mask});
  return graph.add("matmul: weights V", Kind::attention, {context}, {softmax, inputs[2]});
}

/// "[sentence 2, head 4, query 7, key 9]"
std::string shape_of(const Tensor& tensor) {
  std::string text;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
    const std::string name = i < tensor.dims().size() ? tensor.dims()[i] + " " : "";
    text += (text.empty() ? "[" : ", ") + name + std::to_string(tensor.shape()[i]);
  }
  return text + "]";
}

}  // namespace

Graph multi_head_graph(const ModelShapes& model, const std::string& scope) {
  if (!model.has(scope + "/query/weight")) fail("the model has no attention /", escaped(scope));
  if (!model.has(scope + "/value/weight")) fail("/", escaped(scope), " is no multi-head attention");
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
    if (name != "value" && !cross && model.text("positions") == "rotary")
      node = graph.add("rotate", Kind::other, {"by position"}, {node});
    projected.push_back(node);
  }
  const auto context = add_dot_product(graph, projected, concat("[head ", heads, ", query, key]"),
                                       concat("[head ", heads, ", query, d_k]"));
  const std::string side_by_side = concat("[position, ", model.size(scope + "/output/weight", 0), "]");
  const auto concatenated = graph.add("concatenate heads", Kind::other, {side_by_side}, {context});
  graph.add("linear: output", Kind::linear, {model.shape(scope + "/output/weight")}, {concatenated});
  return graph;
}

Graph steps_graph(const TensorMap& map, const std::string& name) {
  const std::string group = name.empty() ? "attention" : path_of(name);
  const Tensor* scores = map.find(in_group(group, "scores"));
  const Tensor* weights = map.find(in_group(group, "weights"));
  if (!scores || !weights) {
    fail(
        "--graph wants a model file, or the steps of an attention (attend --steps): there is neither "
        "/model/config nor /",
        escaped(group), "/scores");
  }
  Graph graph;
  graph.title = "Scaled dot-product attention";
  graph.subtitle = group;
  const auto shape = [&](const char* tensor) {
    const Tensor* found = map.find(in_group(group, tensor));
    return found ? shape_of(*found) : "";
  };
  std::vector<std::size_t> inputs;
  for (const auto& [title, tensor] :
       {std::pair("queries Q", "query_vector"), {"keys K", "key_vector"}, {"values V", "value_vector"}})
    inputs.push_back(graph.add(title, Kind::data, {shape(tensor)}));
  const bool has_heads = map.contains(in_group(group, "head_context"));
  const auto context =
      add_dot_product(graph, inputs, shape_of(*scores), shape(has_heads ? "head_context" : "context"));
  if (map.contains(in_group(group, "output")))
    graph.add("linear: output", Kind::linear, {shape("output")}, {context});
  return graph;
}

}  // namespace heed::draw
