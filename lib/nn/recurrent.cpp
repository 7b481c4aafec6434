#include "nn/recurrent.h"

#include <algorithm>

#include "autograd/ops.h"
#include "base/error.h"
#include "nn/cell_observer.h"

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

constexpr const char* kSeesCell[] = {"input", "forget", "output"};  ///< gates with a peephole

template <class T>
CellParameters<T> cell_parameters(const Scope<T>& scope, const RecurrentSizes& sizes) {
  Scope<T> recurrent = scope / "recurrent";
  CellParameters<T> p;
  p.cell = cell_of(sizes.cell);
  p.recurrent = recurrent.stacked(sizes.gates(), "weight");
  if (p.cell == Cell::gru_reset_after) p.candidate_bias = recurrent.parameter("candidate/bias");
  for (int i = 0; sizes.peepholes && i < 3; ++i)
    p.peepholes[i] = (scope / "peephole" / kSeesCell[i]).parameter("weight");
  if (sizes.layer_norm) {
    p.norm = scope.parameter("recurrent_norm/gamma");
    if (p.cell == Cell::lstm) {
      p.cell_gamma = scope.parameter("cell_norm/gamma");
      p.cell_beta = scope.parameter("cell_norm/beta");
    }
  }
  if (sizes.dropout > 0) p.drop = scope.dropout(sizes.dropout);
  return p;
}

/// W x + b of all gates, or LN(W x) + b, which is named.
template <class T>
Var<T> gate_input(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x) {
  Scope<T> in = scope / "input";
  const std::vector<std::string> names = sizes.gates();
  Var<T> weight = in.stacked(names, "weight"), bias = in.stacked(names, "bias"), all;
  if (!sizes.layer_norm) return linear(x, weight, bias);
  const std::int64_t d = sizes.d_hidden;
  Var<T> gamma = scope.parameter("input_norm/gamma");
  for (GateRange gates : normed_together(cell_of(sizes.cell))) {
    auto part = [&](Var<T> v) { return scope.tape().columns(v, gates.first * d, gates.count * d); };
    Var<T> normed =
        add_layer_norm(linear(x, part(weight), {}), {}, {}, part(gamma), part(bias), kNormEpsilon<T>).output;
    for (std::int64_t i = 0; scope.pass().at_step && i < gates.count; ++i)
      (scope / "input_norm")
          .name_in_place(names[static_cast<std::size_t>(gates.first + i)],
                         scope.tape().mutable_value(normed).columns(i * d, d), *scope.pass().at_step);
    all = all ? side_by_side(all, normed) : normed;
  }
  return all;
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
  const std::int64_t sums = h * static_cast<std::int64_t>(sizes.gates().size());
  if (sizes.peepholes) {
    if (sizes.cell != "lstm") fail<UsageError>("peepholes: only the lstm has them, not ", sizes.cell);
    for (const char* gate : kSeesCell)
      parameters.add(scope + "/peephole/" + gate + "/weight", {h}, init.bias);
  }
  if (sizes.layer_norm) {
    parameters.add(scope + "/input_norm/gamma", {sums}, Init::ones());
    parameters.add(scope + "/recurrent_norm/gamma", {sums}, Init::ones());
    if (sizes.cell == "lstm") {
      parameters.add(scope + "/cell_norm/gamma", {h}, Init::ones());
      parameters.add(scope + "/cell_norm/beta", {h}, Init::zeros());
    }
  }
  if (sizes.learned_start) parameters.add(scope + "/start", {sizes.state_width()}, Init::zeros());
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
  return cell_(input, state, extra, cell_observer<T>(scope_, sizes_, [this](std::size_t) {
                 if (!scope_.pass().at_step) fail(scope_.path(), ": was named outside of a step");
                 return *scope_.pass().at_step;
               }));
}

template <class T>
Var<T> RecurrentSteps<T>::hidden(Var<T> state) const {
  return sizes_.cell == "lstm" ? scope_.tape().columns(state, 0, sizes_.d_hidden) : state;
}

template <class T>
RecurrentOutput<T> recurrent(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x,
                             const Packing& rows, Direction direction, Var<T> first, Var<T> extra) {
  const StepOrder order(rows, direction, scope.pass().continuation);
  // Taken into time order while it is narrow, before the product.
  Var<T> input = select_rows<T>({x}, order.to_time_order());
  {
    const AtStep<T> all(scope.pass(), order.rows_of_all(rows));
    input = gate_input(scope, sizes, input);
  }
  if (extra) extra = select_rows<T>({extra}, order.to_time_order());
  if (first) {
    first = select_rows<T>({first}, order.to_first_step());
  } else if (sizes.learned_start) {
    first = select_rows<T>({scope.parameter("start")},
                           std::vector<RowOf>(static_cast<std::size_t>(rows.sentences())));
  }
  const CellObserver<T> observer = cell_observer<T>(scope, sizes, [&order, &rows](std::size_t t) {
    return order.rows_of(static_cast<std::int64_t>(t), rows);
  });
  Var<T> states = cell_layer(cell_parameters(scope, sizes), input, order.firsts(), first, extra, observer);
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
