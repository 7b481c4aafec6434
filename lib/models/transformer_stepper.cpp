#include "models/transformer_stepper.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/transformer_layers.h"
#include "tensor/gemm.h"

namespace heed {

template <class T>
TransformerStepper<T>::TransformerStepper(const Transformer<T>& model, const Encoded<T>& memory)
    : model_(model), source_rows_(*memory.rows) {
  pass_.tape = &tape_;
  pass_.parameters = &model.parameters();
  past_.resize(static_cast<std::size_t>(model.config().n_decoder_layers));
  Scope<T> decoder = Scope<T>(pass_) / "decoder";
  Var<T> states = tape_.constant(memory.states.value());
  for (std::int64_t i = 0; i < model.config().n_decoder_layers; ++i) {
    Scope<T> scope = layer_scope(decoder, i) / "cross_attention";
    Var<T> kv =
        linear(states, scope.stacked({"key", "value"}, "weight"), scope.stacked({"key", "value"}, "bias"));
    memory_.emplace_back(kv.value().data, kv.value().data + kv.value().size());
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
  Var<T> x = model_.embed_at(pass_, Side::target, tokens, position);
  Scope<T> decoder = Scope<T>(pass_) / "decoder";
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
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(head_dim)));
  Var<T> qkv = linear(x, scope.stacked({"query", "key", "value"}, "weight"),
                      scope.stacked({"query", "key", "value"}, "bias"));  // [n, 3 d]
  std::vector<T> kv(static_cast<std::size_t>(n * 2 * d));
  for (std::int64_t i = 0; i < n; ++i)
    std::copy_n(qkv.value().row(i) + d, 2 * d, &kv[static_cast<std::size_t>(i * 2 * d)]);
  past_[layer].push_back(std::move(kv));

  Var<T> context = tape_.result(n, d);
  std::vector<const T*> keys(static_cast<std::size_t>(steps_)), values(keys.size());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t h = 0; h < n_heads; ++h) {
      for (std::size_t t = 0; t < keys.size(); ++t) {
        const std::int64_t row = rows_[static_cast<std::size_t>(i * steps_) + t];
        keys[t] = past_[layer][t].data() + row * 2 * d + h * head_dim;
        values[t] = keys[t] + d;
      }
      attend_cached<T>(qkv.value().row(i) + h * head_dim, keys, values, head_dim, head_dim, scale, nullptr,
                       tape_.mutable_value(context).row(i) + h * head_dim);
    }
  }
  Scope<T> out = scope / "output";
  return linear(context, out.parameter("weight"), out.parameter("bias"));
}

template <class T>
Var<T> TransformerStepper<T>::attend_memory(const Scope<T>& scope, Var<T> x, std::size_t layer) {
  const std::int64_t d = x.cols(), n = x.rows(), n_heads = model_.config().n_heads, head_dim = d / n_heads;
  Var<T> q = linear(x, scope.stacked({"query"}, "weight"), scope.stacked({"query"}, "bias"));
  const Matrix<const T> kv(memory_[layer].data(), source_rows_.rows(), 2 * d);
  Var<T> context = tape_.result(n, d);
  std::vector<T> weights;
  AttentionHead<T> head;
  head.scale = static_cast<T>(1 / std::sqrt(static_cast<double>(head_dim)));
  for (std::int64_t first = 0, last; first < n; first = last) {  // the hypotheses of one sentence
    const std::int64_t sentence = sentence_[static_cast<std::size_t>(first)];
    for (last = first; last < n && sentence_[static_cast<std::size_t>(last)] == sentence;) ++last;
    const Matrix<const T> keys = kv.row_range(source_rows_.offset(sentence), source_rows_.length(sentence));
    weights.resize(static_cast<std::size_t>((last - first) * keys.rows));
    for (std::int64_t h = 0; h < n_heads; ++h) {
      head.q = q.value().row_range(first, last - first).columns(h * head_dim, head_dim);
      head.k = keys.columns(h * head_dim, head_dim);
      head.v = keys.columns(d + h * head_dim, head_dim);
      attend_forward<T>(
          head, nullptr, weights.data(),
          tape_.mutable_value(context).row_range(first, last - first).columns(h * head_dim, head_dim));
    }
  }
  Scope<T> out = scope / "output";
  return linear(context, out.parameter("weight"), out.parameter("bias"));
}

template class TransformerStepper<float>;
template class TransformerStepper<double>;

}  // namespace heed
