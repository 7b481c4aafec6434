#include "draw/recurrent_graph.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;
using Way = Graph::Way;

std::string cell_of(const ModelShapes& model, const std::string& field = "cell") {
  std::string cell = model.text(field);
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

/// Source words and their embeddings; returns the latter.
std::size_t add_source(Graph& graph, const ModelShapes& model) {
  const bool reversed = model.flag("reverse_source", false);
  const std::size_t source = graph.add(0, reversed ? "source words x_T .. x_1" : "source words x_1 .. x_T",
                                       Kind::data, {"[position]"});
  const std::size_t embedding =
      graph.add(0, "embedding", Kind::linear, {model.shape("encoder/embedding/weight")});
  graph.connect(source, embedding);
  return embedding;
}

/// The last word and its embedding; returns the latter.
std::size_t add_last_word(Graph& graph, const ModelShapes& model, int lane) {
  const std::size_t last = graph.add(lane, "last word y_i-1", Kind::data, {"[1]"});
  const std::size_t embedded =
      graph.add(lane, "embedding", Kind::linear, {model.shape("decoder/embedding/weight")});
  graph.connect(last, embedded);
  return embedded;
}

/// How Luong's decoder compares its state s_i with h_j.
std::string luong_score(const std::string& score) {
  if (score == "general") return "scores e_ij = s_i\u00b7W h_j";
  if (score == "concat") return "scores e_ij = v\u00b7tanh(W [s_i; h_j])";
  if (score == "additive") return "scores e_ij = v\u00b7tanh(W s_i + U h_j)";
  if (score == "location") return "scores e_i = W s_i";
  return "scores e_ij = s_i\u00b7h_j";
}

}  // namespace

Graph bahdanau_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden");
  Graph graph;
  graph.title = "Bahdanau: align and translate";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", hidden, " units each way");
  const std::size_t embedding = add_source(graph, model);
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
  const std::size_t embedded = add_last_word(graph, model, 3);
  const std::size_t state = graph.add(3, cell_of(model) + ": state s_i", Kind::recurrent,
                                      {"[" + hidden + "]"}, graph.nodes[context].row);
  const std::size_t readout =
      graph.add(3, "maxout of s_i, y_i-1, c_i", Kind::linear, {model.shape("decoder/readout/state/weight")});
  graph.connect(embedding, forward);
  graph.connect(embedding, backward);
  graph.connect(forward, states);
  graph.connect(backward, states);
  graph.connect(states, scores);
  graph.connect(scores, weights);
  graph.connect(weights, context);
  graph.connect(context, state);
  graph.connect(context, readout);
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
  const std::size_t embedding = add_source(graph, model);
  const std::size_t encoder = graph.add(0, cell_of(model), Kind::recurrent, {"[position, " + hidden + "]"});
  graph.plates.push_back({0, graph.nodes[encoder].row, graph.nodes[encoder].row, "\u00d7 " + layers});
  const std::size_t vector =
      graph.add(0, "last states", Kind::data, {concat("[layer ", layers, ", ", hidden, "]")});
  const std::size_t embedded = add_last_word(graph, model, 1);
  const std::size_t decoder =
      graph.add(1, cell_of(model), Kind::recurrent, {"[" + hidden + "]"}, graph.nodes[vector].row + 1);
  graph.plates.push_back({1, graph.nodes[decoder].row, graph.nodes[decoder].row, "\u00d7 " + layers});
  graph.connect(embedding, encoder);
  graph.connect(encoder, vector);
  graph.connect(vector, decoder);
  graph.connect(embedded, decoder);
  add_output(graph, model, 1, decoder);
  return graph;
}

Graph luong_graph(const ModelShapes& model) {
  const std::string layers = model.text("n_layers"), width = model.text("d_attentional");
  const bool both_ways = model.flag("bidirectional", false), feeds = model.flag("input_feeding", true);
  const std::string states_width = std::to_string(model.size("decoder/attentional/context/weight", 0)),
                    state_width = std::to_string(model.size("decoder/attentional/state/weight", 0));
  Graph graph;
  graph.title = "Luong: look with the state, then add the context";
  graph.subtitle = concat("step i of the decoder; ", model.text("attention"), " attention",
                          feeds ? "; blue: input feeding" : "");
  const std::size_t embedding = add_source(graph, model);
  const std::size_t encoder = graph.add(0, cell_of(model) + (both_ways ? ", both ways" : ""), Kind::recurrent,
                                        {"[position, " + states_width + "]"});
  graph.plates.push_back({0, graph.nodes[encoder].row, graph.nodes[encoder].row, "\u00d7 " + layers});
  const std::size_t states = graph.add(0, "states h_j", Kind::data, {"[position, " + states_width + "]"});
  const std::size_t embedded = add_last_word(graph, model, 2);
  const std::size_t state = graph.add(2, cell_of(model) + ": state s_i", Kind::recurrent,
                                      {"[" + state_width + "]"}, graph.nodes[encoder].row);
  graph.plates.push_back({2, graph.nodes[state].row, graph.nodes[state].row, "\u00d7 " + layers});
  std::vector<std::string> parameters;
  const std::string score = model.shape("decoder/layer_0/cross_attention/score/weight");
  if (!score.empty()) parameters.push_back(score);
  const std::size_t scores =
      graph.add(1, luong_score(model.text("score")), Kind::attention, parameters, graph.nodes[states].row);
  const std::size_t weights = graph.add(1, "softmax over j: \u03b1_ij", Kind::other, {"[position]"});
  const std::size_t context =
      graph.add(1, "context c_i = \u03a3 \u03b1_ij h_j", Kind::attention, {"[" + states_width + "]"});
  const std::size_t attentional =
      graph.add(2, "tanh(W [c_i; s_i])", Kind::linear, {"[" + width + "]"}, graph.nodes[context].row);
  graph.connect(embedding, encoder);
  graph.connect(encoder, states);
  graph.connect(states, scores);
  graph.connect(embedded, state);
  graph.connect(state, scores);
  graph.connect(scores, weights);
  graph.connect(weights, context);
  graph.connect(context, attentional);
  graph.connect(state, attentional);
  if (feeds) graph.connect(attentional, state, Way::skip);
  add_output(graph, model, 2, attentional);
  return graph;
}

Graph cho_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden");
  Graph graph;
  graph.title = "Encoder and decoder with one vector between";
  graph.subtitle = concat("step i of the decoder; ", hidden, " units");
  const std::size_t embedding = add_source(graph, model);
  const std::size_t encoder = graph.add(0, cell_of(model), Kind::recurrent, {"[position, " + hidden + "]"});
  const std::size_t summary =
      graph.add(0, "summary c = tanh(V h_T)", Kind::linear, {model.shape("encoder/summary/weight")});
  const std::size_t embedded = add_last_word(graph, model, 1);
  const std::size_t state = graph.add(1, cell_of(model, "decoder_cell") + ": state s_i", Kind::recurrent,
                                      {"[" + hidden + "]"}, graph.nodes[summary].row + 1);
  const std::size_t readout =
      graph.add(1, "maxout of s_i, y_i-1, c", Kind::linear, {model.shape("decoder/readout/state/weight")});
  graph.connect(embedding, encoder);
  graph.connect(encoder, summary);
  graph.connect(summary, state);
  graph.connect(summary, readout);
  graph.connect(embedded, state);
  graph.connect(state, readout);
  graph.connect(embedded, readout, Way::skip);
  add_output(graph, model, 1, readout);
  return graph;
}

}  // namespace heed::draw
