// Reverse-mode differentiation on a dynamic tape. Computing a value appends a node and, when gradients are
// wanted, a closure that adds the node's gradient into its inputs' gradients; backward() runs the closures in
// reverse. Values are matrices of packed rows (tensor/matrix.h) in the tape's arena, alive until reset() or, without
// gradients, keep_only(). The op and its backward function stand next to each other in autograd/ops_*.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "tensor/arena.h"
#include "tensor/matrix.h"
#include "tensor/precision.h"

namespace heed {

#ifdef __cpp_lib_source_location
using CallSite = std::source_location;
#else  // Debian's clang, which builds the fuzzers, lacks it
struct CallSite {
  static CallSite current() { return {}; }
  const char* function_name() const { return ""; }
};
#endif

class OpTimes;

template <class T>
class Tape;
template <class T>
class PackedWeights;

/// A handle to a value on a tape. Default-constructed: no value ("no bias").
template <class T>
class Var {
 public:
  Var() = default;
  Var(Tape<T>* tape, std::int32_t id) : tape_(tape), id_(id) {}

  explicit operator bool() const { return tape_ != nullptr; }
  Tape<T>& tape() const { return *tape_; }
  std::int32_t id() const { return id_; }
  inline Matrix<const T> value() const;
  std::int64_t rows() const { return value().rows; }
  std::int64_t cols() const { return value().cols; }

 private:
  Tape<T>* tape_ = nullptr;
  std::int32_t id_ = -1;
};

template <class T>
class Tape {
 public:
  Tape() = default;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Off (the default): no closures are kept and backward() does nothing.
  bool with_gradients() const { return with_gradients_; }
  void set_with_gradients(bool on) { with_gradients_ = on; }

  /// If set, linear() multiplies by these packed weights, which is fastest for few rows; the bits of a row then do not
  /// depend on the number of rows, so reading a text in parts equals reading it at once. Null (default): whatever is
  /// fastest for many rows.
  const PackedWeights<T>* packed_weights() const { return packed_weights_; }
  void set_packed_weights(const PackedWeights<T>* weights) { packed_weights_ = weights; }

  /// What products with parameters are computed in, forward and backward; float32 (the default) or, of a tape
  /// of floats, bfloat16. Products within attention are float32 always.
  Precision precision() const { return precision_; }
  void set_precision(Precision precision) { precision_ = precision; }

  /// Given: every operation that on_backward() or without_backward() hears of adds its time to these; the clock is
  /// started by their owner.
  void set_op_times(OpTimes* times) { op_times_ = times; }

  /// A value that needs no gradient; the memory stays the caller's.
  Var<T> constant(Matrix<const T> value);
  /// A leaf whose gradient is added to `gradient` (same shape; no data: not wanted).
  Var<T> leaf(Matrix<const T> value, Matrix<T> gradient);
  /// A new value, uninitialised and dense, for an op to fill.
  Var<T> result(std::int64_t rows, std::int64_t cols);
  /// Some columns of a value, without a copy; their gradient is that part of the whole's gradient.
  Var<T> columns(Var<T> whole, std::int64_t first, std::int64_t count);
  /// Likewise some rows: a step of a sequence.
  Var<T> row_range(Var<T> whole, std::int64_t first, std::int64_t count);
  /// The same elements with rows and columns swapped, without a copy.
  Var<T> transposed(Var<T> whole);

  Matrix<const T> value(Var<T> v) const { return node(v).value; }
  /// The value, for the op that makes it to write.
  Matrix<T> mutable_value(Var<T> v) { return node(v).value; }

  /// Keeps the backward function of the op that made `y`; skipped when nothing reached y's gradient.
  template <class Step>
  void on_backward(Var<T> y, Step&& step, const CallSite& op = CallSite::current()) {
    if (with_gradients_) steps_.push_back({y, std::forward<Step>(step), op.function_name()});
    if (op_times_) end_op(y, op.function_name(), false);
  }
  /// Made by an op that has no gradient.
  Var<T> without_backward(Var<T> y, const CallSite& op = CallSite::current()) {
    if (op_times_) end_op(y, op.function_name(), false);
    return y;
  }
  /// False for constants and without gradients: an op may skip the work.
  bool wants_gradient(Var<T> v) const { return with_gradients_ && v && !node(v).constant; }
  /// The gradient, zeros at first: add to it.
  Matrix<T> gradient(Var<T> v);
  /// The gradient and, in `beta`, 0 when nothing was added yet (overwrite it) or 1 (add to it): for gemm.
  Matrix<T> gradient(Var<T> v, T& beta);
  /// gradient(v) += d, unless v is none or wants no gradient. Both may be slices.
  void add_gradient(Var<T> v, Matrix<const T> d);
  /// False when nothing was added: the value did not take part in the loss.
  bool has_gradient(Var<T> v) const;

  /// Sets d root to `seed` in every element, then runs the tape backward: once, as the gradient of an op's result is
  /// forgotten, and its memory used again, when the op's closure has run. Those of leaves stay.
  void backward(Var<T> root, T seed = 1);
  /// Runs the tape backward from the gradients that are there (a fused loss sets its own).
  void backward();

  /// Takes over what the backward pass refers to, until reset().
  template <class U>
  const U& own(U value) {
    auto owned = std::make_shared<const U>(std::move(value));
    const U& kept = *owned;
    owned_.push_back(std::move(owned));
    return kept;
  }
  Arena& arena() { return arena_; }
  /// Forgets all values; keeps the memory.
  void reset();

  /// A place on the tape.
  struct Mark {
    Arena::Mark memory;
    std::size_t nodes = 0;
  };
  Mark mark() const { return {arena_.mark(), nodes_.size()}; }
  /// Of all values since the mark only `v` is kept, moved to where they began; the others' memory is used again.
  /// Throws Error if the tape takes gradients.
  Var<T> keep_only(Var<T> v, const Mark& mark);

 private:
  struct Node {
    Matrix<T> value;
    Matrix<T> gradient;
    std::int32_t whole = -1;  ///< the node of which this is a part
    std::int64_t first_row = 0, first_column = 0;
    bool transposed = false;
    bool constant = false;
    bool touched = false;
  };
  struct Step {
    Var<T> y;
    std::function<void()> run;
    const char* op;
  };
  void end_op(Var<T> y, const char* op, bool backward);
  Matrix<T> gradient_memory(std::int64_t rows, std::int64_t cols);
  /// Its memory is for gradients to come.
  void release_gradient(Var<T> v);
  Node& node(Var<T> v) { return nodes_[static_cast<std::size_t>(v.id())]; }
  const Node& node(Var<T> v) const { return nodes_[static_cast<std::size_t>(v.id())]; }
  Var<T> append(const Node& n);
  Var<T> part(Var<T> whole, Matrix<T> value, std::int64_t first_row, std::int64_t first_column);

  Arena arena_;
  std::vector<Node> nodes_;
  std::vector<Step> steps_;
  std::vector<Matrix<T>> released_;  ///< gradients whose memory is free
  std::vector<std::shared_ptr<const void>> owned_;
  bool with_gradients_ = false;
  Precision precision_ = Precision::float32;
  const PackedWeights<T>* packed_weights_ = nullptr;
  OpTimes* op_times_ = nullptr;
};

template <class T>
Matrix<const T> Var<T>::value() const {
  return tape_->value(*this);
}

extern template class Tape<float>;
extern template class Tape<double>;

}  // namespace heed
