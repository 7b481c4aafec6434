// v^T tanh(q + k), Bahdanau, Cho, Bengio 2015, appendix A.1.2, where q = W_a s (+ b) and k = U_a h; U_a h is
// computed once per memory. d_q = d_k = a.
#include "nn/attention/score_list.h"
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

template <class T>
void backward(const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& to) {
  additive_scores_backward<T>(at.q, at.k, vector_of(at.weight), d_e, to.q, to.k, row_span(to.weight, 0));
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
