// The slow, obvious twin of every kernel: what the fast ones are compared with, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/kernels.h"

namespace heed::naive {

using Index = std::int64_t;

template <class T>
T activate(Activation f, T x) {
  switch (f) {
    case Activation::relu:
      return x > 0 ? x : (x == x ? T{0} : x);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::gelu:
      return x * std::erfc(-x / std::sqrt(T{2})) / 2;
    case Activation::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(T{-1})) * (x + T(0.044715) * x * x * x)));
    case Activation::gelu_sigmoid:
      return x / (1 + std::exp(-T(1.702) * x));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::none:
      break;
  }
  return x;
}

/// f'(x) by the central difference of fourth order, good to about 1e-11 in double.
template <class T>
T slope_at(Activation f, T x) {
  const T h = T(1e-3);
  return (8 * (activate(f, x + h) - activate(f, x - h)) - (activate(f, x + 2 * h) - activate(f, x - 2 * h))) /
         (12 * h);
}

template <class T>
T slope(Activation f, T y) {
  switch (f) {
    case Activation::relu:
      return y > 0 ? T{1} : T{0};
    case Activation::tanh:
      return 1 - y * y;
    case Activation::sigmoid:
      return y * (1 - y);
    default:
      break;
  }
  return 1;
}

template <class T>
T keep_factor(const Dropout& drop, Index i) {
  if (!drop.active()) return 1;
  const Index tile = i / 128, word = i % 128 / 32, half = i % 32 / 16, block = i % 16;
  const std::uint32_t bits = philox(drop.seed, drop.stream, tile * 16 + block)[word] >> (16 * half) & 0xffff;
  return bits >= drop.threshold ? static_cast<T>(drop.scale()) : T{0};
}

template <class T>
void softmax(T* x, Index n) {
  T max = -std::numeric_limits<T>::infinity(), sum = 0;
  for (Index j = 0; j < n; ++j) max = std::max(max, x[j]);
  if (max == -std::numeric_limits<T>::infinity()) max = 0;
  for (Index j = 0; j < n; ++j) sum += x[j] = std::exp(x[j] - max);
  for (Index j = 0; j < n; ++j) x[j] = sum > 0 ? x[j] / sum : x[j];
}

template <class T>
T log_sum_exp(const T* x, Index n) {
  T max = -std::numeric_limits<T>::infinity(), sum = 0;
  for (Index j = 0; j < n; ++j) max = std::max(max, x[j]);
  if (max == -std::numeric_limits<T>::infinity()) return max;
  for (Index j = 0; j < n; ++j) sum += std::exp(x[j] - max);
  return max + std::log(sum);
}

template <class T>
void fill(std::span<T> x, T value) {
  std::fill(x.begin(), x.end(), value);
}
template <class T>
void add_to(std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += x[i];
}
template <class T>
void scale_by(T factor, std::span<T> x) {
  for (T& e : x) e *= factor;
}
template <class T>
void apply(Activation f, std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = activate(f, x[i]);
}
template <class T>
void apply_backward(Activation f, std::span<const T> y, std::span<const T> d_y, std::span<T> d_x,
                    bool accumulate) {
  for (std::size_t i = 0; i < y.size(); ++i) d_x[i] = (accumulate ? d_x[i] : T{0}) + d_y[i] * slope(f, y[i]);
}
template <class T>
void dropout(const Dropout& drop, std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * keep_factor<T>(drop, i);
}
template <class T>
void dropout_add(const Dropout& drop, std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += x[i] * keep_factor<T>(drop, i);
}
template <class T>
void broadcast_row(std::span<const T> row, Matrix<T> y) {
  for (Index i = 0; i < y.rows; ++i) std::copy(row.begin(), row.end(), y.row(i));
}
template <class T>
void sum_rows(Matrix<const T> x, std::span<T> accumulated) {
  for (Index i = 0; i < x.rows; ++i)
    for (Index j = 0; j < x.cols; ++j) accumulated[j] += x(i, j);
}
template <class T>
void bias_activation_dropout(std::span<const T> bias, Activation f, const Dropout& drop, Matrix<T> y) {
  for (Index i = 0; i < y.rows; ++i)
    for (Index j = 0; j < y.cols; ++j)
      y(i, j) = activate(f, y(i, j) + (bias.empty() ? T{0} : bias[j])) * keep_factor<T>(drop, i * y.cols + j);
}
template <class T>
void bias_activation_dropout_backward(Activation f, const Dropout& drop, Matrix<const T> y,
                                      Matrix<const T> d_y, Matrix<T> d_z) {
  const T scale = static_cast<T>(drop.scale());
  for (Index i = 0; i < y.size(); ++i) {
    const T keep = keep_factor<T>(drop, i);
    d_z.data[i] = keep == 0 ? T{0} : d_y.data[i] * keep * slope(f, y.data[i] / scale);
  }
}
template <class T>
void add_layer_norm(Matrix<const T> x, Matrix<const T> sub, const Dropout& drop, std::span<const T> gamma,
                    std::span<const T> beta, T eps, Matrix<T> s, Matrix<T> y, std::span<T> mean,
                    std::span<T> rstd) {
  const Index d = x.cols;
  for (Index i = 0; i < x.rows; ++i) {
    const T* row = x.row(i);
    if (sub.data) {
      for (Index j = 0; j < d; ++j) s(i, j) = x(i, j) + sub(i, j) * keep_factor<T>(drop, i * d + j);
      row = s.row(i);
    } else if (s.data && s.data != x.data) {
      std::copy(row, row + d, s.row(i));
    }
    T sum = 0, squares = 0;
    for (Index j = 0; j < d; ++j) sum += row[j];
    mean[i] = sum / d;
    for (Index j = 0; j < d; ++j) squares += (row[j] - mean[i]) * (row[j] - mean[i]);
    rstd[i] = 1 / std::sqrt(squares / d + eps);
    for (Index j = 0; j < d; ++j) y(i, j) = gamma[j] * (row[j] - mean[i]) * rstd[i] + beta[j];
  }
}
template <class T>
void layer_norm_backward(Matrix<const T> s, std::span<const T> mean, std::span<const T> rstd,
                         std::span<const T> gamma, Matrix<const T> d_y, Matrix<T> d_s, std::span<T> d_gamma,
                         std::span<T> d_beta) {
  const Index d = s.cols;
  for (Index i = 0; i < s.rows; ++i) {
    T sum = 0, dot = 0;
    for (Index j = 0; j < d; ++j) {
      const T normed = (s(i, j) - mean[i]) * rstd[i], g = d_y(i, j) * gamma[j];
      sum += g;
      dot += g * normed;
      d_gamma[j] += d_y(i, j) * normed;
      d_beta[j] += d_y(i, j);
    }
    for (Index j = 0; j < d; ++j) {
      const T normed = (s(i, j) - mean[i]) * rstd[i];
      d_s(i, j) = rstd[i] * (d_y(i, j) * gamma[j] - sum / d - normed * dot / d);
    }
  }
}
template <class T>
void softmax_rows(Matrix<T> x) {
  for (Index i = 0; i < x.rows; ++i) softmax(x.row(i), x.cols);
}
template <class T>
void log_sum_exp_rows(Matrix<const T> x, std::span<T> result) {
  for (Index i = 0; i < x.rows; ++i) result[i] = log_sum_exp(x.row(i), x.cols);
}
template <class T>
void cross_entropy_rows(Matrix<T> logits, std::span<const std::int32_t> targets, double smoothing, T scale,
                        bool gradient, CrossEntropySums& sums) {
  const Index classes = logits.cols;
  for (Index i = 0; i < logits.rows; ++i) {
    T* x = logits.row(i);
    const double lse = log_sum_exp(x, classes);
    double total = 0;
    for (Index j = 0; j < classes; ++j) total += x[j];
    const double nll = lse - x[targets[i]];
    sums.nll += nll;
    sums.loss += (1 - smoothing) * nll + smoothing * (lse - total / classes);
    sums.correct += std::max_element(x, x + classes) - x == targets[i];
    if (!gradient) continue;
    for (Index j = 0; j < classes; ++j)
      x[j] = scale * static_cast<T>(std::exp(x[j] - lse) - smoothing / classes -
                                    (j == targets[i] ? 1 - smoothing : 0));
  }
}
template <class T>
double divergence_rows(Matrix<const T> x, Matrix<const T> y, T scale, Matrix<T> d_x, Matrix<T> d_y) {
  double total = 0;
  for (Index i = 0; i < x.rows; ++i) {
    const T x_sum = log_sum_exp(x.row(i), x.cols), y_sum = log_sum_exp(y.row(i), x.cols);
    T p_to_q = 0, q_to_p = 0;
    for (Index j = 0; j < x.cols; ++j) {
      const T log_p = x(i, j) - x_sum, log_q = y(i, j) - y_sum;
      p_to_q += std::exp(log_p) * (log_p - log_q);
      q_to_p += std::exp(log_q) * (log_q - log_p);
    }
    total += p_to_q + q_to_p;
    for (Index j = 0; j < x.cols; ++j) {
      const T log_p = x(i, j) - x_sum, log_q = y(i, j) - y_sum, p = std::exp(log_p), q = std::exp(log_q);
      d_x(i, j) = scale * (p * (log_p - log_q - p_to_q) + p - q);
      d_y(i, j) = scale * (q * (log_q - log_p - q_to_p) + q - p);
    }
  }
  return total;
}
template <class T>
void log_softmax_top_k(Matrix<const T> x, Index k, Matrix<T> values, Matrix<std::int32_t> indices) {
  std::vector<std::int32_t> order(x.cols);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < x.cols; ++j) order[j] = static_cast<std::int32_t>(j);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](auto a, auto b) { return x(i, a) != x(i, b) ? x(i, a) > x(i, b) : a < b; });
    const T max = x(i, order[0]);
    T sum = 0;
    for (Index j = 0; j < x.cols; ++j) sum += std::exp(x(i, j) - max);
    for (Index r = 0; r < k; ++r) {
      indices(i, r) = order[r];
      values(i, r) = x(i, order[r]) - max - std::log(sum);
    }
  }
}
template <class T>
void attend_forward(const AttentionHead<T>& head, T* scores, T* weights, Matrix<T> context) {
  const Index n = head.q.rows, m = head.k.rows;
  for (Index i = 0; i < n; ++i) {
    T* w = weights + i * m;
    for (Index j = 0; j < m; ++j) {
      T dot = 0;
      for (Index c = 0; c < head.q.cols; ++c) dot += head.q(i, c) * head.k(j, c);
      const bool seen = (!head.causal || j <= i + m - n) && (!head.mask || head.mask[i * m + j]);
      const bool near = head.window == 0 || std::abs(j - (i + m - n)) < head.window;
      const T score = dot * head.scale + (head.bias ? head.bias[i * head.bias_step + j] : T{0});
      w[j] = seen && near ? score : -std::numeric_limits<T>::infinity();
      if (scores) scores[i * m + j] = score;
    }
    softmax(w, m);
    for (Index c = 0; c < head.v.cols; ++c) {
      T sum = 0;
      for (Index j = 0; j < m; ++j) sum += w[j] * keep_factor<T>(head.drop, i * m + j) * head.v(j, c);
      context(i, c) = sum;
    }
  }
}
template <class T>
void attend_backward(const AttentionHead<T>& head, const T* weights, Matrix<const T> d_context, Matrix<T> d_q,
                     Matrix<T> d_k, Matrix<T> d_v, T* d_bias = nullptr) {
  const Index n = head.q.rows, m = head.k.rows;
  std::vector<T> d_w(m);
  for (Index i = 0; i < n; ++i) {
    const T* w = weights + i * m;
    T sum = 0;
    for (Index j = 0; j < m; ++j) {
      const T keep = keep_factor<T>(head.drop, i * m + j);
      T dot = 0;
      for (Index c = 0; c < head.v.cols; ++c) {
        dot += d_context(i, c) * head.v(j, c);
        d_v(j, c) += w[j] * keep * d_context(i, c);
      }
      d_w[j] = dot * keep;
      sum += d_w[j] * w[j];
    }
    for (Index j = 0; j < m; ++j) {
      if (d_bias) d_bias[i * head.bias_step + j] += w[j] * (d_w[j] - sum);
      const T d_score = w[j] * (d_w[j] - sum) * head.scale;
      for (Index c = 0; c < head.q.cols; ++c) {
        d_q(i, c) += d_score * head.k(j, c);
        d_k(j, c) += d_score * head.q(i, c);
      }
    }
  }
}
template <class T>
void rms_norm(Matrix<const T> x, std::span<const T> gamma, T eps, Matrix<T> y, std::span<T> rstd) {
  const Index d = gamma.size();
  for (Index i = 0; i < x.rows; ++i) {
    for (Index r = 0; r < x.cols / d; ++r) {
      T squares = 0;
      for (Index j = r * d; j < (r + 1) * d; ++j) squares += x(i, j) * x(i, j);
      T& scale = rstd[i * (x.cols / d) + r];
      scale = 1 / std::sqrt(squares / d + eps);
      for (Index j = 0; j < d; ++j) y(i, r * d + j) = gamma[j] * x(i, r * d + j) * scale;
    }
  }
}
template <class T>
void rotate_rows(Matrix<const T> x, Matrix<const T> turns, std::span<const std::int32_t> position, Index d,
                 Matrix<T> y) {
  const Index half = turns.cols / 2;
  for (Index i = 0; i < x.rows; ++i) {
    for (Index c = 0; c < x.cols; ++c) {
      const Index j = c % d;
      y(i, c) = x(i, c);
      if (j >= turns.cols) continue;
      const T cosine = turns(position[i], j % half), sine = turns(position[i], half + j % half);
      y(i, c) = x(i, c) * cosine + (j < half ? -x(i, c + half) : x(i, c - half)) * sine;
    }
  }
}
template <class T>
void gather_rows(Matrix<const T> table, std::span<const std::int32_t> ids, T scale, Matrix<const T> positions,
                 std::span<const std::int32_t> position, Matrix<T> y) {
  for (Index i = 0; i < y.rows; ++i)
    for (Index j = 0; j < y.cols; ++j)
      y(i, j) = scale * table(ids[i], j) + (positions.data ? positions(position[i], j) : T{0});
}
template <class T>
void scatter_add_rows(std::span<const std::int32_t> ids, T scale, Matrix<const T> d_y, Matrix<T> d_table) {
  for (Index i = 0; i < d_y.rows; ++i)
    for (Index j = 0; j < d_y.cols; ++j) d_table(ids[i], j) += scale * d_y(i, j);
}
template <class T>
void adam_update(const AdamStep& step, std::span<T> p, std::span<const T> g, std::span<T> m, std::span<T> v) {
  const T beta1 = static_cast<T>(step.beta1), beta2 = static_cast<T>(step.beta2);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const T grad = g[i] * static_cast<T>(step.gradient_scale);
    m[i] = beta1 * m[i] + (1 - beta1) * grad;
    v[i] = beta2 * v[i] + (1 - beta2) * grad * grad;
    p[i] -= static_cast<T>(step.step_size) * m[i] /
                (std::sqrt(v[i] * static_cast<T>(step.v_scale)) + static_cast<T>(step.eps)) +
            static_cast<T>(step.weight_decay) * p[i];
  }
}
template <class T>
void adadelta_update(const AdadeltaStep& step, std::span<T> p, std::span<const T> g, std::span<T> u,
                     std::span<T> v) {
  const T rho = static_cast<T>(step.rho), eps = static_cast<T>(step.eps);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const T grad = g[i] * static_cast<T>(step.gradient_scale);
    v[i] = rho * v[i] + (1 - rho) * grad * grad;
    const T move = std::sqrt((u[i] + eps) / (v[i] + eps)) * grad;
    u[i] = rho * u[i] + (1 - rho) * move * move;
    p[i] -= static_cast<T>(step.rate) * move;
  }
}
template <class T>
double squared_norm(std::span<const T> x) {
  double total = 0;
  for (std::size_t first = 0; first < x.size(); first += 4096) {
    double block = 0;
    for (T e : x.subspan(first, std::min<std::size_t>(4096, x.size() - first))) block += double{e} * e;
    total += block;
  }
  return total;
}
template <class T>
bool all_finite(std::span<const T> x) {
  return std::all_of(x.begin(), x.end(), [](T e) { return std::isfinite(e); });
}

}  // namespace heed::naive
