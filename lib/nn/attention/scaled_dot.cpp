// q . k / sqrt(d_k), Vaswani et al. 2017, eq. 1. d_q = d_k. Whole sentences with several heads at once:
// attention() of autograd/ops.h, with the same factor.
#include <cmath>

#include "nn/attention/dot.h"
#include "nn/attention/score_list.h"

namespace heed {

double scaled_dot_factor(std::int64_t d_k) {
  return 1 / std::sqrt(static_cast<double>(d_k));
}

namespace {

template <class T>
void forward(const ScoreBlock<T>& at, Matrix<T> e) {
  product_forward(static_cast<T>(scaled_dot_factor(at.k.x.cols)), at, e);
}

template <class T>
void backward(const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& to) {
  product_backward(static_cast<T>(scaled_dot_factor(at.k.x.cols)), at, d_e, to);
}

}  // namespace

ScoreFunction scaled_dot_score() {
  ScoreFunction score{"scaled-dot", "q . k / sqrt(width of k)"};
  score.in_float = {forward, backward};
  score.in_double = {forward, backward};
  return score;
}

}  // namespace heed
