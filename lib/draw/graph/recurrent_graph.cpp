// Graphs of the recurrent models; decoders are shown at one step i. Shapes come from the model's parameters.
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "draw/graph/model_graph.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;
using Flow = Graph::Flow;

std::string cell_of(const ModelShapes& model, const std::string& field = "cell") {
  std::string cell = model.text(field);
  std::transform(cell.begin(), cell.end(), cell.begin(), [](unsigned char c) { return std::toupper(c); });
  return cell;
}

/// "2 layers of ", or "" for one.
std::string layers_of(const std::string& layers) {
  return layers == "1" ? "" : layers + " layers of ";
}

/// Adds a plate around the node, which represents this number of layers.
void add_plate(Graph& graph, std::size_t node, const std::string& layers) {
  if (!layers.empty() && layers != "1") graph.plates.push_back({node, node + 1, "\u00d7 " + layers});
}

/// From a decoder state to the next word.
void add_output(Graph& graph, const ModelShapes& model, std::size_t from) {
  const auto linear =
      graph.add("linear to words", Kind::linear, {model.shape("decoder/output/weight")}, {from});
  const auto softmax = graph.add("softmax", Kind::other, {}, {linear});
  graph.add("word y_i", Kind::data, {concat("[", model.text("target_vocab_size"), "]")}, {softmax});
}

/// The embedding of the previous word.
std::size_t add_previous_word(Graph& graph, const ModelShapes& model) {
  const auto word = graph.add("previous word y_i-1", Kind::data, {"[1]"});
  return graph.add("embedding", Kind::linear, {model.shape("decoder/embedding/weight")}, {word});
}

/// The embeddings of the source words.
std::size_t add_source(Graph& graph, const ModelShapes& model) {
  const bool reversed = model.flag("reverse_source", false);
  const auto words =
      graph.add(reversed ? "source words x_T .. x_1" : "source words x_1 .. x_T", Kind::data, {"[position]"});
  return graph.add("embedding", Kind::linear, {model.shape("encoder/embedding/weight")}, {words});
}

/// A bidirectional encoder; returns the node of its states, `name`.
std::size_t add_bidirectional(Graph& graph, const ModelShapes& model, const std::string& name) {
  const auto embedding = add_source(graph, model);
  const std::string hidden = model.text("d_hidden"), shape = "[position, " + hidden + "]";
  const auto forward = graph.add(cell_of(model) + ", left to right", Kind::recurrent, {shape}, {embedding});
  const auto backward = graph.add(cell_of(model) + ", right to left", Kind::recurrent, {shape}, {embedding});
  return graph.add(name + ", both directions concatenated", Kind::data,
                   {"[position, 2 \u00b7 " + hidden + "]"}, {forward, backward});
}

/// Places of an image; returns the node of their annotations, `name`.
std::size_t add_annotated_places(Graph& graph, const ModelShapes& model, const std::string& name) {
  const auto places = add_places(graph, model);
  return graph.add(name + ": ReLU of a linear layer of the ReLU", Kind::linear,
                   {model.shape("encoder/layer_0/annotation/weight")}, {places});
}

/// An encoder that reads left to right; returns the node of its states.
std::size_t add_unidirectional(Graph& graph, const ModelShapes& model) {
  const auto embedding = add_source(graph, model);
  const auto encoder =
      graph.add(cell_of(model), Kind::recurrent, {"[position, " + model.text("d_hidden") + "]"}, {embedding});
  add_plate(graph, encoder, model.text("n_layers"));
  return encoder;
}

struct AttentionNodes {
  std::size_t scores = 0, context = 0;
};

/// Scores, softmax and context over the encoder's states.
AttentionNodes add_attention(Graph& graph, std::size_t states, const std::string& scores,
                             std::vector<std::string> shapes, const std::string& context) {
  const auto scored = graph.add(scores, Kind::attention, std::move(shapes), {states});
  const auto weights = graph.add("softmax over j: \u03b1_ij", Kind::other, {"[position]"}, {scored});
  return {scored, graph.add(context, Kind::attention, {}, {weights, states})};
}

/// A model that attends with its previous state: a bidirectional encoder, additive scores, a readout for the
/// output word.
Graph attending_graph(const ModelShapes& model, const std::string& title, const std::string& annotations,
                      const std::string& scores, const std::string& context, const std::string& state_name,
                      const std::string& readout_name, const std::string& readout_letter) {
  const std::string align = "decoder/layer_0/cross_attention/";
  const bool of_places = model.has("encoder/patches/weight");
  Graph graph;
  graph.title = title;
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", model.text("d_hidden"),
                          of_places ? " units" : " units each way");
  const auto states = of_places ? add_annotated_places(graph, model, annotations)
                                : add_bidirectional(graph, model, annotations);
  const auto attention = add_attention(
      graph, states, scores,
      {"W " + model.shape(align + "query/weight"), "U " + model.shape(align + "key/weight")}, context);
  const auto embedded = add_previous_word(graph, model);
  const auto state = graph.add(cell_of(model) + ": state " + state_name, Kind::recurrent,
                               {"[" + model.text("d_hidden") + "]"}, {attention.context, embedded});
  const auto readout =
      graph.add(readout_name, Kind::linear, {readout_letter + model.shape("decoder/readout/state/weight")},
                {attention.context, state});
  graph.connect(state, attention.scores, Flow::recurrent);
  graph.connect(embedded, readout, Flow::skip);
  add_output(graph, model, readout);
  return graph;
}

/// Bahdanau et al. 2015.
Graph bahdanau_graph(const ModelShapes& model) {
  return attending_graph(model, "Bahdanau: align and translate", "annotations h_j",
                         "scores e_ij = v\u00b7tanh(W s_i-1 + U h_j)", "context c_i = \u03a3 \u03b1_ij h_j",
                         "s_i", "maxout of s_i, y_i-1, c_i", "");
}

/// Soft or hard attention, additive readout (Xu et al. 2015).
Graph xu_graph(const ModelShapes& model) {
  const bool hard = model.text("attend_to") == "drawn", gate = model.flag("context_gate", false);
  const std::string each = model.has("encoder/patches/weight") ? "place" : "word";
  return attending_graph(
      model,
      hard ? concat("Xu: hard attention to one ", each) : concat("Xu: soft attention to all ", each, "s"),
      "annotations a_j", "scores e_ij = v\u00b7tanh(W h_i-1 + U a_j + b)",
      concat("context z_i = ", gate ? "\u03b2_i " : "",
             hard ? "a_j of one sampled j" : "\u03a3 \u03b1_ij a_j"),
      "h_i", "sum of y_i-1, L h_i, L' z_i", "L ");
}

/// A score function as graphs write it: its equation, and its matrices with their letters.
struct Score {
  const char* name;
  const char* equation;
  std::vector<std::pair<const char*, const char*>> matrices;
};

/// Stacked layers; the decoder attends with its current state, input feeding (Luong et al. 2015).
Graph luong_graph(const ModelShapes& model) {
  const std::string layers = model.text("n_layers"), score = model.text("score");
  const auto depth = parse_number<std::int64_t>(layers);
  if (!depth || *depth < 1)
    fail("/model/config: n_layers is '", escaped(layers), "', wanted the number of layers, 1 or more");
  const bool both = model.flag("bidirectional", false);
  Graph graph;
  graph.title = "Luong: attention after the recurrence";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", layers_of(layers),
                          model.text("d_hidden"), both ? " units each way" : " units");
  const auto states = both ? add_bidirectional(graph, model, "states h_j") : add_unidirectional(graph, model);
  if (both && layers != "1") graph.nodes[states].lines.push_back(concat("the last of ", layers, " layers"));
  const auto embedded = add_previous_word(graph, model);
  const auto state = graph.add(cell_of(model) + ": state s_i", Kind::recurrent,
                               {"s_0: the encoder's last states"}, {embedded});
  add_plate(graph, state, layers);

  const std::string align = concat("decoder/layer_", *depth - 1, "/cross_attention/");
  const Score scores[] = {{"dot", "= s_i\u00b7h_j", {}},
                          {"general", "= s_i\u00b7W h_j", {{"W ", "score"}}},
                          {"location", "= W s_i", {{"W ", "score"}}},
                          {"concat", "= v\u00b7tanh(W [s_i; h_j])", {{"W ", "concat"}}},
                          {"additive", "= v\u00b7tanh(W s_i + U h_j)", {{"W ", "query"}, {"U ", "key"}}}};
  std::string title = "scores e_ij: " + score;  // of a score without an equation here
  std::vector<std::string> shapes;
  for (const Score& known : scores) {
    if (score != known.name) continue;
    title = concat("scores ", score == "location" ? "e_i " : "e_ij ", known.equation);
    for (const auto& [letter, parameter] : known.matrices) {
      shapes.push_back(letter + model.shape(align + parameter + "/weight"));
    }
  }
  const std::string window = model.text("window");
  if (model.text("attention") == "local-m")
    shapes.push_back(concat("for j from i - ", window, " to i + ", window));
  if (model.text("attention") == "local-p") {
    shapes.push_back(concat("for j from p_i - ", window, " to p_i + ", window, ", p_i predicted"));
  }
  const auto attention = add_attention(graph, states, title, shapes, "context c_i = \u03a3 \u03b1_ij h_j");
  graph.connect(state, attention.scores);
  const auto attentional = graph.add("tanh(W [c_i; s_i])", Kind::linear,
                                     {"W's halves " + model.shape("decoder/attentional/state/weight")},
                                     {attention.context, state});
  if (model.flag("input_feeding", false)) graph.connect(attentional, state, Flow::recurrent);
  add_output(graph, model, attentional);
  return graph;
}

/// Every step of the decoder reads one summary of the source (Cho et al. 2014).
Graph cho_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden");
  Graph graph;
  graph.title = "Cho: one summary for every step";
  graph.subtitle = concat("step i of the decoder; ", cell_of(model), " of ", hidden, " units");
  const auto encoder = add_unidirectional(graph, model);
  const auto summary = graph.add("summary c = tanh(V h_T)", Kind::linear,
                                 {"V " + model.shape("encoder/summary/weight")}, {encoder});
  const auto embedded = add_previous_word(graph, model);
  const auto state = graph.add(cell_of(model, "decoder_cell") + ": state s_i", Kind::recurrent,
                               {"[" + hidden + "]", "s_0 = tanh(V' c)"}, {summary, embedded});
  const auto readout = graph.add("maxout of s_i, y_i-1, c", Kind::linear,
                                 {model.shape("decoder/readout/state/weight")}, {summary, state});
  graph.connect(embedded, readout, Flow::skip);
  add_output(graph, model, readout);
  return graph;
}

/// The last states of a deep encoder are the first of a deep decoder (Sutskever et al. 2014).
Graph sutskever_graph(const ModelShapes& model) {
  const std::string hidden = model.text("d_hidden"), layers = model.text("n_layers");
  Graph graph;
  graph.title = "Sutskever: sequence to sequence";
  graph.subtitle = concat(cell_of(model), " of ", layers_of(layers), hidden, " units");
  const auto encoder = add_unidirectional(graph, model);
  const auto last_states =
      graph.add("last states", Kind::data, {concat("[layer ", layers, ", ", hidden, "]")}, {encoder});
  const auto embedded = add_previous_word(graph, model);
  const auto decoder =
      graph.add(cell_of(model), Kind::recurrent, {"[" + hidden + "]"}, {last_states, embedded});
  add_plate(graph, decoder, layers);
  add_output(graph, model, decoder);
  return graph;
}

/// One level of a hierarchy: a bidirectional layer over `from`, and attention that pools its states into one
/// vector.
std::size_t add_level(Graph& graph, const ModelShapes& model, std::size_t from, const std::string& read,
                      const std::string& attention, const std::string& letter, const std::string& vector) {
  const std::string hidden = model.text("d_hidden");
  const auto states = graph.add(concat(cell_of(model), " over the ", read, ", both directions"),
                                Kind::recurrent, {"[" + read + ", 2 \u00b7 " + hidden + "]"}, {from});
  const auto scores = graph.add(
      concat("scores u\u00b7tanh(W h + b) of the ", read), Kind::attention,
      {"W " + model.shape(attention + "/query/weight"), "u " + model.shape(attention + "/score/weight")},
      {states});
  const auto weights = graph.add("softmax: " + letter, Kind::other, {"[" + read + "]"}, {scores});
  return graph.add(concat(vector, " = \u03a3 ", letter, " h"), Kind::attention, {}, {weights, states});
}

/// Words, then sentences (Yang et al. 2016).
Graph han_graph(const ModelShapes& model) {
  Graph graph;
  graph.title = "Yang: hierarchical attention";
  graph.subtitle =
      concat(cell_of(model), " of ", model.text("d_hidden"), " units each way, of words and of sentences");
  const auto words = graph.add("words of a sentence", Kind::data, {"[words]"});
  const auto embedding =
      graph.add("embedding", Kind::linear, {model.shape("encoder/embedding/weight")}, {words});
  const auto sentence =
      add_level(graph, model, embedding, "words", "word_attention", "\u03b1_it", "sentence vector s_i");
  graph.plates.push_back({words, graph.nodes.size(), "\u00d7 sentences"});
  const auto document =
      add_level(graph, model, sentence, "sentences", "sentence_attention", "\u03b1_i", "document vector v");
  const auto classes =
      graph.add("linear to classes", Kind::linear, {model.shape("classes/weight")}, {document});
  const auto softmax = graph.add("softmax", Kind::other, {}, {classes});
  graph.add("class", Kind::data, {"[" + model.text("n_classes") + "]"}, {softmax});
  return graph;
}

}  // namespace

std::optional<Graph> recurrent_graph(const ModelShapes& model, const std::string& architecture) {
  if (architecture == "bahdanau") return bahdanau_graph(model);
  if (architecture == "cho") return cho_graph(model);
  if (architecture == "luong") return luong_graph(model);
  if (architecture == "xu") return xu_graph(model);
  if (architecture == "sutskever") return sutskever_graph(model);
  if (architecture == "han") return han_graph(model);
  return std::nullopt;
}

}  // namespace heed::draw
