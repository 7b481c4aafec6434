#include "attend/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/attention_group.h"
#include "attend/setup.h"
#include "base/log.h"
#include "base/sentence_error.h"
#include "nn/attention/choice.h"
#include "tensor/philox.h"

namespace heed {

namespace {

/// With more terms than this (64 MB of floats) weighted_values are omitted: nobody would read them.
constexpr std::int64_t kMostTerms = std::int64_t{1} << 24;
constexpr std::int64_t kBlockScores = 32 * 1024;  ///< of an attention task

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

template <class T>
std::span<T> span_of(Matrix<T> dense) {
  return {dense.data, static_cast<std::size_t>(dense.size())};
}

/// Computes from projected operands to the context, in blocks of the queries of a head.
template <class T>
class AttendPass {
 public:
  /// `seed` and `sentences_before` are for hard samples.
  AttendPass(const AttendSetup<T>& setup, std::int64_t seed, std::int64_t sentences_before)
      : in_(setup),
        config_(setup.config),
        seed_(static_cast<std::uint64_t>(seed)),
        sentences_before_(static_cast<std::uint64_t>(sentences_before)) {}

  /// The number of terms of all weighted sums.
  std::int64_t weighted_values() const {
    return element_count(
        {in_.sentences, in_.heads, in_.queries.longest(), in_.keys.longest(), in_.value.head_dim()});
  }

  /// The names of the tensors besides scores, weights, context, output and weighted_values.
  std::vector<std::string> step_names() const {
    std::vector<std::string> names{"query_vector", "key_vector", "value_vector", "masked", "head_context"};
    if (&in_.score == &score_function("scaled-dot")) names.push_back("products");
    if (config_.softcap > 0) names.push_back("capped");
    if (in_.bias) names.push_back("biased");
    if (config_.temperature != 1) names.push_back("tempered");
    if (!in_.positions.empty()) names.push_back("position");
    if (!in_.positions.empty() || in_.hard != HardChoice::none) names.push_back("probabilities");
    return names;
  }

  /// The group with those of `names` that exist.
  TensorMap run(std::vector<std::string> names) {
    if (!in_.output) std::erase(names, "output");
    AttentionGroup<T> group({in_.queries, in_.keys, in_.heads, in_.key.head_dim(), in_.value.head_dim(),
                             in_.query.head_dim(), in_.kv_heads, in_.output ? in_.output->width() : 0},
                            names);
    prepare_scores();
    // A row of scores within a window counts as a narrow row.
    const std::int64_t width = in_.window == Window::global ? in_.keys.longest() : 2 * config_.window + 1;
    const std::int64_t block = std::clamp<std::int64_t>(kBlockScores / width, 1, 1024);
    run_tasks(cut(in_.queries, in_.heads, block), in_.threads,
              [&](const Task& task) { attend(task, group); });
    for (std::int64_t s = 0; !in_.positions.empty() && s < in_.sentences; ++s) {
      const auto first = in_.positions.begin() + in_.queries.offset(s);
      const std::vector<T> row(first, first + in_.queries.length(s));
      group.set("position", {s}, {row.data(), 1, in_.queries.length(s)});
    }
    if (group.has("output")) {
      run_tasks(cut(in_.queries, 1, kBlockRows), in_.threads, [&](const Task& task) {
        const auto [first, count] = task.rows;
        in_.output->apply(group.rows("context", {task.sentence, 0}, first, count),
                          group.rows("output", {task.sentence, 0}, first, count));
      });
    }
    Attributes settings{{"score", config_.score}};
    if (config_.score_scale > 0) settings["score_scale"] = config_.score_scale;
    if (config_.rotary > 0) settings["rotary"] = config_.rotary;
    return group.take("Attention (" + config_.score + ")", std::move(settings));
  }

 private:
  void prepare_scores() {
    for (std::int64_t s = 0; s < in_.sentences; ++s) {
      for (std::int64_t h = 0; h < in_.heads; ++h) {
        scores_.emplace_back(*in_.score_parameters, h, in_.query.head(s, h, in_.queries.length(s)),
                             in_.key.head(s, in_.kv_head(h), in_.keys.length(s)));
      }
    }
    if (!in_.score.query && !in_.score.key && !in_.score.prepared_width) return;
    run_tasks(cut(in_.queries, in_.heads, kBlockRows), in_.threads,
              [&](const Task& task) { scores_of(task).prepare_queries(task.rows); });
    run_tasks(cut(in_.keys, in_.heads, kBlockRows), in_.threads,
              [&](const Task& task) { scores_of(task).prepare_keys(task.rows); });
  }

  HeadScores<T>& scores_of(const Task& task) {
    return scores_[static_cast<std::size_t>(task.sentence * in_.heads + task.head)];
  }

  /// p_t of a query.
  double position(std::int64_t sentence, std::int64_t query) const {
    if (in_.positions.empty()) return static_cast<double>(query);
    return in_.positions[static_cast<std::size_t>(in_.queries.offset(sentence) + query)];
  }

  void attend(const Task& task, AttentionGroup<T>& group) {
    const auto [s, h, rows] = task;
    const std::int64_t n = in_.queries.length(s), m = in_.keys.length(s), kv = in_.kv_head(h);
    group.set("query_vector", {s, 0, h}, in_.query.head(s, h, n).row_range(rows.first, rows.count), 0,
              rows.first);
    if (rows.first == 0 && h % (in_.heads / in_.kv_heads) == 0) {
      group.set("key_vector", {s, 0, kv}, in_.key.head(s, kv, m));
      group.set("value_vector", {s, 0, kv}, in_.value.head(s, kv, m));
    }
    std::vector<T> values;
    auto part = [&](RowRange queries, RowRange keys) {
      values.resize(static_cast<std::size_t>(queries.count * keys.count));
      const Matrix<T> x(values.data(), queries.count, keys.count);
      const Task block{task.sentence, task.head, queries};
      if (keys.count > 0) {
        const HeadScores<T>& scores = scores_of(task);
        if (group.has("products")) {
          scores.compute(score_function("dot"), queries, keys, x);
          keep("products", block, keys, x, group);
        }
        // The scale replaces scaled-dot's own.
        const ScoreFunction& dot = score_function("dot");
        scores.compute(config_.score_scale > 0 && in_.score.name == "scaled-dot" ? dot : in_.score, queries,
                       keys, x);
        if (config_.score_scale > 0) scale_by(static_cast<T>(config_.score_scale), span_of(x));
        keep("scores", block, keys, x, group);
      }
      stages(block, keys, x, group);
      weighted_sum(block, keys, x, group);
    };
    if (in_.window == Window::global) return part(rows, {0, m});
    // Outside the window nothing is computed: all scores there are those of a hidden key.
    for (const char* name : {"products", "scores", "capped", "biased", "tempered", "masked"}) {
      const Matrix<T> stage = group.rows(name, {s, 0, h}, rows.first, rows.count);
      for (std::int64_t i = 0; stage.data && i < rows.count; ++i) std::fill_n(stage.row(i), m, kHidden<T>);
    }
    for (std::int64_t i = rows.first; i < rows.first + rows.count; ++i) {
      const KeyWindow window = window_around(position(s, i), config_.window, m);
      part({i, 1}, {window.first, window.count});
    }
  }

  static void keep(const char* name, const Task& task, RowRange keys, Matrix<const T> x,
                   AttentionGroup<T>& group) {
    group.set(name, {task.sentence, 0, task.head}, x, keys.first, task.rows.first);
  }

  /// From scores to weights, in place: x [queries, keys].
  void stages(const Task& task, RowRange keys, Matrix<T> x, AttentionGroup<T>& group) const {
    expect_finite(x, task.sentence, "", "the vectors are too long; scale them");
    if (config_.softcap > 0) {
      scale_by(static_cast<T>(1 / config_.softcap), span_of(x));
      apply<T>(Activation::tanh, span_of(x), span_of(x));
      scale_by(static_cast<T>(config_.softcap), span_of(x));
      keep("capped", task, keys, x, group);
    }
    if (in_.bias) {
      add_bias(task, keys, x);
      keep("biased", task, keys, x, group);
    }
    if (config_.temperature != 1) {
      temper(x, task.sentence);
      keep("tempered", task, keys, x, group);
    }
    hide(task, keys, x);
    keep("masked", task, keys, x, group);
    const bool predicted = in_.window == Window::local_p, hard = in_.hard != HardChoice::none;
    // Similar scores may have equal weights, so the best is found before the softmax.
    std::vector<std::int64_t> chosen;
    if (in_.hard == HardChoice::largest && !predicted) chosen = choose(task, x);
    softmax_rows(x);
    if (predicted || hard) keep("probabilities", task, keys, x, group);
    for (std::int64_t i = 0; predicted && i < x.rows; ++i) {
      const double p = position(task.sentence, task.rows.first + i);
      for (std::int64_t j = 0; j < x.cols; ++j)
        x(i, j) *= static_cast<T>(window_factor(keys.first + j, p, config_.window));
    }
    if (hard && chosen.empty()) chosen = choose(task, x);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      choose_key(span_of(x.row_range(static_cast<std::int64_t>(i), 1)), chosen[i]);
    keep("weights", task, keys, x, group);
  }

  ScoreRow score_row(const Task& task, std::int64_t i, RowRange keys) const {
    return {task.sentence,
            task.head,
            task.rows.first + i,
            keys.first,
            in_.queries.length(task.sentence),
            in_.keys.length(task.sentence)};
  }

  void add_bias(const Task& task, RowRange keys, Matrix<T> x) const {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      in_.bias->for_row(score_row(task, i, keys), x.cols, x.row(i), [](T bias, T& score) { score += bias; });
      if (config_.allow_nonfinite) continue;
      // -infinity: the bias hides the key.
      if (!std::all_of(x.row(i), x.row(i) + x.cols, [](T e) { return e < -kHidden<T>; }))
        expect_finite(x.row_range(i, 1), task.sentence, " with its bias", "scale them");
    }
  }

  void temper(Matrix<T> x, std::int64_t sentence) const {
    const T factor = static_cast<T>(1 / config_.temperature);
    for (T& score : span_of(x)) {
      const bool finite = std::isfinite(score);  // a bias may have hidden the key
      score *= factor;
      if (finite && !std::isfinite(score))
        expect_finite({&score, 1, 1}, sentence, concat(" divided by --temperature ", config_.temperature),
                      "take a higher one");
    }
  }

  void hide(const Task& task, RowRange keys, Matrix<T> x) const {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      T* row = x.row(i);
      in_.visibility->hide(score_row(task, i, keys), x.cols, row);
      if (config_.allow_masked_rows) continue;
      if (std::all_of(row, row + x.cols, [](T e) { return e == kHidden<T>; })) {
        throw SentenceError(task.sentence,
                            concat(in_.query.operand->name, ": query ", task.rows.first + i,
                                   " has no key to attend to (mask ", escaped(config_.mask),
                                   in_.bias ? ", bias" : "", in_.window == Window::global ? "" : ", window",
                                   "): --allow-masked-rows makes its output zero"));
      }
    }
  }

  /// The key that --hard chooses in each row, the largest or sampled; the number of keys if there is none.
  std::vector<std::int64_t> choose(const Task& task, Matrix<const T> x) const {
    std::vector<std::int64_t> chosen;
    const T nothing = in_.positions.empty() ? kHidden<T> : T{0};  // x holds scores, or the window's weights
    for (std::int64_t i = 0; i < x.rows; ++i) {
      const std::span<const T> row = span_of(x.row_range(i, 1));
      if (in_.hard == HardChoice::drawn) {
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

  void weighted_sum(const Task& task, RowRange keys, Matrix<const T> weights,
                    AttentionGroup<T>& group) const {
    const auto [s, h, rows] = task;
    const Matrix<const T> v =
        in_.value.head(s, in_.kv_head(h), in_.keys.length(s)).row_range(keys.first, keys.count);
    const Matrix<T> context =
        group.rows("context", {s, 0}, rows.first, rows.count).columns(h * v.cols, v.cols);
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

  /// Throws Error if a score that must be finite is not; `what` was done to it, `remedy`: advice.
  void expect_finite(Matrix<const T> scores, std::int64_t sentence, const std::string& what,
                     const char* remedy) const {
    if (config_.allow_nonfinite || all_finite(span_of(scores))) return;
    throw SentenceError(
        sentence, concat(in_.query.operand->name, ": a score", what, " does not fit into ",
                         name_of(dtype_of<T>::value), ": ", remedy, ", or store the tensors as float64"));
  }

  const AttendSetup<T>& in_;
  const AttendConfig& config_;
  std::uint64_t seed_, sentences_before_;
  std::vector<HeadScores<T>> scores_;  ///< [sentence, head]
};

}  // namespace

Attention::Attention(const AttendConfig& config, std::int64_t seed) : config_(config), seed_(seed) {
  config_.check();
  parameters_ = read_parameters(config_);
}

TensorMap Attention::run(const AttendOperands& operands, int threads, AttendResult result) {
  auto in = [&]<class T>(T) {
    const AttendSetup<T> setup(config_, operands, parameters_, threads, seed_);
    AttendPass<T> pass(setup, seed_, sentences_);
    std::vector<std::string> names{"context"};
    if (result == AttendResult::all) {
      if (sentences_ == 0 && !parameters_.drawn.empty())
        logging::note(concat("no --parameters: drew ", parameters_.drawn, " from seed ", seed_));
      names.insert(names.end(), {"scores", "weights", "output"});
      if (config_.steps) {
        const std::int64_t terms = pass.weighted_values();
        if (!weighted_values_) {
          weighted_values_ = terms <= kMostTerms;
          if (!*weighted_values_) logging::note(concat("left out weighted_values: ", terms, " terms"));
        }
        for (const std::string& name : pass.step_names()) names.push_back(name);
        if (*weighted_values_) names.push_back("weighted_values");
      }
    }
    TensorMap group = pass.run(names);
    sentences_ += setup.sentences;
    return group;
  };
  const Operand* list[] = {&operands.query, &operands.key, &operands.value};
  const bool wide =
      std::any_of(std::begin(list), std::end(list), [](auto* o) { return o->tensor->dtype() == DType::f64; });
  TensorMap group = wide ? in(double()) : in(float());
  if (config_.steps && result == AttendResult::all) {
    for (const auto& [path, tensor] : parameters_.tensors.tensors())
      group.add("attention/parameters/" + path, tensor);
  }
  return group;
}

}  // namespace heed
