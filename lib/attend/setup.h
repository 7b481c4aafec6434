// The state of one run of attention without a model (attend.h): the operands as rows, checked against one
// another and projected, and everything that modifies their scores. Internal to attend.cpp.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attend/attend.h"
#include "attend/scores.h"
#include "attend/visibility.h"
#include "autograd/ops.h"
#include "base/parallel.h"
#include "nn/positional_encoding.h"

namespace heed {

/// Some queries of one head of one sentence. The division into tasks depends on the sizes alone, so the
/// number of threads changes no bit.
struct Task {
  std::int64_t sentence = 0, head = 0;
  RowRange rows;
};

inline constexpr std::int64_t kBlockRows = 128;  ///< rows of a projection task

inline std::vector<Task> cut(const Packing& rows, std::int64_t heads, std::int64_t block) {
  std::vector<Task> tasks;
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < rows.length(s); i += block)
        tasks.push_back({s, h, {i, std::min(block, rows.length(s) - i)}});
    }
  }
  return tasks;
}

inline void run_tasks(const std::vector<Task>& tasks, int threads,
                      const std::function<void(const Task&)>& work) {
  parallel_for(static_cast<std::int64_t>(tasks.size()), threads,
               [&](std::int64_t i) { work(tasks[static_cast<std::size_t>(i)]); });
}

/// T is float or double.
template <class T>
struct AttendSetup {
  const AttendConfig& config;
  const ScoreFunction& score;
  Window window;
  HardChoice hard;
  int threads;
  HeadRows<T> query, key, value;
  std::int64_t sentences = 1, heads = 1, kv_heads = 1;
  Packing queries, keys;
  std::vector<double> positions;  ///< p_t of all packed queries, for local-p
  std::optional<ScoreParameters<T>> score_parameters;
  std::optional<Projection<T>> output;
  std::optional<Visibility> visibility;
  std::optional<Overlay<T>> bias;

  /// Draws missing parameters, checks that everything fits together, and projects.
  AttendSetup(const AttendConfig& config, const AttendOperands& operands, AttendParameters& parameters,
              int threads, std::int64_t seed)
      : config(config),
        score(score_function(config.score)),
        window(config.window_kind()),
        hard(config.hard_choice()),
        threads(threads),
        query(operands.query),
        key(operands.key),
        value(operands.value) {
    const MaskWords words = mask_words(config.mask);
    expect_factor("--temperature", config.temperature);
    if (config.softcap > 0) expect_factor("--softcap", config.softcap);
    if (config.score_scale > 0) expect_factor("--score-scale", config.score_scale);
    if (!config.allow_nonfinite) {
      for (const HeadRows<T>* rows : {&query, &key, &value}) rows->expect_finite();
    }
    if (words.lengths && !key.operand->length)
      fail(key.operand->name, ": has no lengths beside it (a tensor `length` in its group): --mask none?");
    check_batches();
    set_heads();
    draw(parameters, seed);
    queries = query.lengths(words.ignore_lengths, sentences);
    keys = key.lengths(words.ignore_lengths, sentences);
    if (window == Window::local_p) {
      predict_positions(parameters);
    } else if (parameters.has("position/query/weight")) {
      fail<UsageError>(parameters.name, "position/query/weight is for --local local-p, which is not given");
    }
    project(Projection<T>(parameters, "query"), queries, query);
    project(Projection<T>(parameters, "key"), keys, key);
    project(Projection<T>(parameters, "value"), keys, value);
    query.split(heads, "--heads");
    key.split(kv_heads, kv_heads == heads ? "--heads" : "--kv-heads");
    value.split(kv_heads, kv_heads == heads ? "--heads" : "--kv-heads");
    const Packing past = past_rows(operands, words.ignore_lengths);
    turn(past);
    if (operands.past_key) prepend(*operands.past_key, *operands.past_value, past);
    score_parameters.emplace(score, parameters, heads);
    score_parameters->expect_widths(query.operand->name, query.head_dim(), key.operand->name, key.head_dim(),
                                    key.rows);
    if (Projection<T> own(parameters, "output"); own) {
      own.weight.expect({value.head_dim() * heads, -1},
                        concat("for ", heads, " heads of ", value.operand->name, " with ", value.head_dim(),
                               " columns each"));
      output = std::move(own);
    }
    const ScoreShape shape{sentences, heads, query.rows, key.rows};
    visibility.emplace(words, operands.masks, shape);
    if (operands.bias) bias = at_place("--bias", [&] { return bias_of<T>(*operands.bias, shape); });
  }

  std::int64_t kv_head(std::int64_t h) const { return h / (heads / kv_heads); }

 private:
  /// Rotary positions: the last query has the position of the last key, which `past` others precede.
  void turn(const Packing& past) {
    if (config.rotary == 0) return;
    expect_factor("--rotary", config.rotary);
    for (const HeadRows<T>* rows : {&query, &key}) {
      if (rows->head_dim() % 2 != 0)
        fail<UsageError>("--rotary: turns pairs, but ", rows->operand->name, " has ", rows->head_dim(),
                         " columns a head");
    }
    for (std::int64_t s = 0; s < sentences; ++s) {
      if (queries.length(s) > past.length(s) + keys.length(s))
        fail<UsageError>("--rotary: there are ", queries.length(s), " queries for ",
                         past.length(s) + keys.length(s), " keys");
      if ((query.shared || key.shared) &&
          (queries.length(s) != queries.length(0) || keys.length(s) != keys.length(0) ||
           past.length(s) != past.length(0)))
        fail<UsageError>("--rotary: where a query or key is shared, all sentences must have the same length");
    }
    const auto turned = [&](HeadRows<T>& rows, const Packing& lengths, const auto& first) {
      const std::vector<T> turns = rotary_turns<T>(past.longest() + std::max(query.rows, key.rows),
                                                   rows.head_dim(), {.base = config.rotary});
      const auto positions = static_cast<std::int64_t>(turns.size()) / rows.head_dim();
      rows.transform([&](std::int64_t sentence, Matrix<const T> from, Matrix<T> to) {
        std::vector<std::int32_t> position;
        for (std::int64_t i = 0; i < lengths.length(sentence); ++i)
          position.push_back(static_cast<std::int32_t>(first(sentence) + i));
        rotate_rows<T>(from.row_range(0, lengths.length(sentence)),
                       {turns.data(), positions, rows.head_dim()}, position, rows.head_dim(),
                       to.row_range(0, lengths.length(sentence)));
      });
    };
    turned(query, queries,
           [&](std::int64_t s) { return past.length(s) + keys.length(s) - queries.length(s); });
    turned(key, keys, [&](std::int64_t s) { return past.length(s); });
  }

  /// The number of past keys of each sentence; checks that past keys and values fit the others.
  Packing past_rows(const AttendOperands& operands, bool ignore_lengths) const {
    if (!operands.past_key) return Packing::uniform(sentences, 0);
    const HeadRows<T> earlier_keys(*operands.past_key), earlier_values(*operands.past_value);
    expect_size(*operands.past_value, "rows", earlier_values.rows, earlier_keys.rows, *operands.past_key);
    for (const auto& [earlier, rows] : {std::pair{&earlier_keys, &key}, std::pair{&earlier_values, &value}}) {
      if (!config.allow_nonfinite) earlier->expect_finite();
      if (!earlier->shared)
        expect_size(*earlier->operand, "batch", earlier->batch, sentences, *query.operand);
      if (earlier->by_head) expect_size(*earlier->operand, "heads", earlier->heads, kv_heads, *rows->operand);
      expect_size(*earlier->operand, "columns", earlier->cols,
                  rows->head_dim() * (earlier->by_head ? 1 : kv_heads), *rows->operand);
    }
    Packing past = earlier_keys.lengths(ignore_lengths, sentences);
    const Packing of_values = earlier_values.lengths(ignore_lengths, sentences);
    for (std::int64_t s = 0; s < sentences; ++s) {
      if (past.length(s) != of_values.length(s))
        fail(operands.past_value->name, ": has length ", of_values.length(s), " in sentence ", s + 1,
             ", wanted ", past.length(s), " as ", operands.past_key->name);
    }
    return past;
  }

  void prepend(const Operand& past_key, const Operand& past_value, const Packing& past) {
    key.prepend(HeadRows<T>(past_key), past);
    value.prepend(HeadRows<T>(past_value), past);
    Packing longer;
    for (std::int64_t s = 0; s < sentences; ++s) longer.append(past.length(s) + keys.length(s));
    keys = longer;
  }

  /// Scores are multiplied by such a number and by its reciprocal: throws UsageError unless both are
  /// representable in T.
  static void expect_factor(const char* option, double value) {
    if (std::isnormal(static_cast<T>(value)) && std::isnormal(static_cast<T>(1 / value))) return;
    const double least = std::numeric_limits<T>::min();
    fail<UsageError>(option, ": got ", value, ", wanted ", least, " to ", 1 / least, ", which ",
                     name_of(dtype_of<T>::value), " can hold",
                     std::is_same_v<T, float> ? "; tensors stored as float64 reach further" : "");
  }

  /// Throws Error unless `got` of one operand equals `wanted` of another.
  static void expect_size(const Operand& operand, const char* what, std::int64_t got, std::int64_t wanted,
                          const Operand& origin) {
    if (got == wanted) return;
    fail(describe(operand), ", wanted ", what, " = ", wanted, " as in ", origin.name, " ",
         to_string(origin.tensor->shape()));
  }

  /// Throws Error unless the parameter applies to whole rows.
  static void expect_rows_for(const Weight<T>& weight, const HeadRows<T>& rows) {
    if (rows.by_head)
      fail(describe(*rows.operand), ", wanted [n, d] or [batch, n, d], which ", weight.name, " projects");
    weight.expect({rows.cols, -1}, concat("for ", rows.operand->name, " with ", rows.cols, " columns"));
  }

  void check_batches() const {
    for (const HeadRows<T>* rows : {&key, &value}) {
      if (!rows->shared && !query.shared)
        expect_size(*rows->operand, "batch", rows->batch, query.batch, *query.operand);
    }
    if (!key.shared && !value.shared)
      expect_size(*value.operand, "batch", value.batch, key.batch, *key.operand);
    expect_size(*value.operand, "m", value.rows, key.rows, *key.operand);
  }

  void set_heads() {
    heads = config.heads;
    for (const HeadRows<T>* rows : {&query, &key, &value}) {
      if (heads == 1 && rows->by_head) heads = rows->heads;
      if (!rows->shared) sentences = rows->batch;
    }
    kv_heads = config.kv_heads;
    for (const HeadRows<T>* rows : {&key, &value}) {
      if (kv_heads == 0 && rows->by_head && config.heads == 1) kv_heads = rows->heads;
    }
    if (kv_heads == 0) kv_heads = heads;
    if (heads % kv_heads != 0) {
      fail<UsageError>("--kv-heads: ", kv_heads, " heads of ", key.operand->name, " do not divide the ",
                       heads, " of ", query.operand->name);
    }
  }

  void draw(AttendParameters& parameters, std::int64_t seed) const {
    if (!parameters.tensors.tensors().empty()) return;
    auto width = [](const HeadRows<T>& rows, std::int64_t heads) {
      return rows.by_head ? rows.cols * heads : rows.cols;
    };
    draw_parameters(config,
                    {width(query, heads), width(key, kv_heads), key.rows, heads, kv_heads, query.by_head},
                    seed, parameters);
  }

  void project(const Projection<T>& projection, const Packing& lengths, HeadRows<T>& rows) const {
    if (!projection) return;
    expect_rows_for(projection.weight, rows);
    Packing counts;
    if (rows.shared) counts.append(rows.rows);
    const std::int64_t width = projection.width(), stride = rows.rows * width;
    std::vector<T> values(static_cast<std::size_t>(rows.batch * stride));
    run_tasks(cut(rows.shared ? counts : lengths, 1, kBlockRows), threads, [&](const Task& task) {
      const auto [first, count] = task.rows;
      const Matrix<T> to(values.data() + task.sentence * stride + first * width, count, width);
      projection.apply(rows.all(task.sentence, first + count).row_range(first, count), to);
    });
    rows.replace(std::move(values), width);
  }

  void predict_positions(const AttendParameters& parameters) {
    for (const char* name : {"position/query/weight", "position/score/weight"}) {
      if (!parameters.has(name)) fail(parameters.name, ": has no ", name, ", which --local local-p needs");
    }
    const Weight<T> w(parameters, "position/query/weight", 2, 0),
        v(parameters, "position/score/weight", 1, 0);
    expect_rows_for(w, query);
    v.expect({w.shape[1]}, "as wide as " + w.name);
    positions.resize(static_cast<std::size_t>(queries.rows()));
    run_tasks(cut(queries, 1, kBlockRows), threads, [&](const Task& task) {
      const auto [first, count] = task.rows;
      const std::vector<std::int64_t> sentences(static_cast<std::size_t>(count), task.sentence);
      Tape<T> tape;
      const Var<T> q = tape.constant(query.all(task.sentence, first + count).row_range(first, count));
      const Var<T> t = linear(q, tape.constant(w.head(0)), {}, Activation::tanh);
      const Var<T> p = predicted_positions(t, tape.constant(v.head(0)), {sentences, &keys});
      std::copy_n(p.value().data, count, positions.begin() + queries.offset(task.sentence) + first);
    });
  }
};

}  // namespace heed
