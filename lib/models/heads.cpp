#include "models/heads.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops_recurrent.h"
#include "nn/attention/pooling.h"
#include "nn/attention/weights.h"

namespace heed {

namespace {

template <class T>
Var<T> weight_of(Pass<T>& pass, const WordsHead& head) {
  return Scope<T>(pass).parameter(head.weight);
}
template <class T>
Var<T> bias_of(Pass<T>& pass, const WordsHead& head) {
  return head.bias.empty() ? Var<T>() : Scope<T>(pass).parameter(head.bias);
}
/// The vector multiplied by the weight.
template <class T>
Var<T> read_states(Pass<T>& pass, const WordsHead& head, Var<T> states) {
  if (head.transform) states = (*head.transform)(pass, states);
  return head.logit_scale == 1 ? states : scaled(states, static_cast<T>(head.logit_scale));
}

/// The mean of a sentence's states, or one of them: [rows, d] -> [sentences, d].
template <class T>
Var<T> pooled_without_parameters(Pooling how, Var<T> states, const Packing& rows) {
  if (how == Pooling::mean) return sentence_means(states, rows);
  std::vector<RowOf> chosen;
  for (std::int64_t s = 0; s < rows.sentences(); ++s)
    chosen.push_back({0, rows.offset(s) + (how == Pooling::last ? rows.length(s) - 1 : 0)});
  return select_rows<T>({states}, chosen);
}

}  // namespace

template <class T>
void WordTransform::declare(ParameterSet<T>& parameters, std::int64_t d, std::int64_t e) const {
  parameters.add(scope + "/inner/weight", {d, e}, Init::xavier(d, e));
  if (bias) parameters.add(scope + "/inner/bias", {e}, Init::zeros());
  add_norm(parameters, scope + "/norm", e, norm.kind);
}

template <class T>
Var<T> WordTransform::operator()(Pass<T>& pass, Var<T> states) const {
  const Scope<T> at = Scope<T>(pass) / scope;
  const Var<T> b = bias ? at.parameter("inner/bias") : Var<T>();
  return normalise(at / "norm", linear(states, at.parameter("inner/weight"), b, activation), norm);
}

template <class T>
void Pooler::declare(ParameterSet<T>& parameters, std::int64_t d) const {
  parameters.add("encoder/pooler/weight", {d, d}, Init::xavier(d, d));
  if (bias) parameters.add("encoder/pooler/bias", {d}, Init::zeros());
  if (norm) add_norm(parameters, "encoder/pooler_norm", d, norm->kind);
}

template <class T>
Var<T> Pooler::operator()(Pass<T>& pass, Var<T> v) const {
  const Scope<T> encoder = Scope<T>(pass) / "encoder";
  const Var<T> b = bias ? encoder.parameter("pooler/bias") : Var<T>();
  v = linear(v, encoder.parameter("pooler/weight"), b, activation);
  return norm ? normalise(encoder / "pooler_norm", v, *norm) : v;
}

template <class T>
Var<T> WordsHead::logits(Pass<T>& pass, Var<T> states) const {
  return logits_of(read_states(pass, *this, states), weight_of(pass, *this), tied, bias_of(pass, *this));
}

template <class T>
Logits<T> WordsHead::next_words(Pass<T>& pass, Var<T> states) const {
  const Matrix<const T> weight = weight_of(pass, *this).value();
  Tape<T>& tape = *pass.tape;
  const Var<T> bias = bias_of(pass, *this);
  return {read_states(pass, *this, states).value(), *tape.packed_weights()->find(tied ? weight.t() : weight),
          bias ? std::span<const T>(row_span(bias.value(), 0)) : std::span<const T>(), tape.arena()};
}

template <class T>
CrossEntropySums WordsHead::loss(Pass<T>& pass, Var<T> states, std::span<const std::int32_t> targets,
                                 double smoothing, T scale, std::vector<double>* nll) const {
  return projected_cross_entropy(read_states(pass, *this, states), weight_of(pass, *this), tied, targets,
                                 smoothing, scale, nll, bias_of(pass, *this));
}

template <class T>
CrossEntropySums WordsHead::consistent_loss(Pass<T>& pass, Var<T> states,
                                            std::span<const std::int32_t> targets, double smoothing,
                                            double consistency, T scale) const {
  return consistent_cross_entropy(read_states(pass, *this, states), weight_of(pass, *this), tied, targets,
                                  smoothing, consistency, scale, bias_of(pass, *this));
}

template <class T>
void SentenceVectors::declare(ParameterSet<T>& parameters, std::int64_t d) const {
  const auto dense = [&](const std::string& scope, std::int64_t rows, std::int64_t cols) {
    parameters.add(scope + "/weight", {rows, cols}, Init::xavier(rows, cols));
    if (dense_bias) parameters.add(scope + "/bias", {cols}, Init::zeros());
  };
  if (dense_inner_width > 0) dense("sentences/dense_inner", d, dense_inner_width);
  if (dense_width > 0) dense("sentences/dense", dense_inner_width > 0 ? dense_inner_width : d, dense_width);
}

template <class T>
std::vector<T> SentenceVectors::of(Pass<T>& pass, Var<T> states, const Packing& rows) const {
  Var<T> v = pooled_without_parameters(pooling, states, rows);
  if (pooler) v = (*pooler)(pass, v);
  const auto dense = [&](const char* name) {
    const Scope<T> scope = Scope<T>(pass) / "sentences" / name;
    v = linear(v, scope.parameter("weight"), dense_bias ? scope.parameter("bias") : Var<T>(),
               dense_activation);
  };
  if (dense_inner_width > 0) dense("dense_inner");
  if (dense_width > 0) dense("dense");
  std::vector<T> values;
  for (std::int64_t s = 0; s < v.rows(); ++s) {
    const auto row = row_span(v.value(), s);
    const double square = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    const T length = normalised ? static_cast<T>(std::max(std::sqrt(square), 1e-12)) : T{1};
    for (const T value : row) values.push_back(value / length);
  }
  return values;
}

template <class T>
void ClassesHead::declare(ParameterSet<T>& parameters, std::int64_t d, std::int64_t classes) const {
  parameters.add("classes/weight", {d, classes}, Init::xavier(d, classes));
  parameters.add("classes/bias", {classes}, Init::zeros());
  if (pooler) pooler->declare(parameters, d);
  if (pooling == Pooling::attention) add_pooling(parameters, attention, d);
}

template <class T>
Var<T> ClassesHead::pooled(Pass<T>& pass, Var<T> states, const Packing& rows) const {
  if (pooling != Pooling::attention) return pooled_without_parameters(pooling, states, rows);
  std::vector<std::int64_t> sentences(static_cast<std::size_t>(rows.sentences()));
  std::iota(sentences.begin(), sentences.end(), 0);
  const StepKeys keys{sentences, &rows};
  const Packing ones = Packing::uniform(rows.sentences(), 1);
  return pool(Scope<T>(pass) / attention, states, {sentences, 0, &ones, {}}, keys, keys);
}

template <class T>
Var<T> ClassesHead::logits(Pass<T>& pass, Var<T> states, const Packing& rows) const {
  const Scope<T> scope = Scope<T>(pass) / "classes";
  Var<T> v = of_tokens() ? states : pooled(pass, states, rows);
  if (pooler) v = (*pooler)(pass, drop_out(v, scope.dropout(pooler_dropout)));
  if (!of_tokens()) v = scope.name_sentences("pooled", v);
  return linear(drop_out(v, scope.dropout(dropout)), scope.parameter("weight"), scope.parameter("bias"));
}

#define HEED_INSTANTIATE_HEADS(T)                                                                       \
  template Var<T> WordsHead::logits(Pass<T>&, Var<T>) const;                                            \
  template Logits<T> WordsHead::next_words(Pass<T>&, Var<T>) const;                                     \
  template CrossEntropySums WordsHead::loss(Pass<T>&, Var<T>, std::span<const std::int32_t>, double, T, \
                                            std::vector<double>*) const;                                \
  template CrossEntropySums WordsHead::consistent_loss(Pass<T>&, Var<T>, std::span<const std::int32_t>, \
                                                       double, double, T) const;                        \
  template void WordTransform::declare(ParameterSet<T>&, std::int64_t, std::int64_t) const;             \
  template void Pooler::declare(ParameterSet<T>&, std::int64_t) const;                                  \
  template void SentenceVectors::declare(ParameterSet<T>&, std::int64_t) const;                         \
  template std::vector<T> SentenceVectors::of(Pass<T>&, Var<T>, const Packing&) const;                  \
  template Var<T> Pooler::operator()(Pass<T>&, Var<T>) const;                                           \
  template void ClassesHead::declare(ParameterSet<T>&, std::int64_t, std::int64_t) const;               \
  template Var<T> ClassesHead::logits(Pass<T>&, Var<T>, const Packing&) const;
HEED_INSTANTIATE_HEADS(float)
HEED_INSTANTIATE_HEADS(double)
#undef HEED_INSTANTIATE_HEADS

}  // namespace heed
