// One run of attention without a model (attend.h). What one stage computes is cut into tasks by the sizes
// alone, and shared out among threads, so their number changes no bit. Internal to attend.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attend/attend.h"
#include "attend/attention_group.h"
#include "attend/scores.h"
#include "attend/visibility.h"

namespace heed {

/// T is float or double.
template <class T>
class AttendPass {
 public:
  /// Draws parameters when there are none yet, checks that everything fits together, and projects. `seed`
  /// and `sentences_before` are for hard samples.
  AttendPass(const AttendConfig& config, const AttendOperands& operands, AttendParameters& parameters,
             int threads, std::int64_t seed, std::int64_t sentences_before);

  std::int64_t sentences() const { return sentences_; }
  /// The number of terms of all weighted sums.
  std::int64_t weighted_values() const;
  /// What there is besides scores, weights, context, output and weighted_values.
  std::vector<std::string> step_names() const;
  /// The group with those of `names` that there are.
  TensorMap run(const std::vector<std::string>& names);

 private:
  /// Some queries of one head of one sentence.
  struct Task {
    std::int64_t sentence = 0, head = 0;
    RowRange rows;
  };
  using Tasks = std::vector<Task>;

  void set_heads();
  void draw(AttendParameters& parameters) const;
  void check_batches() const;
  void check_widths();
  static Tasks cut(const Packing& rows, std::int64_t heads, std::int64_t block);
  template <class Work>
  void run_tasks(const Tasks& tasks, const Work& work) const;
  std::int64_t kv_head(std::int64_t h) const { return h / (heads_ / kv_heads_); }

  void predict_positions(const AttendParameters& parameters);
  void project(const Projection<T>& projection, const Packing& lengths, HeadRows<T>& rows) const;
  void prepare_scores();
  void attend(const Task& task, AttentionGroup<T>& group) const;
  /// From scores to weights, in place: x [queries, keys].
  void stages(const Task& task, RowRange keys, Matrix<T> x, AttentionGroup<T>& group) const;
  void add_bias(const Task& task, RowRange keys, Matrix<T> x, AttentionGroup<T>& group) const;
  void temper(Matrix<T> x, std::int64_t sentence) const;
  void hide(const Task& task, RowRange keys, Matrix<T> x) const;
  /// The key that --hard chooses in each row, by the largest element or by drawing; the number of keys when
  /// there is none.
  std::vector<std::int64_t> choose(const Task& task, Matrix<const T> x) const;
  void weighted_sum(const Task& task, RowRange keys, Matrix<const T> weights, AttentionGroup<T>& group) const;
  void project_output(AttentionGroup<T>& group) const;
  /// Throws Error when a score must be finite and is not; `what` was done to it, `remedy`: what can be done.
  void expect_finite(Matrix<const T> scores, std::int64_t sentence, const std::string& what,
                     const char* remedy) const;
  ScoreRow score_row(const Task& task, std::int64_t i, RowRange keys) const;
  /// p_t of a query.
  double position(std::int64_t sentence, std::int64_t query) const;

  const AttendConfig& config_;
  const ScoreFunction& score_;
  Window window_;
  HardChoice hard_;
  int threads_;
  std::uint64_t seed_, sentences_before_;
  HeadRows<T> query_, key_, value_;
  std::int64_t sentences_ = 1, heads_ = 1, kv_heads_ = 1;
  Packing queries_, keys_;
  Projection<T> query_projection_, key_projection_, value_projection_, output_;
  std::optional<ScoreParameters<T>> score_parameters_;
  std::optional<Visibility> visibility_;
  std::optional<Bias<T>> bias_;
  std::vector<HeadScores<T>> scores_;  ///< [sentence, head]
  std::vector<double> positions_;      ///< p_t of packed queries, for local-p
};

}  // namespace heed
