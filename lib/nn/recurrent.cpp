#include "nn/recurrent.h"

#include <algorithm>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"

namespace heed {

namespace {

/// Whether a layer with these options has a parameter of its cell.
bool has(const RecurrentSizes& sizes, const CellParameter& parameter) {
  return parameter.when == CellParameter::When::always || sizes.peepholes;
}

template <class T>
CellParameters<T> cell_parameters(const Scope<T>& scope, const RecurrentSizes& sizes) {
  CellParameters<T> p;
  p.cell = &cell_named(sizes.cell);
  p.recurrent = (scope / "recurrent").stacked(sizes.gates(), "weight");
  for (const CellParameter& own : p.cell->parameters)
    p.own.push_back(has(sizes, own) ? scope.parameter(own.name) : Var<T>());
  if (sizes.layer_norm) {
    p.norm = scope.parameter("recurrent_norm/gamma");
    if (!p.cell->norm.empty()) {
      p.own_gamma = scope.parameter(p.cell->norm + "/gamma");
      p.own_beta = scope.parameter(p.cell->norm + "/beta");
    }
  }
  if (sizes.dropout > 0) p.drop = scope.dropout(sizes.dropout);
  return p;
}

/// The observer of a layer's steps; `rows(step)` describes the rows of a step. Empty if nothing of the cell
/// is recorded or edited.
template <class T>
CellObserver<T> cell_observer(const Scope<T>& scope, const RecurrentSizes& sizes,
                              std::function<StepRows(std::size_t step)> rows) {
  if (!scope.pass().recorder && !scope.pass().editor) return {};
  const Cell& cell = cell_named(sizes.cell);
  std::vector<std::string> names = cell.states;
  names.push_back(cell.norm + "/output");
  for (const std::string& gate : cell.gates) names.insert(names.end(), {gate, "recurrent_norm/" + gate});
  CellObserver<T> observer;
  bool inspected = false;
  for (const std::string& name : names) {
    inspected = inspected || scope.inspected(name);
    observer.changes = observer.changes || scope.edits(name);
  }
  if (!inspected) return {};
  observer.observe = [=](std::size_t step, const std::string& name, Matrix<T> value) {
    scope.name_in_place(name, value, rows(step));
  };
  return observer;
}

/// W x + b of all gates, or LN(W x) + b, which is named.
template <class T>
Var<T> gate_input(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x) {
  Scope<T> in = scope / "input";
  const std::vector<std::string>& names = sizes.gates();
  Var<T> weight = in.stacked(names, "weight"), bias = in.stacked(names, "bias"), all;
  if (!sizes.layer_norm) return linear(x, weight, bias);
  const std::int64_t d = sizes.d_hidden;
  Var<T> gamma = scope.parameter("input_norm/gamma");
  for (GateRange gates : cell_named(sizes.cell).normed_together) {
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

/// The initial states of a layer that is given none, one row per sequence, named start; none if they are
/// neither recorded nor edited. Sequences that continue others are parts of a document, which is named as a
/// whole.
template <class T>
Var<T> named_start(const Scope<T>& scope, const RecurrentSizes& sizes, std::int64_t sequences) {
  if (scope.pass().continuation || !scope.inspected("start")) return {};
  Var<T> start;
  if (sizes.learned_start) {
    start =
        select_rows<T>({scope.parameter("start")}, std::vector<RowOf>(static_cast<std::size_t>(sequences)));
  } else {
    start = scope.tape().result(sequences, sizes.state_width());
    std::fill_n(scope.tape().mutable_value(start).row(0), sequences * sizes.state_width(), T{0});
  }
  return scope.name_sentences("start", start);
}

/// The gates' input of all steps, in time order; x is reordered before the product, while it is narrow.
template <class T>
Var<T> input_in_time(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x, const StepOrder& order,
                     const Packing& rows) {
  x = select_rows<T>({x}, order.to_time_order());
  const AtStep<T> all(scope.pass(), order.rows_of_all(rows));
  return gate_input(scope, sizes, x);
}

}  // namespace

template <class T>
void add_recurrent(ParameterSet<T>& parameters, const std::string& scope, const RecurrentSizes& sizes,
                   std::int64_t d_in, const RecurrentInit& init) {
  const std::int64_t h = sizes.d_hidden;
  parameters.add_stacked(scope + "/input", sizes.gates(), d_in, h, init.input, init.bias);
  parameters.add_stacked(scope + "/recurrent", sizes.gates(), h, h, init.recurrent, std::nullopt);
  const Cell& cell = cell_named(sizes.cell);
  if (sizes.peepholes && !cell.has_peepholes())
    fail<UsageError>("peepholes: only the lstm has them, not ", sizes.cell);
  for (const CellParameter& own : cell.parameters)
    if (has(sizes, own)) parameters.add(scope + "/" + own.name, {h}, init.bias);
  if (sizes.layer_norm) {
    parameters.add(scope + "/input_norm/gamma", {h * cell.gate_count()}, Init::ones());
    parameters.add(scope + "/recurrent_norm/gamma", {h * cell.gate_count()}, Init::ones());
    if (!cell.norm.empty()) {
      parameters.add(scope + "/" + cell.norm + "/gamma", {h}, Init::ones());
      parameters.add(scope + "/" + cell.norm + "/beta", {h}, Init::zeros());
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
Var<T> RecurrentSteps<T>::input(Var<T> x, const StepOrder& order, const Packing& rows) const {
  return input_in_time(scope_, sizes_, x, order, rows);
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
  return state.cols() > sizes_.d_hidden ? scope_.tape().columns(state, 0, sizes_.d_hidden) : state;
}

template <class T>
RecurrentOutput<T> recurrent(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x,
                             const Packing& rows, Direction direction, Var<T> first, Var<T> extra) {
  const StepOrder order(rows, direction, scope.pass().continuation);
  const Var<T> input = input_in_time(scope, sizes, x, order, rows);
  if (extra) extra = select_rows<T>({extra}, order.to_time_order());
  if (!first) first = named_start(scope, sizes, rows.sentences());
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

template <class T>
StackOutput<T> recurrent_stack(const Scope<T>& scope, const RecurrentSizes& sizes, std::int64_t from,
                               std::int64_t to, Var<T> x, const Packing& rows, Direction direction,
                               double dropout, const std::vector<Var<T>>& first) {
  StackOutput<T> output{x, {}};
  for (std::int64_t l = from; l < to; ++l) {
    Scope<T> layer = layer_scope(scope, l);
    const Var<T> start = first.empty() ? Var<T>() : first.at(static_cast<std::size_t>(l - from));
    const RecurrentOutput<T> states = recurrent(layer / "state", sizes, output.h, rows, direction, start);
    output.h = layer.name("output", drop_out(states.h, layer.dropout(dropout)), rows);
    output.last.push_back(states.last);
  }
  return output;
}

HEED_INSTANTIATE(add_recurrent)
HEED_INSTANTIATE(add_gate_input)
HEED_INSTANTIATE_CLASS(RecurrentSteps)
HEED_INSTANTIATE(recurrent)
HEED_INSTANTIATE(recurrent_stack)

}  // namespace heed
