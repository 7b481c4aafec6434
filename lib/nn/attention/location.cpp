// (q^T W)_j for the key at position j, counted from 0, whatever that key is: Luong, Pham, Manning 2015,
// eq. 8.
#include "nn/attention/score_list.h"
#include "tensor/gemm.h"

namespace heed {

namespace {

template <class T>
void forward(const ScoreBlock<T>& at, Matrix<T> e) {
  gemm<T>(1, at.q.x, at.weight.columns(at.first_key, e.cols), 0, e);
}

template <class T>
void backward(const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& to) {
  gemm<T>(1, d_e, at.weight.columns(at.first_key, d_e.cols).t(), 1, to.q);
  gemm<T>(1, at.q.x.t(), d_e, 1, to.weight.columns(at.first_key, d_e.cols));
}

}  // namespace

ScoreFunction location_score() {
  ScoreFunction score{"location", "q W", {{"score/weight", "W", {Size::query, Size::positions}}}};
  score.weight = "score/weight";
  score.in_float = {forward, backward};
  score.in_double = {forward, backward};
  return score;
}

}  // namespace heed
