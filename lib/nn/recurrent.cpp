#include "nn/recurrent.h"

#include <algorithm>

#include "autograd/ops.h"
#include "base/error.h"

namespace heed {

namespace {

struct NamedCell {
  const char* name;
  Cell cell;
};
constexpr NamedCell kCells[] = {
    {"gru", Cell::gru}, {"gru-reset-after", Cell::gru_reset_after}, {"lstm", Cell::lstm}, {"rnn", Cell::rnn}};

Cell cell_of(const std::string& name) {
  for (const NamedCell& named : kCells) {
    if (name == named.name) return named.cell;
  }
  fail("recurrent layer: no cell is named ", escaped(name));
}

template <class T>
CellParameters<T> cell_parameters(const Scope<T>& scope, const RecurrentSizes& sizes) {
  Scope<T> recurrent = scope / "recurrent";
  CellParameters<T> p;
  p.cell = cell_of(sizes.cell);
  p.recurrent = recurrent.stacked(sizes.gates(), "weight");
  if (p.cell == Cell::gru_reset_after) p.candidate_bias = recurrent.parameter("candidate/bias");
  return p;
}

template <class T>
Var<T> gate_input(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x) {
  Scope<T> in = scope / "input";
  return linear(x, in.stacked(sizes.gates(), "weight"), in.stacked(sizes.gates(), "bias"));
}

}  // namespace

std::vector<std::string> cell_names() {
  std::vector<std::string> names;
  for (const NamedCell& named : kCells) names.emplace_back(named.name);
  return names;
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
    : scope_(scope), sizes_(sizes), cell_(cell_parameters(scope, sizes), rows) {}

template <class T>
Var<T> RecurrentSteps<T>::input(Var<T> x) const {
  return gate_input(scope_, sizes_, x);
}

template <class T>
Var<T> RecurrentSteps<T>::step(Var<T> input, Var<T> state, Var<T> extra) {
  return cell_(input, state, extra);
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
  // Taken into time order while it is narrow, before the product.
  Var<T> input = gate_input(scope, sizes, select_rows<T>({x}, order.to_time_order()));
  if (extra) extra = select_rows<T>({extra}, order.to_time_order());
  if (first) first = select_rows<T>({first}, order.to_first_step());
  Var<T> states = cell_layer(cell_parameters(scope, sizes), input, order.firsts(), first, extra);
  Var<T> h = scope.tape().columns(states, 0, sizes.d_hidden);
  return {select_rows<T>({h}, order.from_time_order()), select_rows<T>({states}, order.to_last_step())};
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
