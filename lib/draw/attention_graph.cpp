#include "draw/attention_graph.h"

#include <algorithm>

#include "base/error.h"
#include "draw/select.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;

/// Box by box up from queries and keys; values join at the sum (Vaswani et al. 2017, figure 2).
struct Shapes {
  std::string queries, keys, values, scores, context;
};

std::size_t add_dot_product(Graph& graph, const Shapes& shapes, std::size_t query, std::size_t key,
                            std::size_t value) {
  const int row = std::max({graph.top(0), graph.top(1), graph.top(2)});
  const std::size_t product = graph.add(0, "matmul: Q K\u1d40", Kind::attention, {shapes.scores}, row);
  const std::size_t scale = graph.add(0, "scale: / \u221ad_k", Kind::other);
  const std::size_t mask = graph.add(0, "mask (where a query may not look)", Kind::other);
  const std::size_t softmax = graph.add(0, "softmax over the keys", Kind::other, {shapes.scores});
  const std::size_t sum = graph.add(0, "matmul: weights V", Kind::attention, {shapes.context});
  graph.connect(query, product);
  graph.connect(key, product);
  graph.connect(product, scale);
  graph.connect(scale, mask);
  graph.connect(mask, softmax);
  graph.connect(softmax, sum);
  graph.connect(value, sum);
  return sum;
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
  graph.subtitle = concat("multi-head attention, ", heads, " heads side by side");
  const std::string width = concat("[position, ", model.size(scope + "/query/weight", 0), "]");
  const char* names[] = {"query", "key", "value"};
  std::size_t projected[3];
  for (int lane = 0; lane < 3; ++lane) {
    const std::string from = lane == 0 || !cross ? "states of the layer" : "encoder states";
    const std::size_t input = graph.add(lane, from, Kind::data, {width});
    projected[lane] = graph.add(lane, std::string("linear: ") + names[lane], Kind::linear,
                                {model.shape(scope + "/" + names[lane] + "/weight")});
    graph.connect(input, projected[lane]);
  }
  const Shapes shapes{"", "", "", concat("[head ", heads, ", query, key]"),
                      concat("[head ", heads, ", query, d_k]")};
  const std::size_t sum = add_dot_product(graph, shapes, projected[0], projected[1], projected[2]);
  const std::size_t heads_together = graph.add(0, "heads side by side", Kind::other, {width});
  const std::size_t output =
      graph.add(0, "linear: output", Kind::linear, {model.shape(scope + "/output/weight")});
  graph.connect(sum, heads_together);
  graph.connect(heads_together, output);
  return graph;
}

Graph steps_graph(const TensorMap& map, const std::string& name) {
  const std::string group = name.empty() ? "attention" : name.starts_with('/') ? name.substr(1) : name;
  const Tensor* scores = map.find(in_group(group, "scores"));
  const Tensor* weights = map.find(in_group(group, "weights"));
  if (!scores || !weights) {
    fail(
        "a graph is drawn of a model file, or of the stages of an attention (attend --steps): there is "
        "neither /model/config nor /",
        escaped(group), "/scores");
  }
  Graph graph;
  graph.title = "Scaled dot-product attention";
  graph.subtitle = group;
  const auto shape = [&](const char* tensor) {
    const Tensor* found = map.find(in_group(group, tensor));
    return found ? shape_of(*found) : "";
  };
  std::size_t inputs[3];
  const char* titles[] = {"queries Q", "keys K", "values V"};
  const char* names[] = {"query_vector", "key_vector", "value_vector"};
  for (int lane = 0; lane < 3; ++lane)
    inputs[lane] = graph.add(lane, titles[lane], Kind::data, {shape(names[lane])});
  std::string context = shape("head_context");
  if (context.empty()) context = shape("context");
  const std::size_t sum =
      add_dot_product(graph, {"", "", "", shape_of(*scores), context}, inputs[0], inputs[1], inputs[2]);
  if (map.contains(in_group(group, "output"))) {
    const std::size_t output = graph.add(0, "linear: output", Kind::linear, {shape("output")});
    graph.connect(sum, output);
  }
  return graph;
}

}  // namespace heed::draw
