#include "autograd/tape.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "autograd/op_times.h"
#include "base/error.h"
#include "tensor/kernels.h"

namespace heed {

template <class T>
Var<T> Tape<T>::append(const Node& n) {
  nodes_.push_back(n);
  return {this, static_cast<std::int32_t>(nodes_.size()) - 1};
}

template <class T>
Var<T> Tape<T>::constant(Matrix<const T> value) {
  Node n;
  // Only values made by result() are written to; the cast lets all nodes share one field.
  n.value = {const_cast<T*>(value.data), value.rows, value.cols, value.row_stride, value.col_stride};
  n.constant = true;
  return append(n);
}

template <class T>
Var<T> Tape<T>::leaf(Matrix<const T> value, Matrix<T> gradient) {
  Var<T> v = constant(value);
  Node& n = node(v);
  n.constant = gradient.data == nullptr;
  n.gradient = gradient;
  n.touched = !n.constant;  // the caller's buffer holds zeros or an earlier sum: always add
  return v;
}

template <class T>
Var<T> Tape<T>::result(std::int64_t rows, std::int64_t cols) {
  Node n;
  n.value = arena_.matrix<T>(rows, cols);
  return append(n);
}

template <class T>
Var<T> Tape<T>::columns(Var<T> whole, std::int64_t first, std::int64_t count) {
  return part(whole, node(whole).value.columns(first, count), 0, first);
}

template <class T>
Var<T> Tape<T>::row_range(Var<T> whole, std::int64_t first, std::int64_t count) {
  return part(whole, node(whole).value.row_range(first, count), first, 0);
}

template <class T>
Var<T> Tape<T>::transposed(Var<T> whole) {
  Var<T> v = part(whole, node(whole).value.t(), 0, 0);
  node(v).transposed = true;
  return v;
}

template <class T>
Var<T> Tape<T>::part(Var<T> whole, Matrix<T> value, std::int64_t first_row, std::int64_t first_column) {
  Node n;
  n.value = value;
  n.whole = whole.id();
  n.first_row = first_row;
  n.first_column = first_column;
  n.constant = node(whole).constant;
  return append(n);
}

template <class T>
Matrix<T> Tape<T>::gradient(Var<T> v) {
  T beta;
  Matrix<T> g = gradient(v, beta);
  if (beta == T{0}) std::fill_n(g.data, g.size(), T{0});
  return g;
}

template <class T>
Matrix<T> Tape<T>::gradient(Var<T> v, T& beta) {
  Node& n = node(v);
  if (n.whole >= 0) {
    // The rest may stay untouched, so the whole starts from zeros.
    beta = 1;
    const Matrix<T> whole = gradient(Var<T>(this, n.whole));
    if (n.transposed) return whole.t();
    return whole.row_range(n.first_row, n.value.rows).columns(n.first_column, n.value.cols);
  }
  if (n.gradient.data == nullptr) n.gradient = gradient_memory(n.value.rows, n.value.cols);
  beta = n.touched ? T{1} : T{0};
  n.touched = true;
  return n.gradient;
}

template <class T>
Matrix<T> Tape<T>::gradient_memory(std::int64_t rows, std::int64_t cols) {
  // The one that was released last is the likeliest to be in the cache.
  const auto same_size = std::find_if(released_.rbegin(), released_.rend(),
                                      [&](const Matrix<T>& g) { return g.size() == rows * cols; });
  if (same_size == released_.rend()) return arena_.matrix<T>(rows, cols);
  T* const data = same_size->data;
  released_.erase(std::next(same_size).base());
  return {data, rows, cols};
}

template <class T>
void Tape<T>::release_gradient(Var<T> v) {
  Node& n = node(v);
  if (n.whole >= 0) return;  // the whole has it
  released_.push_back(std::exchange(n.gradient, {}));
  n.touched = false;
}

template <class T>
void Tape<T>::add_gradient(Var<T> v, Matrix<const T> d) {
  if (!wants_gradient(v)) return;
  T beta;
  const Matrix<T> g = gradient(v, beta);
  if (beta == T{0}) {
    copy_rows<T>(d, g);
  } else {
    add_rows<T>(d, g);
  }
}

template <class T>
bool Tape<T>::has_gradient(Var<T> v) const {
  const Node& n = node(v);
  return n.whole >= 0 ? has_gradient(Var<T>(&v.tape(), n.whole)) : n.touched;
}

template <class T>
void Tape<T>::backward(Var<T> root, T seed) {
  Matrix<T> g = gradient(root);
  for (std::int64_t i = 0; i < g.rows; ++i) std::fill_n(g.row(i), g.cols, seed);
  backward();
}

template <class T>
void Tape<T>::backward() {
  if (op_times_) op_times_->end("loss", false, 0);  // it comes last and sets its gradients by itself
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!has_gradient(step->y)) continue;
    step->run();
    release_gradient(step->y);
    if (op_times_) end_op(step->y, step->op, true);
  }
}

template <class T>
void Tape<T>::end_op(Var<T> y, const char* op, bool backward) {
  op_times_->end(op, backward, static_cast<double>(value(y).size()) * sizeof(T));
}

template <class T>
void Tape<T>::reset() {
  nodes_.clear();
  steps_.clear();
  released_.clear();
  owned_.clear();
  arena_.reset();
}

template <class T>
Var<T> Tape<T>::keep_only(Var<T> v, const Mark& mark) {
  if (static_cast<std::size_t>(v.id()) < mark.nodes) return v;
  const Matrix<const T> from = value(v);
  if (with_gradients_ || from.col_stride != 1)
    fail("keep_only: wanted a tape without gradients and a value whose rows are contiguous");
  nodes_.resize(mark.nodes);
  arena_.rewind(mark.memory);
  const Var<T> kept = result(from.rows, from.cols);
  // Rows may overlap those before them, which have already been moved.
  for (std::int64_t i = 0; i < from.rows; ++i)
    std::memmove(mutable_value(kept).row(i), from.row(i), static_cast<std::size_t>(from.cols) * sizeof(T));
  return kept;
}

template class Tape<float>;
template class Tape<double>;

}  // namespace heed
