// q . k, Luong, Pham, Manning 2015, section 3.1. d_q = d_k.
#include "nn/attention/dot.h"
#include "nn/attention/score_list.h"

namespace heed {

namespace {

template <class T>
void forward(const ScoreBlock<T>& at, Matrix<T> e) {
  product_forward<T>(1, at, e);
}

template <class T>
void backward(const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& to) {
  product_backward<T>(1, at, d_e, to);
}

}  // namespace

ScoreFunction dot_score() {
  ScoreFunction score{"dot", "q . k"};
  score.in_float = {forward, backward};
  score.in_double = {forward, backward};
  return score;
}

}  // namespace heed
