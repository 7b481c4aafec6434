#include "models/transformer_stepper.h"

#include <algorithm>

#include "base/error.h"
#include "models/transformer_layers.h"
#include "nn/attention/score_function.h"
#include "tensor/gemm.h"

namespace heed {

namespace {

/// [n, d] and [n, d] as [n, 2 d].
template <class T>
std::vector<T> rows_side_by_side(Var<T> a, Var<T> b) {
  std::vector<T> rows;
  rows.reserve(static_cast<std::size_t>(2 * a.value().size()));
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (const Var<T>& part : {a, b})
      rows.insert(rows.end(), part.value().row(i), part.value().row(i) + part.cols());
  }
  return rows;
}

}  // namespace

template <class T>
TransformerStepper<T>::TransformerStepper(const Transformer<T>& model, const Encoded<T>& memory,
                                          const Editor<T>* editor)
    : model_(model), source_rows_(*memory.rows) {
  pass_.tape = &tape_;
  pass_.parameters = &model.parameters();
  pass_.editor = editor;
  past_.resize(static_cast<std::size_t>(model.config().n_decoder_layers));
  Scope<T> decoder = Scope<T>(pass_) / "decoder";
  Var<T> states = tape_.constant(memory.states.value());
  for (std::int64_t i = 0; i < model.config().n_decoder_layers; ++i) {
    Scope<T> scope = layer_scope(decoder, i) / "cross_attention";
    Var<T> kv =
        linear(states, scope.stacked({"key", "value"}, "weight"), scope.stacked({"key", "value"}, "bias"));
    const std::int64_t d = states.cols(), n_heads = model.config().n_heads;
    Var<T> k = scope.name("key", tape_.columns(kv, 0, d), source_rows_, n_heads);
    Var<T> v = scope.name("value", tape_.columns(kv, d, d), source_rows_, n_heads);
    memory_.push_back(rows_side_by_side(k, v));
  }
  for (std::int64_t i = 0; i < source_rows_.sentences(); ++i) sentence_.push_back(i);
}

/// Hypothesis i takes over the sentence and the past rows of its parent and appends its own row i.
template <class T>
void TransformerStepper<T>::inherit(std::span<const std::int64_t> parents) {
  std::vector<std::int64_t> sentence;
  std::vector<std::int32_t> rows;
  sentence.reserve(parents.size());
  rows.reserve(parents.size() * static_cast<std::size_t>(steps_ + 1));
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const std::int64_t parent = parents[i];
    if (parent < 0 || parent >= static_cast<std::int64_t>(sentence_.size())) {
      fail("step: hypothesis ", i, " continues ", parent, ", but the last step had ", sentence_.size());
    }
    sentence.push_back(sentence_[static_cast<std::size_t>(parent)]);
    rows.insert(rows.end(), rows_.begin() + parent * steps_, rows_.begin() + (parent + 1) * steps_);
    rows.push_back(static_cast<std::int32_t>(i));
  }
  sentence_ = std::move(sentence);
  rows_ = std::move(rows);
  ++steps_;
}

template <class T>
Matrix<const T> TransformerStepper<T>::step(std::span<const std::int32_t> tokens,
                                            std::span<const std::int64_t> parents) {
  const TransformerConfig& config = model_.config();
  if (steps_ == config.max_length) fail("step: the model's max_length = ", config.max_length, " is reached");
  tape_.reset();
  const std::vector<std::int32_t> position(tokens.size(), static_cast<std::int32_t>(steps_));
  inherit(parents);
  Packing rows;
  rows.append(static_cast<std::int64_t>(tokens.size()));
  const AtStep<T> at(pass_, {sentence_, steps_ - 1, nullptr, false, {}});
  Scope<T> decoder = Scope<T>(pass_) / "decoder";
  Var<T> x = decoder.name("embedded", model_.embed_at(pass_, Side::target, tokens, position));
  for (std::int64_t i = 0; i < config.n_decoder_layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    x = decoder_layer(
        layer_scope(decoder, i), x, rows, config,
        [&](const Scope<T>& scope, Var<T> y) { return attend_past(scope, y, layer); },
        [&](const Scope<T>& scope, Var<T> y) { return attend_memory(scope, y, layer); });
  }
  return model_.logits(pass_, model_.final_norm(decoder, x, rows)).value();
}

template <class T>
Var<T> TransformerStepper<T>::attend_past(const Scope<T>& scope, Var<T> x, std::size_t layer) {
  const std::int64_t d = x.cols(), n = x.rows(), n_heads = model_.config().n_heads, head_dim = d / n_heads;
  const T scale = static_cast<T>(scaled_dot_factor(head_dim));
  Var<T> qkv = linear(x, scope.stacked({"query", "key", "value"}, "weight"),
                      scope.stacked({"query", "key", "value"}, "bias"));  // [n, 3 d]
  Var<T> q = name_heads(scope, "query", tape_.columns(qkv, 0, d));
  Var<T> k = name_heads(scope, "key", tape_.columns(qkv, d, d));
  Var<T> v = name_heads(scope, "value", tape_.columns(qkv, 2 * d, d));
  past_[layer].push_back(rows_side_by_side(k, v));

  const std::optional<AttentionEdit<T>> edit = scope.attention_edit();
  Var<T> context = tape_.result(n, d);
  std::vector<const T*> keys(static_cast<std::size_t>(steps_)), values(keys.size());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t h = 0; h < n_heads; ++h) {
      for (std::size_t t = 0; t < keys.size(); ++t) {
        const std::int64_t row = rows_[static_cast<std::size_t>(i * steps_) + t];
        keys[t] = past_[layer][t].data() + row * 2 * d + h * head_dim;
        values[t] = keys[t] + d;
      }
      const RowEdit<T> row_edit = edit ? edit_of(*edit, i, h) : RowEdit<T>{};
      attend_cached_edited<T>(q.value().row(i) + h * head_dim, keys, values, head_dim, head_dim, scale,
                              edit ? &row_edit : nullptr, nullptr,
                              tape_.mutable_value(context).row(i) + h * head_dim);
    }
  }
  return project(scope, context);
}

template <class T>
Var<T> TransformerStepper<T>::attend_memory(const Scope<T>& scope, Var<T> x, std::size_t layer) {
  const std::int64_t d = x.cols(), n = x.rows(), n_heads = model_.config().n_heads, head_dim = d / n_heads;
  Var<T> q = name_heads(scope, "query",
                        linear(x, scope.stacked({"query"}, "weight"), scope.stacked({"query"}, "bias")));
  const Matrix<const T> kv(memory_[layer].data(), source_rows_.rows(), 2 * d);
  const std::optional<AttentionEdit<T>> edit = scope.attention_edit();
  Var<T> context = tape_.result(n, d);
  std::vector<T> weights;
  AttentionHead<T> head;
  head.scale = static_cast<T>(scaled_dot_factor(head_dim));
  for (std::int64_t first = 0, last; first < n; first = last) {  // the hypotheses of one sentence
    const std::int64_t sentence = sentence_[static_cast<std::size_t>(first)];
    for (last = first; last < n && sentence_[static_cast<std::size_t>(last)] == sentence;) ++last;
    const Matrix<const T> keys = kv.row_range(source_rows_.offset(sentence), source_rows_.length(sentence));
    weights.resize(static_cast<std::size_t>((last - first) * keys.rows));
    for (std::int64_t h = 0; h < n_heads; ++h) {
      head.q = q.value().row_range(first, last - first).columns(h * head_dim, head_dim);
      head.k = keys.columns(h * head_dim, head_dim);
      head.v = keys.columns(d + h * head_dim, head_dim);
      const RowEdit<T> row_edit = edit ? edit_of(*edit, first, h) : RowEdit<T>{};
      attend_forward_edited<T>(
          head, edit ? &row_edit : nullptr, nullptr, weights.data(),
          tape_.mutable_value(context).row_range(first, last - first).columns(h * head_dim, head_dim));
    }
  }
  return project(scope, context);
}

template <class T>
Var<T> TransformerStepper<T>::project(const Scope<T>& scope, Var<T> context) const {
  Scope<T> out = scope / "output";
  context = name_heads(scope, "context", context);
  return scope.name("output", linear(context, out.parameter("weight"), out.parameter("bias")));
}

template <class T>
Var<T> TransformerStepper<T>::name_heads(const Scope<T>& scope, const std::string& name, Var<T> v) const {
  return scope.name(name, v, source_rows_, model_.config().n_heads);  // the step says what the rows are
}

template <class T>
RowEdit<T> TransformerStepper<T>::edit_of(const AttentionEdit<T>& edit, std::int64_t first,
                                          std::int64_t head) const {
  auto bind = [&](const typename AttentionEdit<T>::Row& change) {
    std::function<void(std::int64_t, std::span<T>)> rows;
    if (!change) return rows;
    rows = [this, &change, first, head](std::int64_t i, std::span<T> row) {
      change(sentence_[static_cast<std::size_t>(first + i)], steps_ - 1, head, row);
    };
    return rows;
  };
  return {bind(edit.scores), bind(edit.weights)};
}

template class TransformerStepper<float>;
template class TransformerStepper<double>;

}  // namespace heed
