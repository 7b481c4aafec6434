// From scores to the context, block by block: the second half of AttendPass.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/pass.h"
#include "base/error.h"
#include "nn/attention/choice.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"
#include "tensor/philox.h"

namespace heed {

namespace {

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

template <class T>
std::span<T> span_of(Matrix<T> dense) {
  return {dense.data, static_cast<std::size_t>(dense.size())};
}

template <class T>
std::span<T> row_of(Matrix<T> x, std::int64_t i) {
  return {x.row(i), static_cast<std::size_t>(x.cols)};
}

}  // namespace

template <class T>
double AttendPass<T>::position(std::int64_t sentence, std::int64_t query) const {
  if (positions_.empty()) return static_cast<double>(query);
  return positions_[static_cast<std::size_t>(queries_.offset(sentence) + query)];
}

template <class T>
void AttendPass<T>::attend(const Task& task, AttentionGroup<T>& group) const {
  const auto [s, h, rows] = task;
  const std::int64_t n = queries_.length(s), m = keys_.length(s), kv = kv_head(h);
  group.set("query_vector", {s, 0, h}, query_.head(s, h, n).row_range(rows.first, rows.count), 0, rows.first);
  if (rows.first == 0 && h % (heads_ / kv_heads_) == 0) {
    group.set("key_vector", {s, 0, kv}, key_.head(s, kv, m));
    group.set("value_vector", {s, 0, kv}, value_.head(s, kv, m));
  }
  std::vector<T> values;
  auto part = [&](RowRange queries, RowRange keys) {
    values.resize(static_cast<std::size_t>(queries.count * keys.count));
    const Matrix<T> x(values.data(), queries.count, keys.count);
    const Task block{s, h, queries};
    if (keys.count > 0) {
      const HeadScores<T>& scores = scores_[static_cast<std::size_t>(s * heads_ + h)];
      if (group.has("products")) {
        scores.compute(score_function("dot"), queries, keys, x);
        group.set("products", {s, 0, h}, x, keys.first, queries.first);
      }
      scores.compute(queries, keys, x);
      group.set("scores", {s, 0, h}, x, keys.first, queries.first);
    }
    stages(block, keys, x, group);
    weighted_sum(block, keys, x, group);
  };
  if (window_ == Window::global) return part(rows, {0, m});
  // Outside the window nothing is computed: all scores there are what hides a key.
  for (const char* name : {"products", "scores", "capped", "biased", "tempered", "masked"}) {
    const Matrix<T> stage = group.rows(name, {s, 0, h}, rows.first, rows.count);
    for (std::int64_t i = 0; stage.data && i < rows.count; ++i) std::fill_n(stage.row(i), m, kHidden<T>);
  }
  for (std::int64_t i = rows.first; i < rows.first + rows.count; ++i) {
    const KeyWindow window = window_around(position(s, i), config_.window, m);
    part({i, 1}, {window.first, window.count});
  }
}

template <class T>
void AttendPass<T>::stages(const Task& task, RowRange keys, Matrix<T> x, AttentionGroup<T>& group) const {
  const Shape at{task.sentence, 0, task.head};
  auto keep = [&](const char* name) { group.set(name, at, x, keys.first, task.rows.first); };
  expect_finite(x, task.sentence, "", "the vectors are too long; scale them");
  if (config_.softcap > 0) {
    scale_by(static_cast<T>(1 / config_.softcap), span_of(x));
    apply<T>(Activation::tanh, span_of(x), span_of(x));
    scale_by(static_cast<T>(config_.softcap), span_of(x));
    keep("capped");
  }
  if (bias_) add_bias(task, keys, x, group);
  if (config_.temperature != 1) {
    temper(x, task.sentence);
    keep("tempered");
  }
  hide(task, keys, x);
  keep("masked");
  const bool predicted = window_ == Window::local_p, hard = hard_ != HardChoice::none;
  // Close scores may have equal weights, so the best is sought before the softmax.
  std::vector<std::int64_t> chosen;
  if (hard_ == HardChoice::largest && !predicted) chosen = choose(task, x);
  softmax_rows(x);
  if (predicted || hard) keep("probabilities");
  for (std::int64_t i = 0; predicted && i < x.rows; ++i) {
    const double p = position(task.sentence, task.rows.first + i);
    for (std::int64_t j = 0; j < x.cols; ++j)
      x(i, j) *= static_cast<T>(window_factor(keys.first + j, p, config_.window));
  }
  if (hard && chosen.empty()) chosen = choose(task, x);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    choose_key(row_of(x, static_cast<std::int64_t>(i)), chosen[i]);
  keep("weights");
}

template <class T>
ScoreRow AttendPass<T>::score_row(const Task& task, std::int64_t i, RowRange keys) const {
  return {task.sentence,
          task.head,
          task.rows.first + i,
          keys.first,
          queries_.length(task.sentence),
          keys_.length(task.sentence)};
}

template <class T>
void AttendPass<T>::add_bias(const Task& task, RowRange keys, Matrix<T> x, AttentionGroup<T>& group) const {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    bias_->add(score_row(task, i, keys), x.cols, x.row(i));
    if (config_.allow_nonfinite) continue;
    // -infinity is a key that the bias hides.
    if (!std::all_of(x.row(i), x.row(i) + x.cols, [](T e) { return e < std::numeric_limits<T>::infinity(); }))
      expect_finite(x.row_range(i, 1), task.sentence, " with its bias", "scale them");
  }
  group.set("biased", {task.sentence, 0, task.head}, x, keys.first, task.rows.first);
}

template <class T>
void AttendPass<T>::temper(Matrix<T> x, std::int64_t sentence) const {
  const T factor = static_cast<T>(1 / config_.temperature);
  for (T& score : span_of(x)) {
    const bool finite = std::isfinite(score);  // a bias may have hidden the key
    score *= factor;
    if (finite && !std::isfinite(score))
      expect_finite({&score, 1, 1}, sentence, concat(" divided by --temperature ", config_.temperature),
                    "take a higher one");
  }
}

template <class T>
void AttendPass<T>::hide(const Task& task, RowRange keys, Matrix<T> x) const {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    T* row = x.row(i);
    visibility_->hide(score_row(task, i, keys), x.cols, row);
    if (config_.allow_masked_rows) continue;
    if (std::all_of(row, row + x.cols, [](T e) { return e == kHidden<T>; })) {
      fail(query_.operand->name, ": query ", task.rows.first + i, " of sentence ", task.sentence,
           " may attend to no key (mask ", escaped(config_.mask), bias_ ? ", bias" : "",
           window_ == Window::global ? "" : ", window", "): --allow-masked-rows gives it zeros");
    }
  }
}

template <class T>
std::vector<std::int64_t> AttendPass<T>::choose(const Task& task, Matrix<const T> x) const {
  std::vector<std::int64_t> chosen;
  const T nothing = positions_.empty() ? kHidden<T> : T{0};  // x holds scores, or the window's weights
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const std::span<const T> row = row_of(x, i);
    if (hard_ == HardChoice::drawn) {
      const std::uint64_t stream = (sentences_before_ + static_cast<std::uint64_t>(task.sentence)) << 20 |
                                   static_cast<std::uint64_t>(task.head);
      const auto bits = philox(seed_, stream, static_cast<std::uint64_t>(task.rows.first + i));
      chosen.push_back(drawn_key(row, (bits[0] + (bits[1] >> 11) * 0x1p-21) * 0x1p-32));
    } else {
      const std::int64_t largest = x.cols > 0 ? largest_key(row) : 0;
      chosen.push_back(x.cols > 0 && x(i, largest) > nothing ? largest : x.cols);
    }
  }
  return chosen;
}

template <class T>
void AttendPass<T>::weighted_sum(const Task& task, RowRange keys, Matrix<const T> weights,
                                 AttentionGroup<T>& group) const {
  const auto [s, h, rows] = task;
  const Matrix<const T> v = value_.head(s, kv_head(h), keys_.length(s)).row_range(keys.first, keys.count);
  const Matrix<T> context = group.rows("context", {s, 0}, rows.first, rows.count).columns(h * v.cols, v.cols);
  if (keys.count > 0) gemm<T>(1, weights, v, 0, context);
  group.set("head_context", {s, 0, h}, context, 0, rows.first);
  if (!group.has("weighted_values")) return;
  std::vector<T> terms(static_cast<std::size_t>(v.size()));
  for (std::int64_t i = 0; i < weights.rows; ++i) {
    for (std::int64_t j = 0; j < v.rows; ++j) {
      for (std::int64_t c = 0; c < v.cols; ++c)
        terms[static_cast<std::size_t>(j * v.cols + c)] = weights(i, j) * v(j, c);
    }
    group.set("weighted_values", {s, 0, h, rows.first + i}, {terms.data(), v.rows, v.cols}, 0, keys.first);
  }
}

template <class T>
void AttendPass<T>::expect_finite(Matrix<const T> scores, std::int64_t sentence, const std::string& what,
                                  const char* remedy) const {
  if (config_.allow_nonfinite || all_finite(span_of(scores))) return;
  fail(query_.operand->name, ": a score of sentence ", sentence, what, " does not fit into ",
       name_of(dtype_of<T>::value), ": ", remedy, ", or store the tensors as float64");
}

template void AttendPass<float>::attend(const Task&, AttentionGroup<float>&) const;
template void AttendPass<double>::attend(const Task&, AttentionGroup<double>&) const;

}  // namespace heed
