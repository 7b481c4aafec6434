// Recurrent layers with the cells of tensor/cells. With x the input, h' the previous state, * elementwise and
// s the logistic function:
//   rnn              h = tanh(W x + U h' + b)
//   gru              z = s(W_z x + U_z h' + b_z),  r = s(W_r x + U_r h' + b_r)
//                    g = tanh(W x + U (r * h') + b),  h = (1 - z) * h' + z * g
//   gru-reset-after  the same but g = tanh(W x + b + r * (U h' + b_u))
//   lstm             i, f, o = s(W x + U h' + b) each with its own W, U, b;  g = tanh(W x + U h' + b)
//                    c = f * c' + i * g,  h = o * tanh(c)
// Options of a layer, each off by default:
//   peepholes        lstm: i = s(... + p_i * c'), f = s(... + p_f * c'), o = s(... + p_o * c)
//                    Gers, Schraudolph, Schmidhuber 2002
//   layer_norm       LN(W x) and LN(U h') instead of W x and U h', each with its own gain and, after it, the
//                    layer's biases; other inputs of the gates are added unchanged. LN runs over all gates
//                    of a row together; in both GRUs over z and r, and separately over the candidate (there
//                    over U (r * h') or U h'). lstm: h = o * tanh(LN(c)), with gain and bias. Epsilon 1e-5.
//                    Ba, Kiros, Hinton: Layer normalization, 2016, supplement, eq. 20-22 and 27-29
//   dropout          on h' where U reads it, one mask for all steps of a sentence; the rest of the cell reads
//                    h' without dropout. Gal, Ghahramani: A theoretically grounded application of dropout in
//                    recurrent neural networks, 2016
//   learned_start    the initial states are a parameter instead of zeros
// Parameters: <scope>/input/<gate>/{weight [d_in, d_hidden], bias} are W and b, <scope>/recurrent/<gate>/
// weight is U; <gate> is update (z), reset (r), candidate (g), input, forget, output; b_u is
// recurrent/candidate/bias. With options: peephole/{input, forget, output}/weight p [d_hidden],
// {input_norm, recurrent_norm}/gamma [gates * d_hidden], cell_norm/{gamma, beta} [d_hidden], start [state
// width]. The state of a sequence is a row: h, and for lstm h and c side by side. Named values: the gates, by
// their names, hidden (h) and, of lstm, cell (c); start, the state before the first step of a layer that is
// given none; with layer_norm input_norm/<gate>, LN(W x) with the biases, recurrent_norm/<gate>, LN(U h'),
// and of lstm cell_norm/output.
#pragma once

#include <string>
#include <vector>

#include "autograd/ops_recurrent.h"
#include "nn/scope.h"
#include "nn/step_order.h"

namespace heed {

struct RecurrentSizes {
  std::string cell = "gru";
  std::int64_t d_hidden = 0;
  bool peepholes = false, layer_norm = false, learned_start = false;
  double dropout = 0;

  const std::vector<std::string>& gates() const { return cell_named(cell).gates; }
  std::int64_t state_width() const { return cell_named(cell).state_width(d_hidden); }
};

/// Initial values of the matrices that read the input and the state, and of the biases.
struct RecurrentInit {
  Init input, recurrent, bias;
};

template <class T>
void add_recurrent(ParameterSet<T>& parameters, const std::string& scope, const RecurrentSizes& sizes,
                   std::int64_t d_in, const RecurrentInit& init);

/// Further parameters <scope>/<part>/<gate>/weight [d_in, d_hidden]: another input of every gate.
template <class T>
void add_gate_input(ParameterSet<T>& parameters, const std::string& scope, const std::string& part,
                    const RecurrentSizes& sizes, std::int64_t d_in, Init init);

/// One layer within one pass, computed step by step.
template <class T>
class RecurrentSteps {
 public:
  /// `rows`: the number of rows of all steps together.
  RecurrentSteps(const Scope<T>& scope, const RecurrentSizes& sizes, std::int64_t rows);

  /// The gates' sums from the inputs of any number of steps: x [n, d_in] -> [n, gates * d_hidden]. If values
  /// are recorded or edited, the pass must know the meaning of the rows (AtStep) here and in step().
  Var<T> input(Var<T> x) const;
  /// The sums of all steps in time order, from packed rows x.
  Var<T> input(Var<T> x, const StepOrder& order, const Packing& rows) const;
  /// The next state [n, state width] from the gates' input [n, gates * d_hidden] and the previous state.
  /// `extra` as in recurrent().
  Var<T> step(Var<T> input, Var<T> state, Var<T> extra = {});
  /// h [n, d_hidden] of a state.
  Var<T> hidden(Var<T> state) const;

 private:
  Scope<T> scope_;
  RecurrentSizes sizes_;
  CellSteps<T> cell_;
};

/// The result of a layer: h of every row [rows, d_hidden], and the state after each sentence's last step in
/// the layer's direction [sentences, state width].
template <class T>
struct RecurrentOutput {
  Var<T> h, last;
};

/// A layer over whole packed sentences: x [rows, d_in]. `first` [sentences, state width] are the initial
/// states, by default zeros or the learned ones; `extra` [rows, gates * d_hidden], or none, is added to the
/// products of the previous state with U: g = tanh(W x + b + r * (U h' + b_u + extra)) in gru-reset-after.
template <class T>
RecurrentOutput<T> recurrent(const Scope<T>& scope, const RecurrentSizes& sizes, Var<T> x,
                             const Packing& rows, Direction direction, Var<T> first = {}, Var<T> extra = {});

// Stacked recurrent layers: layer l reads the states h of layer l - 1. Dropout acts between layers, not along
// time (Zaremba, Sutskever, Vinyals: Recurrent neural network regularization, 2014). Parameters:
// <scope>/layer_<l>/state. Named values: layer_<l>/output, its h after dropout.

/// h of the top layer [rows, d_hidden], and each layer's states after the last step [sentences, state
/// width].
template <class T>
struct StackOutput {
  Var<T> h;
  std::vector<Var<T>> last;
};

/// Layers `from` .. `to`-1 over whole packed sentences: x [rows, d_in]. `first`: the initial states of each
/// of these layers; empty: zeros.
template <class T>
StackOutput<T> recurrent_stack(const Scope<T>& scope, const RecurrentSizes& sizes, std::int64_t from,
                               std::int64_t to, Var<T> x, const Packing& rows, Direction direction,
                               double dropout, const std::vector<Var<T>>& first = {});

}  // namespace heed
