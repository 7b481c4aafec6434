// Graphs of recurrent layers.
#include "base/error.h"
#include "draw/graph/model_graph.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;
using Flow = Graph::Flow;

class CellGraph {
 public:
  CellGraph(const ModelShapes& model, const std::string& scope) : model_(model), scope_(scope) {
    const bool is_decoder = scope.starts_with("decoder/");
    cell_ = model.text(is_decoder && model.text("architecture") == "cho" ? "decoder_cell" : "cell");
    width_ = model.size(scope + "/recurrent/candidate/weight", 0);
    has_norm_ = model.has(scope + "/recurrent_norm/gamma");
    graph_.title = scope;
    for (const char* part : {"context", "feed"})
      if (model.has(scope + "/" + part + "/candidate/weight")) more_ = part;
  }

  Graph draw() {
    if (cell_ == "rnn") rnn();
    if (cell_ == "gru") gru();
    if (cell_ == "gru-reset-after") gru_reset_after();
    if (cell_ == "lstm") lstm();
    if (graph_.nodes.empty()) fail("there is no graph for the cell '", escaped(cell_), "'");
    if (scope_.ends_with("/forward")) graph_.subtitle += "; the backward layer has the same form";
    return std::move(graph_);
  }

 private:
  using Nodes = std::vector<std::size_t>;

  std::string columns(int gates) const {
    return gates == 1 ? concat(width_) : concat(gates, "\u00b7", width_);
  }
  std::string vector(int gates = 1) const { return "[" + columns(gates) + "]"; }
  std::string input_width(const std::string& part) const {
    return concat(model_.size(scope_ + "/" + part + "/candidate/weight", 0));
  }

  /// An elementwise operation.
  std::size_t op(const std::string& title, const Nodes& from, std::vector<std::string> lines) {
    return graph_.add(title, Kind::other, std::move(lines), from);
  }
  std::size_t op(const std::string& title, const Nodes& from) { return op(title, from, {vector()}); }
  std::size_t linear(const std::string& title, std::size_t from, const std::string& part, int gates) {
    return graph_.add("linear: " + title, Kind::linear, {input_width(part) + " \u00d7 " + columns(gates)},
                      {from});
  }
  std::size_t normed(std::size_t node) {
    return has_norm_ ? graph_.add("layer norm", Kind::norm, {}, {node}) : node;
  }

  /// W x + b of all gates, with the context or the fed-back state unless that enters elsewhere.
  std::size_t input(int gates, bool with_more = true) {
    const auto x = graph_.add("input x", Kind::data, {"[" + input_width("input") + "]"});
    const auto product = normed(linear("W x + b", x, "input", gates));
    return more_.empty() || !with_more ? product : op("add", {product, more(gates)}, {});
  }
  /// C c, or V h~ of what is fed back.
  std::size_t more(int gates) {
    const bool fed = more_ == "feed";
    const auto from = graph_.add(fed ? "previous attentional state h\u0303" : "context c", Kind::data,
                                 {"[" + input_width(more_) + "]"});
    return linear(fed ? "V h\u0303" : "C c", from, more_, gates);
  }
  std::size_t previous_state() { return graph_.add("previous state h'", Kind::data, {vector()}); }

  /// h = tanh(W x + U h' + b)
  void rnn() {
    graph_.subtitle = "one step of a tanh layer";
    const auto x = input(1);
    const auto u = normed(linear("U h'", previous_state(), "recurrent", 1));
    graph_.add("h = tanh", Kind::recurrent, {vector()}, {op("add", {x, u})});
  }

  /// h from the update gate, the candidate g and h'.
  void interpolate(std::size_t sums, std::size_t g, std::size_t h_before) {
    const auto z = op("update gate z = \u03c3", {sums});
    graph_.add("h = (1 - z) \u2217 h' + z \u2217 g", Kind::recurrent, {vector()}, {g, z, h_before});
  }

  /// Cho et al. 2014, eq. 5-8.
  void gru() {
    graph_.subtitle = "one step of a GRU with the reset gate before the product (Cho et al. 2014)";
    const auto x = input(3);
    const auto h_before = previous_state();
    const auto u = normed(linear("U h' of z and r", h_before, "recurrent", 2));
    const auto sums = op("add: sums of z and r", {x, u}, {vector(2)});
    const auto kept = op("r \u2217 h'", {op("reset gate r = \u03c3", {sums}), h_before});
    const auto inner = normed(linear("U (r \u2217 h')", kept, "recurrent", 1));
    interpolate(sums, op("g = tanh(W x + b + \u00b7)", {inner, x}), h_before);
  }

  /// As in PyTorch; in Cho's decoder the reset gate acts on the context, too.
  void gru_reset_after() {
    graph_.subtitle = "one step of a GRU with the reset gate after the product";
    const bool inside = model_.text("architecture") == "cho" && !more_.empty();
    const auto x = input(3, !inside);
    const auto h_before = previous_state();
    auto u = normed(linear("U h'", h_before, "recurrent", 3));
    if (inside) u = op("add", {u, more(3)}, {});
    const auto sums = op("add: sums of z and r", {x, u}, {vector(2)});
    const auto kept = op("r \u2217 (U h' + b')", {op("reset gate r = \u03c3", {sums})});
    graph_.connect(u, kept, Flow::skip);
    interpolate(sums, op("g = tanh(W x + b + \u00b7)", {kept, x}), h_before);
  }

  /// Hochreiter, Schmidhuber 1997; with peepholes Gers, Schraudolph, Schmidhuber 2002.
  void lstm() {
    const bool peepholes = model_.has(scope_ + "/peephole/output/weight");
    graph_.subtitle = concat("one step of an LSTM", peepholes ? " with peepholes" : "");
    const auto x = input(4);
    const auto u = normed(linear("U h'", previous_state(), "recurrent", 4));
    const auto c_before = graph_.add("previous cell c'", Kind::data, {vector()});
    const auto sums = op("add: sums of i, f, o, g", {x, u}, {vector(4)});
    const auto g = op("g = tanh", {sums});
    std::vector<std::string> lines{vector(2)};
    if (peepholes) lines.push_back(concat("of the sums + p \u2217 c', p ", vector()));
    const auto gates = op("input and forget gates i, f = \u03c3", {sums}, lines);
    if (peepholes) graph_.connect(c_before, gates);
    const auto written = op("i \u2217 g", {g, gates});
    const auto kept = op("f \u2217 c'", {gates, c_before});
    const auto c = graph_.add("c = f \u2217 c' + i \u2217 g", Kind::recurrent, {vector()}, {written, kept});
    const auto squashed = op("tanh", {normed(c)}, {});
    lines = {vector()};
    if (peepholes) lines.push_back(concat("of the sum + p \u2217 c, p ", vector()));
    const auto o = op("output gate o = \u03c3", {sums}, lines);
    if (peepholes) graph_.connect(c, o);
    graph_.add("h = o \u2217 tanh(c)", Kind::recurrent, {vector()}, {squashed, o});
  }

  const ModelShapes& model_;
  const std::string scope_;
  std::string cell_, more_;  ///< more_: the scope of a third input beside x and h', if there is one
  std::int64_t width_ = 0;
  bool has_norm_ = false;
  Graph graph_;
};

}  // namespace

std::string recurrent_scope(const ModelShapes& model, const std::string& scope) {
  for (const char* part : {"", "/state", "/forward"})
    if (model.has(scope + part + "/recurrent/candidate/weight")) return scope + part;
  return "";
}

Graph cell_graph(const ModelShapes& model, const std::string& scope) {
  return CellGraph(model, scope).draw();
}

}  // namespace heed::draw
