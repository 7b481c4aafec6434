#include "nn/attention/choice.h"

#include <algorithm>

#include "base/error.h"
#include "base/instantiate.h"

namespace heed {

template <class T>
std::int64_t largest_key(std::span<const T> row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

template <class T>
std::int64_t drawn_key(std::span<const T> weights, double u) {
  double sum = 0;
  for (const T weight : weights) sum += static_cast<double>(weight);
  double left = u * sum;
  std::size_t last = weights.size();
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (!(weights[j] > 0)) continue;
    last = j;
    left -= static_cast<double>(weights[j]);
    if (left < 0) break;
  }
  return static_cast<std::int64_t>(last);
}

template <class T>
void choose_key(std::span<T> row, std::int64_t chosen) {
  std::fill(row.begin(), row.end(), T{0});
  if (chosen < static_cast<std::int64_t>(row.size())) row[static_cast<std::size_t>(chosen)] = 1;
}

template <class T>
Var<T> choose(Var<T> alpha, const std::vector<std::int64_t>& chosen) {
  Tape<T>& tape = alpha.tape();
  if (alpha.rows() != static_cast<std::int64_t>(chosen.size()))
    fail("choose: ", chosen.size(), " choices for ", alpha.rows(), " rows");
  Var<T> y = tape.result(alpha.rows(), alpha.cols());
  const Matrix<T> out = tape.mutable_value(y);
  for (std::int64_t i = 0; i < out.rows; ++i) {
    const std::int64_t key = chosen[static_cast<std::size_t>(i)];
    if (key >= out.cols) fail("choose: key ", key, " of ", out.cols);
    if (key == kExpected) {
      std::copy_n(alpha.value().row(i), out.cols, out.row(i));
    } else {
      choose_key<T>({out.row(i), static_cast<std::size_t>(out.cols)}, key);
    }
  }
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_alpha = tape.gradient(alpha);
    for (std::int64_t i = 0; i < d_y.rows; ++i) {
      if (chosen[static_cast<std::size_t>(i)] != kExpected) continue;
      for (std::int64_t j = 0; j < d_y.cols; ++j) d_alpha(i, j) += d_y(i, j);
    }
  });
  return y;
}

HEED_INSTANTIATE(largest_key)
HEED_INSTANTIATE(drawn_key)
HEED_INSTANTIATE(choose_key)
HEED_INSTANTIATE(choose)

}  // namespace heed
