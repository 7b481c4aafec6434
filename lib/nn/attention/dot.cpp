// dot: q . k, Luong, Pham, Manning 2015, section 3.1. scaled-dot: q . k / sqrt(d_k), Vaswani et al. 2017,
// eq. 1; whole sentences with several heads at once: attention() of autograd/ops.h, with the same factor.
// d_q = d_k.
#include <cmath>

#include "nn/attention/score_list.h"
#include "tensor/gemm.h"

namespace heed {

double scaled_dot_factor(std::int64_t d_k) {
  return 1 / std::sqrt(static_cast<double>(d_k));
}

namespace {

double no_factor(std::int64_t) {
  return 1;
}

template <class T, double (*factor)(std::int64_t)>
void forward(const ScoreBlock<T>& at, Matrix<T> e) {
  gemm<T>(static_cast<T>(factor(at.k.x.cols)), at.q.x, at.k.x.t(), 0, e);
}

template <class T, double (*factor)(std::int64_t)>
void backward(const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& to) {
  const T by = static_cast<T>(factor(at.k.x.cols));
  gemm<T>(by, d_e, at.k.x, 1, to.q);
  gemm<T>(by, d_e.t(), at.q.x, 1, to.k);
}

template <double (*factor)(std::int64_t)>
ScoreFunction product(const char* name, const char* formula) {
  ScoreFunction score{name, formula};
  score.in_float = {forward<float, factor>, backward<float, factor>};
  score.in_double = {forward<double, factor>, backward<double, factor>};
  return score;
}

}  // namespace

ScoreFunction dot_score() {
  return product<no_factor>("dot", "q . k");
}

ScoreFunction scaled_dot_score() {
  return product<scaled_dot_factor>("scaled-dot", "q . k / sqrt(width of k)");
}

}  // namespace heed
