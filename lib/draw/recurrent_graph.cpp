#include "draw/recurrent_graph.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;
using Way = Graph::Way;

std::string cell_of(const ModelShapes& model) {
  std::string cell = model.text("cell");
  std::transform(cell.begin(), cell.end(), cell.begin(), [](unsigned char c) { return std::toupper(c); });
  return cell;
}

/// From decoder states to a word.
void add_output(Graph& graph, const ModelShapes& model, int lane, std::size_t from) {
  const std::size_t linear =
      graph.add(lane, "linear to words", Kind::linear, {model.shape("decoder/output/weight")});
  const std::size_t softmax = graph.add(lane, "softmax", Kind::other);
  const std::size_t word =
      graph.add(lane, "word y_i", Kind::data, {concat("[", model.text("target_vocab_size"), "]")});
  graph.connect(from, linear);
  graph.connect(linear, softmax);
  graph.connect(softmax, word);
}

}  // namespace

Graph bahdanau_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden");
  Graph graph;
  graph.title = "Bahdanau: align and translate";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", hidden, " units each way");
  const std::size_t source = graph.add(0, "source words x_1 .. x_T", Kind::data, {"[position]"});
  const std::size_t embedding =
      graph.add(0, "embedding", Kind::linear, {model.shape("encoder/embedding/weight")});
  const std::string one_way = "[position, " + hidden + "]";
  const std::size_t forward = graph.add(0, cell_of(model) + ", left to right", Kind::recurrent, {one_way});
  const std::size_t backward =
      graph.add(1, cell_of(model) + ", right to left", Kind::recurrent, {one_way}, graph.nodes[forward].row);
  const std::string both = std::to_string(model.size("decoder/layer_0/cross_attention/key/weight", 0));
  const std::size_t states =
      graph.add(0, "annotations h_j, both side by side", Kind::data, {"[position, " + both + "]"});
  const std::size_t scores = graph.add(2, "scores e_ij = v\u00b7tanh(W s_i-1 + U h_j)", Kind::attention,
                                       {"W " + model.shape("decoder/layer_0/cross_attention/query/weight"),
                                        "U " + model.shape("decoder/layer_0/cross_attention/key/weight")},
                                       graph.nodes[states].row);
  const std::size_t weights = graph.add(2, "softmax over j: \u03b1_ij", Kind::other, {"[position]"});
  const std::size_t context =
      graph.add(2, "context c_i = \u03a3 \u03b1_ij h_j", Kind::attention, {"[" + both + "]"});
  const std::size_t last = graph.add(3, "last word y_i-1", Kind::data, {"[1]"});
  const std::size_t embedded =
      graph.add(3, "embedding", Kind::linear, {model.shape("decoder/embedding/weight")});
  const std::size_t state = graph.add(3, cell_of(model) + ": state s_i", Kind::recurrent,
                                      {"[" + hidden + "]"}, graph.nodes[context].row);
  const std::size_t readout =
      graph.add(3, "maxout of s_i, y_i-1, c_i", Kind::linear, {model.shape("decoder/readout/state/weight")});
  graph.connect(source, embedding);
  graph.connect(embedding, forward);
  graph.connect(embedding, backward);
  graph.connect(forward, states);
  graph.connect(backward, states);
  graph.connect(states, scores);
  graph.connect(scores, weights);
  graph.connect(weights, context);
  graph.connect(context, state);
  graph.connect(context, readout);
  graph.connect(last, embedded);
  graph.connect(embedded, state);
  graph.connect(state, readout);
  graph.connect(state, scores, Way::back);
  graph.connect(embedded, readout, Way::skip);
  add_output(graph, model, 3, readout);
  return graph;
}

Graph sutskever_graph(const ModelShapes& model) {
  Graph graph;
  graph.title = "Sequence to sequence through one vector";
  const std::string hidden = model.text("d_hidden"), layers = model.text("n_layers");
  graph.subtitle = concat(cell_of(model), " of ", layers, " layers of ", hidden, " units");
  const bool reversed = model.flag("reverse_source", false);
  const std::size_t source = graph.add(0, reversed ? "source words x_T .. x_1" : "source words x_1 .. x_T",
                                       Kind::data, {"[position]"});
  const std::size_t embedding =
      graph.add(0, "embedding", Kind::linear, {model.shape("encoder/embedding/weight")});
  const std::size_t encoder = graph.add(0, cell_of(model), Kind::recurrent, {"[position, " + hidden + "]"});
  graph.plates.push_back({0, graph.nodes[encoder].row, graph.nodes[encoder].row, "\u00d7 " + layers});
  const std::size_t vector =
      graph.add(0, "last states", Kind::data, {concat("[layer ", layers, ", ", hidden, "]")});
  const std::size_t last = graph.add(1, "last word y_i-1", Kind::data, {"[1]"});
  const std::size_t embedded =
      graph.add(1, "embedding", Kind::linear, {model.shape("decoder/embedding/weight")});
  const std::size_t decoder =
      graph.add(1, cell_of(model), Kind::recurrent, {"[" + hidden + "]"}, graph.nodes[vector].row + 1);
  graph.plates.push_back({1, graph.nodes[decoder].row, graph.nodes[decoder].row, "\u00d7 " + layers});
  graph.connect(source, embedding);
  graph.connect(embedding, encoder);
  graph.connect(encoder, vector);
  graph.connect(vector, decoder);
  graph.connect(last, embedded);
  graph.connect(embedded, decoder);
  add_output(graph, model, 1, decoder);
  return graph;
}

}  // namespace heed::draw
