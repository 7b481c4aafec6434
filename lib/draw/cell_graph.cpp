#include "draw/cell_graph.h"

#include "base/error.h"

namespace heed::draw {
namespace {

using Kind = Graph::Kind;
using Way = Graph::Way;

/// Lane 0: what comes from the input; lane 1: what comes from the state, and the new state.
class CellGraph {
 public:
  CellGraph(const ModelShapes& model, const std::string& scope) : model_(model), scope_(scope) {
    const bool is_decoder = scope.starts_with("decoder/");
    cell_ = model.text(is_decoder && model.text("architecture") == "cho" ? "decoder_cell" : "cell");
    width_ = model.size(scope + "/recurrent/candidate/weight", 0);
    has_norm_ = model.has(scope + "/recurrent_norm/gamma");
    graph_.title = scope;
    if (model.has(scope + "/context/candidate/weight")) more_ = "context";
    if (model.has(scope + "/feed/candidate/weight")) more_ = "feed";
  }

  Graph draw() {
    if (cell_ == "rnn") rnn();
    if (cell_ == "gru") gru();
    if (cell_ == "gru-reset-after") gru_reset_after();
    if (cell_ == "lstm") lstm();
    if (graph_.nodes.empty()) fail("no graph of the cell '", escaped(cell_), "' is known");
    if (scope_.ends_with("/forward")) graph_.subtitle += "; the layer that reads backward is alike";
    return std::move(graph_);
  }

 private:
  std::size_t put(int lane, const std::string& title, Kind kind, std::vector<std::string> lines = {},
                  int row = -1) {
    return graph_.add(lane, title, kind, std::move(lines), row);
  }
  /// Above the last box of its lane, to which it is joined.
  std::size_t on(std::size_t below, const std::string& title, Kind kind,
                 std::vector<std::string> lines = {}) {
    const std::size_t box = put(graph_.nodes[below].lane, title, kind, std::move(lines));
    graph_.connect(below, box);
    return box;
  }
  void join(std::initializer_list<std::size_t> from, std::size_t to) {
    for (std::size_t box : from) graph_.connect(box, to);
  }
  int row(std::size_t box) const { return graph_.nodes[box].row; }
  int above(std::size_t a, std::size_t b) const { return std::max(row(a), row(b)) + 1; }
  std::string columns(int gates) const {
    return gates == 1 ? concat(width_) : concat(gates, "\u00b7", width_);
  }
  std::string vector(int gates = 1) const { return "[" + columns(gates) + "]"; }
  std::string matrix(const std::string& part, int gates) const {
    return concat(model_.size(scope_ + "/" + part + "/candidate/weight", 0), " \u00d7 ", columns(gates));
  }
  std::size_t normed(std::size_t box) { return has_norm_ ? on(box, "layer norm", Kind::norm) : box; }

  /// W x + b of all gates and, unless that goes elsewhere, what else enters them.
  std::size_t input(int gates, bool with_more = true) {
    const std::size_t x =
        put(0, "input x", Kind::data, {concat("[", model_.size(scope_ + "/input/candidate/weight", 0), "]")});
    std::size_t top = normed(on(x, "linear: W x + b", Kind::linear, {matrix("input", gates)}));
    if (more_.empty() || !with_more) return top;
    top = on(top, "add", Kind::other);
    graph_.connect(more(-1, gates), top);
    return top;
  }
  /// C c, or what is fed back, in a lane of its own.
  std::size_t more(int lane, int gates) {
    const bool fed = more_ == "feed";
    const std::size_t from =
        put(lane, fed ? "last attentional state h\u0303" : "context c", Kind::data,
            {concat("[", model_.size(scope_ + "/" + more_ + "/candidate/weight", 0), "]")});
    return on(from, fed ? "linear: V h\u0303" : "linear: C c", Kind::linear, {matrix(more_, gates)});
  }
  std::size_t state(int lane) { return put(lane, "state before, h'", Kind::data, {vector()}); }

  /// h = tanh(W x + U h' + b)
  void rnn() {
    graph_.subtitle = "a step of a tanh layer";
    const std::size_t x = input(1);
    const std::size_t u = normed(on(state(1), "linear: U h'", Kind::linear, {matrix("recurrent", 1)}));
    const std::size_t sum = put(1, "add", Kind::other, {vector()}, above(x, u));
    join({x, u}, sum);
    on(sum, "h = tanh", Kind::recurrent, {vector()});
  }

  /// h from z, the gate beside, g, the box below, and h'.
  void mix(std::size_t sums, std::size_t g, std::size_t h_before) {
    const std::size_t z = put(0, "update gate z = \u03c3", Kind::other, {vector()}, row(g) + 1);
    graph_.connect(sums, z);
    const std::size_t h =
        put(1, "h = (1 - z) \u2217 h' + z \u2217 g", Kind::recurrent, {vector()}, row(z) + 1);
    join({g, z, h_before}, h);
  }

  /// Cho et al. 2014, eq. 5-8.
  void gru() {
    graph_.subtitle = "a step of a GRU whose reset gate acts before the product (Cho et al. 2014)";
    const std::size_t x = input(3);
    const std::size_t h_before = state(2);
    std::size_t u = put(1, "linear: U h' of z and r", Kind::linear, {matrix("recurrent", 2)}, 1);
    graph_.connect(h_before, u);
    u = normed(u);
    const std::size_t sums = put(1, "add: sums of z and r", Kind::other, {vector(2)}, above(x, u));
    join({x, u}, sums);
    const std::size_t kept = on(on(sums, "reset gate r = \u03c3", Kind::other, {vector()}), "r \u2217 h'",
                                Kind::other, {vector()});
    graph_.connect(h_before, kept);
    const std::size_t inner =
        normed(on(kept, "linear: U (r \u2217 h')", Kind::linear, {matrix("recurrent", 1)}));
    const std::size_t g = on(inner, "g = tanh(W x + b + \u00b7)", Kind::other, {vector()});
    graph_.connect(x, g);
    mix(sums, g, h_before);
  }

  /// As PyTorch has it; in Cho's decoder the context is behind the reset gate too.
  void gru_reset_after() {
    graph_.subtitle = "a step of a GRU whose reset gate acts behind the product";
    const bool inside = model_.text("architecture") == "cho" && !more_.empty();
    const std::size_t x = input(3, !inside);
    const std::size_t h_before = state(2);
    std::size_t u = put(1, "linear: U h'", Kind::linear, {matrix("recurrent", 3)}, 1);
    graph_.connect(h_before, u);
    u = normed(u);
    if (inside) {
      u = on(u, "add", Kind::other);
      graph_.connect(more(3, 3), u);
    }
    const std::size_t sums = put(1, "add: sums of z and r", Kind::other, {vector(2)}, above(x, u));
    join({x, u}, sums);
    const std::size_t kept = on(on(sums, "reset gate r = \u03c3", Kind::other, {vector()}),
                                "r \u2217 (U h' + b')", Kind::other, {vector()});
    graph_.connect(u, kept, Way::skip);
    const std::size_t g = on(kept, "g = tanh(W x + b + \u00b7)", Kind::other, {vector()});
    graph_.connect(x, g);
    mix(sums, g, h_before);
  }

  /// Hochreiter, Schmidhuber 1997; with peepholes Gers, Schraudolph, Schmidhuber 2002.
  void lstm() {
    const bool peepholes = model_.has(scope_ + "/peephole/output/weight");
    graph_.subtitle = concat("a step of an LSTM", peepholes ? " with peepholes" : "");
    const std::size_t x = input(4);
    const std::size_t u = normed(on(state(1), "linear: U h'", Kind::linear, {matrix("recurrent", 4)}));
    const std::size_t c_before = put(2, "cell before, c'", Kind::data, {vector()});
    const std::size_t sums = put(0, "add: sums of i, f, o, g", Kind::other, {vector(4)}, above(x, u));
    join({x, u}, sums);
    const std::size_t g = on(sums, "g = tanh", Kind::other, {vector()});
    std::vector<std::string> lines{vector(2)};
    if (peepholes) lines.push_back(concat("of the sums + p \u2217 c', p ", vector()));
    const std::size_t gates = put(1, "input and forget gates i, f = \u03c3", Kind::other, lines, row(g));
    graph_.connect(sums, gates);
    if (peepholes) graph_.connect(c_before, gates);
    const std::size_t taken = on(g, "i \u2217 g", Kind::other, {vector()});
    const std::size_t kept = put(2, "f \u2217 c'", Kind::other, {vector()}, row(taken));
    join({gates}, taken);
    join({gates, c_before}, kept);
    const std::size_t c = put(1, "c = f \u2217 c' + i \u2217 g", Kind::recurrent, {vector()}, row(taken) + 1);
    join({taken, kept}, c);
    const std::size_t shown = on(normed(c), "tanh", Kind::other);
    if (peepholes) lines = {vector(), concat("of the sum + p \u2217 c, p ", vector())};
    const std::size_t o =
        put(-1, "output gate o = \u03c3", Kind::other, peepholes ? lines : std::vector{vector()}, row(shown));
    graph_.connect(sums, o);
    if (peepholes) graph_.connect(c, o);
    const std::size_t h = on(shown, "h = o \u2217 tanh(c)", Kind::recurrent, {vector()});
    graph_.connect(o, h);
  }

  const ModelShapes& model_;
  const std::string scope_;
  std::string cell_, more_;
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
