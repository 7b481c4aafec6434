#include "attend/pass.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/parallel.h"
#include "io/finite.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"

namespace heed {

namespace {

constexpr std::int64_t kBlockRows = 128;          ///< of a projection's task
constexpr std::int64_t kBlockScores = 32 * 1024;  ///< of an attention task

/// Throws Error unless `got` of one operand equals `wanted` of another.
void expect_size(const Operand& operand, const char* what, std::int64_t got, std::int64_t wanted,
                 const Operand& origin) {
  if (got == wanted) return;
  fail(describe(operand), ", wanted ", what, " = ", wanted, " as in ", origin.name, " ",
       to_string(origin.tensor->shape()));
}

/// Scores are multiplied by such a number and by its reciprocal: throws UsageError unless T holds both.
template <class T>
void expect_factor(const char* option, double value) {
  if (std::isnormal(static_cast<T>(value)) && std::isnormal(static_cast<T>(1 / value))) return;
  const double least = std::numeric_limits<T>::min();
  fail<UsageError>(option, ": got ", value, ", wanted ", least, " to ", 1 / least, ", which ",
                   name_of(dtype_of<T>::value), " can hold",
                   std::is_same_v<T, float> ? "; tensors stored as float64 reach further" : "");
}

/// The parameters are wanted for whole rows.
template <class T>
void expect_side_by_side(const HeadRows<T>& rows, const std::string& weight) {
  if (rows.by_head)
    fail(describe(*rows.operand), ", wanted [n, d] or [batch, n, d], which ", weight, " projects");
}

}  // namespace

template <class T>
AttendPass<T>::AttendPass(const AttendConfig& config, const AttendOperands& operands,
                          AttendParameters& parameters, int threads, std::int64_t seed,
                          std::int64_t sentences_before)
    : config_(config),
      score_(score_function(config.score)),
      window_(config.window_kind()),
      hard_(config.hard_choice()),
      threads_(threads),
      seed_(static_cast<std::uint64_t>(seed)),
      sentences_before_(static_cast<std::uint64_t>(sentences_before)),
      query_(operands.query),
      key_(operands.key),
      value_(operands.value) {
  const MaskWords words = mask_words(config.mask);
  expect_factor<T>("--temperature", config.temperature);
  if (config.softcap > 0) expect_factor<T>("--softcap", config.softcap);
  if (!config.allow_nonfinite) {
    for (const Operand* operand : {&operands.query, &operands.key, &operands.value})
      io::expect_finite(operand->name, *operand->tensor);
  }
  if (words.lengths && !key_.operand->length) {
    fail(key_.operand->name, ": has no lengths beside it (a tensor `length` in its group): --mask none?");
  }
  check_batches();
  set_heads();
  draw(parameters);
  queries_ = query_.lengths(words.ignore_lengths, sentences_);
  keys_ = key_.lengths(words.ignore_lengths, sentences_);
  if (window_ == Window::local_p) {
    predict_positions(parameters);
  } else if (parameters.has("position/query/weight")) {
    fail<UsageError>(parameters.name, "position/query/weight is for --local predictive, which is not given");
  }
  project(Projection<T>(parameters, "query"), queries_, query_);
  project(Projection<T>(parameters, "key"), keys_, key_);
  project(Projection<T>(parameters, "value"), keys_, value_);
  query_.split(heads_, "--heads");
  key_.split(kv_heads_, kv_heads_ == heads_ ? "--heads" : "--kv-heads");
  value_.split(kv_heads_, kv_heads_ == heads_ ? "--heads" : "--kv-heads");
  score_parameters_.emplace(score_, parameters, heads_);
  output_ = Projection<T>(parameters, "output");
  check_widths();
  const ScoreShape shape{sentences_, heads_, query_.rows, key_.rows};
  visibility_.emplace(words, operands.mask, shape);
  if (operands.bias) bias_.emplace(*operands.bias, shape);
}

template <class T>
void AttendPass<T>::check_batches() const {
  for (const HeadRows<T>* rows : {&key_, &value_}) {
    if (!rows->shared && !query_.shared)
      expect_size(*rows->operand, "batch", rows->batch, query_.batch, *query_.operand);
  }
  if (!key_.shared && !value_.shared)
    expect_size(*value_.operand, "batch", value_.batch, key_.batch, *key_.operand);
  expect_size(*value_.operand, "m", value_.rows, key_.rows, *key_.operand);
}

template <class T>
void AttendPass<T>::set_heads() {
  heads_ = config_.heads;
  for (const HeadRows<T>* rows : {&query_, &key_, &value_}) {
    if (heads_ == 1 && rows->by_head) heads_ = rows->heads;
    if (!rows->shared) sentences_ = rows->batch;
  }
  kv_heads_ = config_.kv_heads;
  for (const HeadRows<T>* rows : {&key_, &value_}) {
    if (kv_heads_ == 0 && rows->by_head && config_.heads == 1) kv_heads_ = rows->heads;
  }
  if (kv_heads_ == 0) kv_heads_ = heads_;
  if (heads_ % kv_heads_ != 0) {
    fail<UsageError>("--kv-heads: ", kv_heads_, " heads of ", key_.operand->name, " do not divide the ",
                     heads_, " of ", query_.operand->name);
  }
}

template <class T>
void AttendPass<T>::draw(AttendParameters& parameters) const {
  if (!parameters.tensors.tensors().empty()) return;
  auto width = [](const HeadRows<T>& rows, std::int64_t heads) {
    return rows.by_head ? rows.cols * heads : rows.cols;
  };
  draw_parameters(
      config_, {width(query_, heads_), width(key_, kv_heads_), key_.rows, heads_, kv_heads_, query_.by_head},
      static_cast<std::int64_t>(seed_), parameters);
}

template <class T>
void AttendPass<T>::check_widths() {
  score_parameters_->expect_widths(query_.operand->name, query_.head_dim(), key_.operand->name,
                                   key_.head_dim(), key_.rows);
  if (output_) {
    output_.weight.expect({value_.head_dim() * heads_, -1},
                          concat("for ", heads_, " heads of ", value_.operand->name, " with ",
                                 value_.head_dim(), " columns each"));
  }
}

template <class T>
auto AttendPass<T>::cut(const Packing& rows, std::int64_t heads, std::int64_t block) -> Tasks {
  Tasks tasks;
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < rows.length(s); i += block)
        tasks.push_back({s, h, {i, std::min(block, rows.length(s) - i)}});
    }
  }
  return tasks;
}

template <class T>
template <class Work>
void AttendPass<T>::run_tasks(const Tasks& tasks, const Work& work) const {
  parallel_for(static_cast<std::int64_t>(tasks.size()), threads_,
               [&](std::int64_t i) { work(tasks[static_cast<std::size_t>(i)]); });
}

template <class T>
void AttendPass<T>::project(const Projection<T>& projection, const Packing& lengths,
                            HeadRows<T>& rows) const {
  if (!projection) return;
  expect_side_by_side(rows, projection.weight.name);
  projection.weight.expect({rows.cols, -1},
                           concat("for ", rows.operand->name, " with ", rows.cols, " columns"));
  Packing counts;
  if (rows.shared) counts.append(rows.rows);
  const std::int64_t width = projection.width(), stride = rows.rows * width;
  std::vector<T> values(static_cast<std::size_t>(rows.batch * stride));
  run_tasks(cut(rows.shared ? counts : lengths, 1, kBlockRows), [&](const Task& task) {
    const auto [first, count] = task.rows;
    const Matrix<T> to(values.data() + task.sentence * stride + first * width, count, width);
    projection.apply(rows.all(task.sentence, first + count).row_range(first, count), to);
  });
  rows.replace(std::move(values), width);
}

template <class T>
void AttendPass<T>::predict_positions(const AttendParameters& parameters) {
  for (const char* name : {"position/query/weight", "position/score/weight"}) {
    if (!parameters.has(name)) {
      fail(parameters.name, ": has no ", name, ", which --local predictive needs");
    }
  }
  const Weight<T> w(parameters, "position/query/weight", 2, 0), v(parameters, "position/score/weight", 1, 0);
  expect_side_by_side(query_, w.name);
  w.expect({query_.cols, -1}, concat("for ", query_.operand->name, " with ", query_.cols, " columns"));
  v.expect({w.shape[1]}, "as wide as " + w.name);
  positions_.resize(static_cast<std::size_t>(queries_.rows()));
  run_tasks(cut(queries_, 1, kBlockRows), [&](const Task& task) {
    const auto [first, count] = task.rows;
    const std::vector<std::int64_t> sentences(static_cast<std::size_t>(count), task.sentence);
    Tape<T> tape;
    const Var<T> q = tape.constant(query_.all(task.sentence, first + count).row_range(first, count));
    const Var<T> t = linear(q, tape.constant(w.head(0)), {}, Activation::tanh);
    const Var<T> p = predicted_positions(t, tape.constant(v.head(0)), {sentences, &keys_});
    std::copy_n(p.value().data, count, positions_.begin() + queries_.offset(task.sentence) + first);
  });
}

template <class T>
void AttendPass<T>::prepare_scores() {
  scores_.clear();
  for (std::int64_t s = 0; s < sentences_; ++s) {
    for (std::int64_t h = 0; h < heads_; ++h) {
      scores_.emplace_back(*score_parameters_, h, query_.head(s, h, queries_.length(s)),
                           key_.head(s, kv_head(h), keys_.length(s)));
    }
  }
  if (!score_.query && !score_.key && !score_.prepared_width) return;
  auto head = [&](const Task& task) -> HeadScores<T>& {
    return scores_[static_cast<std::size_t>(task.sentence * heads_ + task.head)];
  };
  run_tasks(cut(queries_, heads_, kBlockRows),
            [&](const Task& task) { head(task).prepare_queries(task.rows); });
  run_tasks(cut(keys_, heads_, kBlockRows), [&](const Task& task) { head(task).prepare_keys(task.rows); });
}

template <class T>
std::int64_t AttendPass<T>::weighted_values() const {
  return element_count({sentences_, heads_, queries_.longest(), keys_.longest(), value_.head_dim()});
}

template <class T>
std::vector<std::string> AttendPass<T>::step_names() const {
  std::vector<std::string> names{"query_vector", "key_vector", "value_vector", "masked", "head_context"};
  if (score_.name == "scaled-dot") names.push_back("products");
  if (config_.softcap > 0) names.push_back("capped");
  if (bias_) names.push_back("biased");
  if (config_.temperature != 1) names.push_back("tempered");
  if (!positions_.empty()) names.push_back("position");
  if (!positions_.empty() || hard_ != HardChoice::none) names.push_back("probabilities");
  return names;
}

template <class T>
TensorMap AttendPass<T>::run(const std::vector<std::string>& names) {
  AttentionSizes sizes{queries_,
                       keys_,
                       heads_,
                       key_.head_dim(),
                       value_.head_dim(),
                       query_.head_dim(),
                       kv_heads_,
                       output_ ? output_.width() : 0};
  std::vector<std::string> present = names;
  if (!output_) std::erase(present, "output");
  AttentionGroup<T> group(sizes, present);
  prepare_scores();
  // A block of a window's rows is as long as one of narrow scores.
  const std::int64_t width = window_ == Window::global ? keys_.longest() : 2 * config_.window + 1;
  const std::int64_t block = std::clamp<std::int64_t>(kBlockScores / width, 1, 1024);
  run_tasks(cut(queries_, heads_, block), [&](const Task& task) { attend(task, group); });
  for (std::int64_t s = 0; !positions_.empty() && s < sentences_; ++s) {
    const auto first = positions_.begin() + queries_.offset(s);
    const std::vector<T> row(first, first + queries_.length(s));
    group.set("position", {s}, {row.data(), 1, queries_.length(s)});
  }
  project_output(group);
  return group.take("Attention (" + config_.score + ")");
}

template <class T>
void AttendPass<T>::project_output(AttentionGroup<T>& group) const {
  if (!group.has("output")) return;
  run_tasks(cut(queries_, 1, kBlockRows), [&](const Task& task) {
    const auto [first, count] = task.rows;
    output_.apply(group.rows("context", {task.sentence, 0}, first, count),
                  group.rows("output", {task.sentence, 0}, first, count));
  });
}

template class AttendPass<float>;
template class AttendPass<double>;

}  // namespace heed
