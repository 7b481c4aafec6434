#include "nn/recurrent.h"

#include <algorithm>

#include "autograd/ops.h"

namespace heed {

namespace {

/// The candidate of a GRU has a product with U of its own: r enters before or behind it.
bool has_candidate_product(const RecurrentSizes& sizes) {
  return sizes.cell == "gru" || sizes.cell == "gru-reset-after";
}

/// The gates that add U h' as it is.
std::vector<std::string> direct_gates(const RecurrentSizes& sizes) {
  std::vector<std::string> gates = sizes.gates();
  if (has_candidate_product(sizes)) gates.pop_back();
  return gates;
}

}  // namespace

std::vector<std::string> cell_names() {
  return {"gru", "gru-reset-after", "lstm", "rnn"};
}

std::vector<std::string> RecurrentSizes::gates() const {
  if (cell == "rnn") return {"candidate"};
  if (cell == "lstm") return {"input", "forget", "output", "candidate"};
  return {"update", "reset", "candidate"};
}

template <class T>
void add_recurrent(ParameterSet<T>& parameters, const std::string& scope, const RecurrentSizes& sizes,
                   std::int64_t d_in, const RecurrentInit& init) {
  const std::int64_t h = sizes.d_hidden;
  parameters.add_stacked(scope + "/input", sizes.gates(), d_in, h, init.input, init.bias);
  parameters.add_stacked(scope + "/recurrent", sizes.gates(), h, h, init.recurrent, std::nullopt);
  if (sizes.cell == "gru-reset-after") parameters.add(scope + "/recurrent/candidate/bias", {h}, init.bias);
}

template <class T>
void add_gate_input(ParameterSet<T>& parameters, const std::string& scope, const std::string& part,
                    const RecurrentSizes& sizes, std::int64_t d_in, Init init) {
  parameters.add_stacked(scope + "/" + part, sizes.gates(), d_in, sizes.d_hidden, init, std::nullopt);
}

template <class T>
RecurrentSteps<T>::RecurrentSteps(const Scope<T>& scope, const RecurrentSizes& sizes, std::int64_t rows)
    : scope_(scope),
      sizes_(sizes),
      gates_((scope / "recurrent").stacked(direct_gates(sizes), "weight"), rows),
      candidate_(
          (scope / "recurrent").parameter("candidate/weight"), has_candidate_product(sizes) ? rows : 0,
          sizes.cell == "gru-reset-after" ? (scope / "recurrent").parameter("candidate/bias") : Var<T>()) {}

template <class T>
Var<T> RecurrentSteps<T>::input(Var<T> x) const {
  Scope<T> in = scope_ / "input";
  return linear(x, in.stacked(sizes_.gates(), "weight"), in.stacked(sizes_.gates(), "bias"));
}

template <class T>
Var<T> RecurrentSteps<T>::step(Var<T> x, Var<T> state, Var<T> inside) {
  Tape<T>& tape = scope_.tape();
  const std::int64_t d = sizes_.d_hidden;
  Var<T> h = hidden(state);
  if (sizes_.cell == "rnn") return activate(Activation::tanh, gates_(h, x));
  if (sizes_.cell == "lstm") return lstm_cell(gates_(h, x), tape.columns(state, d, d));

  Var<T> zr = activate(Activation::sigmoid, gates_(h, tape.columns(x, 0, 2 * d)));
  Var<T> z = tape.columns(zr, 0, d), r = tape.columns(zr, d, d), w = tape.columns(x, 2 * d, d);
  Var<T> sum = sizes_.cell == "gru" ? candidate_(multiply(r, h), w) : multiply(r, candidate_(h, inside), w);
  return interpolate(z, h, activate(Activation::tanh, sum));
}

template <class T>
Var<T> RecurrentSteps<T>::hidden(Var<T> state) const {
  return sizes_.cell == "lstm" ? scope_.tape().columns(state, 0, sizes_.d_hidden) : state;
}

template <class T>
Var<T> RecurrentSteps<T>::zeros(std::int64_t n) const {
  const Matrix<T> zero = scope_.tape().arena().template matrix<T>(n, sizes_.state_width());
  std::fill_n(zero.data, zero.size(), T{0});
  return scope_.tape().constant(zero);
}

template <class T>
RecurrentOutput<T> recurrent(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x,
                             const Packing& rows, Direction direction, Var<T> first, Var<T> extra) {
  const StepOrder order(rows, direction);
  Tape<T>& tape = scope.tape();
  RecurrentSteps<T> layer(scope, sizes, order.rows());
  Var<T> input = layer.input(x);
  Var<T> inside;
  if (extra && sizes.cell == "gru-reset-after") {
    const std::int64_t d = sizes.d_hidden;
    auto part = [&](Var<T> v, std::int64_t first_gate, std::int64_t gates) {
      return select_rows<T>({tape.columns(v, first_gate * d, gates * d)}, order.to_time_order());
    };
    input = side_by_side(add(part(input, 0, 2), part(extra, 0, 2)), part(input, 2, 1));
    inside = part(extra, 2, 1);
  } else {
    if (extra) input = add(input, extra);
    input = select_rows<T>({input}, order.to_time_order());
  }
  Var<T> state = first ? select_rows<T>({first}, order.to_first_step()) : layer.zeros(rows.sentences());
  std::vector<Var<T>> states, hidden;
  for (std::int64_t t = 0; t < order.steps(); ++t) {
    const std::int64_t n = order.active(t);
    auto of_step = [&](Var<T> v) { return v ? tape.row_range(v, order.first(t), n) : v; };
    state = layer.step(of_step(input), tape.row_range(state, 0, n), of_step(inside));
    states.push_back(state);
    hidden.push_back(layer.hidden(state));
  }
  return {select_rows(hidden, order.to_packed()), select_rows(states, order.to_last_step())};
}

#define HEED_INSTANTIATE(T)                                                                              \
  template void add_recurrent(ParameterSet<T>&, const std::string&, const RecurrentSizes&, std::int64_t, \
                              const RecurrentInit&);                                                     \
  template void add_gate_input(ParameterSet<T>&, const std::string&, const std::string&,                 \
                               const RecurrentSizes&, std::int64_t, Init);                               \
  template class RecurrentSteps<T>;                                                                      \
  template RecurrentOutput<T> recurrent(const Scope<T>&, const RecurrentSizes&, Var<T>, const Packing&,  \
                                        Direction, Var<T>, Var<T>);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
