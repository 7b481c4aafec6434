// Recurrent cells. Each is defined once, in a file of its own in this folder: name, gates, state, parameters,
// forward and backward; layers, models and help texts take it from cell_list.h. To add one, write <name>.cpp
// beside rnn.cpp and add its line to cell_list.h.
//
// What all cells share is not theirs to do: the input's part of the gates' sums, W x + b, comes ready; the
// products with U, their dropout, their layer normalisation and the gradient of U are the layer's
// (autograd/recurrent_cell.h). d is the width of h, and h' the state before.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/matrix.h"

namespace heed {

/// Gates that stand side by side.
struct GateRange {
  std::int64_t first, count;
};

/// A parameter [d] of a cell beside W, b and U.
struct CellParameter {
  enum class When : std::uint8_t { always, peepholes };

  std::string name;  ///< below the layer's scope
  When when = When::always;
  /// The gate to whose product with U it is a bias: its gradient is then the sum of that product's, which the
  /// layer takes. None: the cell adds to the gradient in each step.
  std::int64_t bias_of = -1;
};

/// One step of n rows, one for each sequence, as a cell sees it.
template <class T>
class CellStep {
 public:
  virtual ~CellStep() = default;

  std::int64_t d = 0;
  Matrix<const T> x;       ///< W x + b of the gates [n, gates * d]
  Matrix<const T> before;  ///< the state before, its parts side by side [n, states * d]
  Matrix<const T> h;       ///< what U reads of h': h' with dropout [n, d]
  Matrix<T> gates;         ///< the products that multiply() made, then the gates' values [n, gates * d]
  Matrix<T> kept;          ///< of a cell that `keeps`: what it likes, from forward to backward [n, d]
  Matrix<T> after;         ///< the new state
  bool changes = false;    ///< name() may write to what it is given; there is no backward pass then
  Matrix<T> d_state;       ///< gradient of `after`, to be turned into that of `before`
  Matrix<T> d_sums;        ///< gradient of x, to be written [n, gates * d]
  Matrix<T>
      d_products;  ///< of the products with U and what is added to them, to be written if `scales_products`
  Matrix<T> scratch;  ///< for backward [n, d]
  Matrix<T> normed;   ///< of a cell with a `norm`: what normalize() made [n, d]; none without layer_norm

  Matrix<const T> h_before() const { return before.columns(0, d); }
  Matrix<T> gate(std::int64_t i) const { return gates.columns(i * d, d); }
  void name_gates(std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) name_gate(i, gate(i));
  }

  /// The cell's parameter number i and its gradient, or none [1, d].
  virtual Matrix<const T> parameter(std::size_t i) const = 0;
  virtual Matrix<T> gradient(std::size_t i) = 0;
  /// gates = input U, with all that belongs to these products.
  virtual void multiply(GateRange gates, Matrix<const T> input) = 0;
  /// d_input = or += (beta 0 or 1) what d_products sends back through U.
  virtual void multiply_backward(GateRange gates, T beta, Matrix<T> d_input) = 0;
  /// normed = LN(s), and back: d becomes d_s. With layer_norm only.
  virtual void normalize(Matrix<const T> s) = 0;
  virtual void normalize_backward(Matrix<const T> s, Matrix<T> d) = 0;
  /// Hands out a value before anything is computed from it.
  virtual void name(const std::string& value, Matrix<T> rows) = 0;
  virtual void name_gate(std::int64_t gate, Matrix<T> rows) = 0;
};

/// A cell's arithmetic in T.
template <class T>
struct CellKernels {
  void (*forward)(CellStep<T>&);
  void (*backward)(CellStep<T>&);
};

struct Cell {
  std::string name;
  std::vector<std::string> gates;
  /// The gates whose sums layer_norm normalises together.
  std::vector<GateRange> normed_together;
  CellKernels<float> in_float;
  CellKernels<double> in_double;
  std::vector<CellParameter> parameters{};
  std::vector<std::string> states{"hidden"};  ///< the names of its parts, h first
  std::string norm{};            ///< scope of a layer normalisation of its own, used with layer_norm
  GateRange reads_kept{0, 0};    ///< gates whose products with U read `kept`, not h'; the last ones, or none
  bool keeps = false;            ///< it wants CellStep::kept
  bool scales_products = false;  ///< it scales products with U: their gradients are not those of x

  std::int64_t gate_count() const { return static_cast<std::int64_t>(gates.size()); }
  std::int64_t state_width(std::int64_t d) const { return static_cast<std::int64_t>(states.size()) * d; }
  bool has_peepholes() const {
    for (const CellParameter& p : parameters)
      if (p.when == CellParameter::When::peepholes) return true;
    return false;
  }
  template <class T>
  const CellKernels<T>& kernels() const {
    if constexpr (std::is_same_v<T, float>) {
      return in_float;
    } else {
      return in_double;
    }
  }
};

/// Those of cell_list.h, in its order: the values of a config's field `cell`.
std::vector<std::string> cell_names();
/// Throws Error on a name that is not in the list.
const Cell& cell_named(const std::string& name);

}  // namespace heed
