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

/// "2 layers of ", or nothing to say.
std::string layers_of(const std::string& layers) {
  return layers == "1" ? "" : layers + " layers of ";
}

/// A frame around the box that stands for so many layers, if they are several.
void frame_layers(Graph& graph, std::size_t box, const std::string& layers) {
  if (layers.empty() || layers == "1") return;
  const Graph::Node& node = graph.nodes[box];
  graph.plates.push_back({node.lane, node.row, node.row, "\u00d7 " + layers});
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

/// The words read so far, up to the last one's embedding; returns the embedding's box.
std::size_t add_last_word(Graph& graph, const ModelShapes& model, int lane) {
  const std::size_t last = graph.add(lane, "last word y_i-1", Kind::data, {"[1]"});
  const std::size_t embedded =
      graph.add(lane, "embedding", Kind::linear, {model.shape("decoder/embedding/weight")});
  graph.connect(last, embedded);
  return embedded;
}

/// The source words up to their embeddings, in lane 0.
std::size_t add_source(Graph& graph, const ModelShapes& model) {
  const bool reversed = model.flag("reverse_source", false);
  const std::size_t source = graph.add(0, reversed ? "source words x_T .. x_1" : "source words x_1 .. x_T",
                                       Kind::data, {"[position]"});
  const std::size_t embedding =
      graph.add(0, "embedding", Kind::linear, {model.shape("encoder/embedding/weight")});
  graph.connect(source, embedding);
  return embedding;
}

/// An encoder that reads both ways, in lanes 0 and 1; returns the box of its states, `name`.
std::size_t add_two_ways(Graph& graph, const ModelShapes& model, const std::string& name) {
  const std::size_t embedding = add_source(graph, model);
  const std::string hidden = model.text("d_hidden"), one_way = "[position, " + hidden + "]";
  const std::size_t forward = graph.add(0, cell_of(model) + ", left to right", Kind::recurrent, {one_way});
  const std::size_t backward =
      graph.add(1, cell_of(model) + ", right to left", Kind::recurrent, {one_way}, graph.nodes[forward].row);
  const std::size_t states =
      graph.add(0, name + ", both side by side", Kind::data, {"[position, 2 \u00b7 " + hidden + "]"});
  graph.connect(embedding, forward);
  graph.connect(embedding, backward);
  graph.connect(forward, states);
  graph.connect(backward, states);
  return states;
}

/// One that reads one way, in lane 0; returns the box of its states.
std::size_t add_one_way(Graph& graph, const ModelShapes& model) {
  const std::size_t embedding = add_source(graph, model);
  const std::size_t encoder =
      graph.add(0, cell_of(model), Kind::recurrent, {"[position, " + model.text("d_hidden") + "]"});
  frame_layers(graph, encoder, model.text("n_layers"));
  graph.connect(embedding, encoder);
  return encoder;
}

struct AttentionBoxes {
  std::size_t scores = 0, weights = 0, context = 0;
};

/// Scores, softmax and context in lane 2, beside and above the states that are looked at.
AttentionBoxes add_attention(Graph& graph, std::size_t states, const std::string& scores,
                             std::vector<std::string> shapes, const std::string& context) {
  AttentionBoxes boxes;
  boxes.scores = graph.add(2, scores, Kind::attention, std::move(shapes), graph.nodes[states].row);
  boxes.weights = graph.add(2, "softmax over j: \u03b1_ij", Kind::other, {"[position]"});
  boxes.context = graph.add(2, context, Kind::attention);
  graph.connect(states, boxes.scores);
  graph.connect(boxes.scores, boxes.weights);
  graph.connect(boxes.weights, boxes.context);
  return boxes;
}

const std::string kAlign = "decoder/layer_0/cross_attention/";

/// The decoder that looks before it steps, in lane 3: its state and what a word is chosen by.
void add_decoder(Graph& graph, const ModelShapes& model, const AttentionBoxes& attention,
                 const std::string& state_name, const std::string& readout_name,
                 const std::string& readout_shape) {
  const std::size_t embedded = add_last_word(graph, model, 3);
  const std::size_t state =
      graph.add(3, cell_of(model) + ": state " + state_name, Kind::recurrent,
                {"[" + model.text("d_hidden") + "]"}, graph.nodes[attention.context].row);
  const std::size_t readout = graph.add(3, readout_name, Kind::linear, {readout_shape});
  graph.connect(attention.context, state);
  graph.connect(attention.context, readout);
  graph.connect(embedded, state);
  graph.connect(state, readout);
  graph.connect(state, attention.scores, Way::back);
  graph.connect(embedded, readout, Way::skip);
  add_output(graph, model, 3, readout);
}

}  // namespace

Graph bahdanau_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden");
  Graph graph;
  graph.title = "Bahdanau: align and translate";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", hidden, " units each way");
  const std::size_t states = add_two_ways(graph, model, "annotations h_j");
  const AttentionBoxes attention =
      add_attention(graph, states, "scores e_ij = v\u00b7tanh(W s_i-1 + U h_j)",
                    {"W " + model.shape(kAlign + "query/weight"), "U " + model.shape(kAlign + "key/weight")},
                    "context c_i = \u03a3 \u03b1_ij h_j");
  add_decoder(graph, model, attention, "s_i", "maxout of s_i, y_i-1, c_i",
              model.shape("decoder/readout/state/weight"));
  return graph;
}

Graph xu_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden");
  const bool drawn = model.text("attend_to") == "drawn", gate = model.flag("context_gate", false);
  Graph graph;
  graph.title = drawn ? "Xu: attend to one word" : "Xu: attend to all words";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", hidden, " units each way");
  const std::size_t states = add_two_ways(graph, model, "annotations a_j");
  const AttentionBoxes attention =
      add_attention(graph, states, "scores e_ij = v\u00b7tanh(W h_i-1 + U a_j + b)",
                    {"W " + model.shape(kAlign + "query/weight"), "U " + model.shape(kAlign + "key/weight")},
                    concat("context z_i = ", gate ? "\u03b2_i " : "",
                           drawn ? "a_j of the one j drawn" : "\u03a3 \u03b1_ij a_j"));
  add_decoder(graph, model, attention, "h_i", "sum of y_i-1, L h_i, L' z_i",
              "L " + model.shape("decoder/readout/state/weight"));
  return graph;
}

Graph luong_graph(const ModelShapes& model) {
  const std::string layers = model.text("n_layers"), score = model.text("score");
  const bool both = model.flag("bidirectional", false);
  Graph graph;
  graph.title = "Luong: attention behind the recurrence";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", layers_of(layers),
                          model.text("d_hidden"), both ? " units each way" : " units");
  const std::size_t states = both ? add_two_ways(graph, model, "states h_j") : add_one_way(graph, model);
  if (both && layers != "1") graph.nodes[states].lines.push_back(concat("of ", layers, " such layers"));
  const std::size_t embedded = add_last_word(graph, model, 3);
  const std::size_t state = graph.add(3, cell_of(model) + ": state s_i", Kind::recurrent,
                                      {"starts from the encoder's last states"});
  frame_layers(graph, state, layers);

  const std::string align = concat("decoder/layer_", std::stoll(layers) - 1, "/cross_attention/");
  std::string title = score == "dot" ? "scores e_ij = s_i\u00b7h_j" : "scores e_ij: " + score;
  std::vector<std::string> shapes;
  if (score == "general")
    title = "scores e_ij = s_i\u00b7W h_j", shapes = {"W " + model.shape(align + "score/weight")};
  if (score == "location")
    title = "scores e_i = W s_i", shapes = {"W " + model.shape(align + "score/weight")};
  if (score == "concat") {
    title = "scores e_ij = v\u00b7tanh(W [s_i; h_j])", shapes = {"W " + model.shape(align + "concat/weight")};
  }
  if (score == "additive") {
    title = "scores e_ij = v\u00b7tanh(W s_i + U h_j)";
    shapes = {"W " + model.shape(align + "query/weight"), "U " + model.shape(align + "key/weight")};
  }
  const std::string window = model.text("window");
  if (model.text("attention") == "local-m")
    shapes.push_back(concat("for j from i - ", window, " to i + ", window));
  if (model.text("attention") == "local-p") {
    shapes.push_back(concat("for j from p_i - ", window, " to p_i + ", window, ", p_i predicted"));
  }
  const AttentionBoxes attention =
      add_attention(graph, states, title, shapes, "context c_i = \u03a3 \u03b1_ij h_j");
  const std::size_t attentional = graph.add(3, "tanh(W [c_i; s_i])", Kind::linear,
                                            {"W's halves " + model.shape("decoder/attentional/state/weight")},
                                            graph.nodes[attention.context].row + 1);
  graph.connect(embedded, state);
  graph.connect(state, attention.scores);
  graph.connect(state, attentional);
  graph.connect(attention.context, attentional);
  if (model.flag("input_feeding", false)) graph.connect(attentional, state, Way::back);
  add_output(graph, model, 3, attentional);
  return graph;
}

Graph cho_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden");
  Graph graph;
  graph.title = "Cho: one summary for every step";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", hidden, " units");
  const std::size_t encoder = add_one_way(graph, model);
  const std::size_t summary =
      graph.add(0, "summary c = tanh(V h_T)", Kind::linear, {"V " + model.shape("encoder/summary/weight")});
  const std::size_t embedded = add_last_word(graph, model, 1);
  const std::size_t state = graph.add(1, cell_of(model, "decoder_cell") + ": state s_i", Kind::recurrent,
                                      {"[" + hidden + "]", "s_0 = tanh(V' c)"}, graph.nodes[summary].row + 1);
  const std::size_t readout =
      graph.add(1, "maxout of s_i, y_i-1, c", Kind::linear, {model.shape("decoder/readout/state/weight")});
  graph.connect(encoder, summary);
  graph.connect(summary, state);
  graph.connect(summary, readout);
  graph.connect(embedded, state);
  graph.connect(state, readout);
  graph.connect(embedded, readout, Way::skip);
  add_output(graph, model, 1, readout);
  return graph;
}

Graph sutskever_graph(const ModelShapes& model) {
  Graph graph;
  graph.title = "Sequence to sequence through one vector";
  const std::string hidden = model.text("d_hidden"), layers = model.text("n_layers");
  graph.subtitle = concat(cell_of(model), " of ", layers_of(layers), hidden, " units");
  const std::size_t encoder = add_one_way(graph, model);
  const std::size_t vector =
      graph.add(0, "last states", Kind::data, {concat("[layer ", layers, ", ", hidden, "]")});
  const std::size_t embedded = add_last_word(graph, model, 1);
  const std::size_t decoder =
      graph.add(1, cell_of(model), Kind::recurrent, {"[" + hidden + "]"}, graph.nodes[vector].row + 1);
  frame_layers(graph, decoder, layers);
  graph.connect(encoder, vector);
  graph.connect(vector, decoder);
  graph.connect(embedded, decoder);
  add_output(graph, model, 1, decoder);
  return graph;
}

}  // namespace heed::draw
