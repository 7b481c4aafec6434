// v^T tanh(q + k), Bahdanau, Cho, Bengio 2015, appendix A.1.2, where q = W_a s (+ b) and k = U_a h; U_a h is
// computed once per memory. d_q = d_k = a.
#include <algorithm>
#include <vector>

#include "nn/attention/score_list.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"

namespace heed {

namespace {

std::int64_t factors(std::int64_t width) {
  return width;
}

template <class T>
std::span<const T> vector_of(Matrix<const T> row) {
  return {row.data, static_cast<std::size_t>(row.cols)};
}

template <class T>
void forward(const ScoreBlock<T>& at, Matrix<T> e) {
  additive_scores<T>(at.q, at.k, vector_of(at.weight), e);
}

// With t_j = tanh(q + k_j) and e_j = v . t_j:  d_v = sum_j d_e_j t_j;  d_k_j = d_e_j v (1 - t_j^2), and d_q
// is their sum.
template <class T>
void backward(const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& to) {
  const std::int64_t m = at.k.x.rows, a = at.k.x.cols;
  static thread_local std::vector<T> buffer;
  buffer.resize(static_cast<std::size_t>(2 * m * a));
  const Matrix<T> t(buffer.data(), m, a), d_t(buffer.data() + m * a, m, a);
  auto row = [a](Matrix<T> x, std::int64_t i) { return std::span<T>(x.row(i), static_cast<std::size_t>(a)); };
  for (std::int64_t i = 0; i < at.q.x.rows; ++i) {
    const Matrix<const T> d_e_i = d_e.row_range(i, 1);
    for (std::int64_t j = 0; j < m; ++j) std::copy_n(at.k.x.row(j), a, t.row(j));
    bias_activation_dropout<T>(vector_of(at.q.x.row_range(i, 1)), Activation::tanh, Dropout{}, t);
    gemm<T>(1, d_e_i, t, 1, to.weight);
    gemm<T>(1, d_e_i.t(), at.weight, 0, d_t);
    bias_activation_dropout_backward<T>(Activation::tanh, Dropout{}, t, d_t, d_t);
    for (std::int64_t j = 0; j < m; ++j) add_to<T>(row(d_t, j), row(to.k, j));
    sum_rows<T>(d_t, row(to.q, i));
  }
}

}  // namespace

ScoreFunction additive_score() {
  ScoreFunction score{"additive", "v tanh(q + k)", {{"score/weight", "v", {Size::hidden}}}};
  score.projected = true;
  score.weight = "score/weight";
  score.prepared_width = factors;
  score.in_float = {forward, backward, additive_factors};
  score.in_double = {forward, backward, additive_factors};
  return score;
}

}  // namespace heed
