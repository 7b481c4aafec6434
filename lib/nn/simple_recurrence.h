// The simpler simple recurrent unit, SSRU (Kim, Junczys-Dowmunt, Hassan, Aji, Heafield, Grundkiewicz,
// Bogoychev: From research to production and back: ludicrously fast neural machine translation, WNGT 2019,
// section 3.1), which replaces the self-attention of a decoder: the past is summarised by one vector,
// whatever its length.
//   f_t = sigmoid(x_t W_f + b_f)
//   c_t = f_t * c_(t-1) + (1 - f_t) * x_t W
//   o_t = ReLU(c_t)
// Parameters under the scope: candidate/weight W [d, d], forget/{weight W_f [d, d], bias b_f}. Named values:
// candidate x W, forget f, output o; c is not named: a sentence is read at once, so an edit of c_t could not
// affect c_(t+1).
#pragma once

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "nn/scope.h"

namespace heed {

template <class T>
void add_simple_recurrence(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d) {
  parameters.add(scope + "/candidate/weight", {d, d}, Init::xavier(d, d));
  parameters.add(scope + "/forget/weight", {d, d}, Init::xavier(d, d));
  parameters.add(scope + "/forget/bias", {d}, Init::zeros());
}

/// x [rows, d] -> [rows, d]. `cell` [sequences, d]: c before the first row of each sequence, replaced by c
/// after the last.
template <class T>
Var<T> simple_recurrence(const Scope<T>& scope, Var<T> x, const Packing& rows, Var<T>& cell) {
  const Var<T> candidate =
                   scope.name("candidate", linear(x, scope.parameter("candidate/weight"), Var<T>()), rows),
               forget = scope.name("forget",
                                   linear(x, scope.parameter("forget/weight"), scope.parameter("forget/bias"),
                                          Activation::sigmoid),
                                   rows);
  const Var<T> cells = running_mean(candidate, forget, rows, cell);
  std::vector<RowOf> last;
  for (std::int64_t i = 0; i < rows.sentences(); ++i)
    last.push_back(rows.length(i) > 0 ? RowOf{1, rows.offset(i + 1) - 1} : RowOf{0, i});
  cell = select_rows<T>({cell, cells}, last);
  return scope.name("output", activate(Activation::relu, cells), rows);
}

}  // namespace heed
