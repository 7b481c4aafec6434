// Normalisation of a layer's states. layer: by mean and variance (Ba et al. 2016), parameters gamma and beta
// [d]; rms: by the root mean square alone (Zhang, Sennrich 2019), parameter gamma [d]; rms_plus_one: likewise,
// times 1 + gamma (Gemma), so that weight decay pulls the factor towards 1; layer_no_bias: as layer, without
// beta (ModernBERT).
#pragma once

#include <algorithm>
#include <string>

#include "autograd/ops.h"
#include "base/choice.h"
#include "nn/scope.h"

namespace heed {

enum class NormKind { layer, rms, rms_plus_one, layer_no_bias };
inline const Choice<NormKind> kNormKinds{"norm_kind", {"layer", "rms", "rms_plus_one", "layer_no_bias"}};

struct NormSettings {
  NormKind kind = NormKind::layer;
  double epsilon = 1e-5;  ///< inside the root

  bool operator==(const NormSettings&) const = default;
  /// Whether the mean is subtracted.
  bool centres() const { return kind == NormKind::layer || kind == NormKind::layer_no_bias; }
};

template <class T>
void add_norm(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d, NormKind kind) {
  parameters.add(scope + "/gamma", {d}, kind == NormKind::rms_plus_one ? Init::zeros() : Init::ones());
  if (kind == NormKind::layer) parameters.add(scope + "/beta", {d}, Init::zeros());
}

/// A row of this value.
template <class T>
Var<T> constant_row(Tape<T>& tape, std::int64_t d, T value) {
  const Matrix<T> row = tape.arena().template matrix<T>(1, d);
  std::fill_n(row.data, row.size(), value);
  return tape.constant(row);
}

/// The sum of x and sub, unless that is none, with dropout on sub, and its normalisation by mean and variance.
template <class T>
SumAndNorm<T> centred_norm(const Scope<T>& scope, Var<T> x, Var<T> sub, const Dropout& drop,
                           const NormSettings& settings) {
  const Var<T> beta =
      settings.kind == NormKind::layer ? scope.parameter("beta") : constant_row(scope.tape(), x.cols(), T{0});
  return add_layer_norm(x, sub, drop, scope.parameter("gamma"), beta, static_cast<T>(settings.epsilon));
}

/// [rows, d] -> [rows, d] with the parameters of `scope`.
template <class T>
Var<T> normalise(const Scope<T>& scope, Var<T> x, const NormSettings& settings) {
  if (settings.centres()) return centred_norm(scope, x, Var<T>(), Dropout{}, settings).output;
  Var<T> factor = scope.parameter("gamma");
  if (settings.kind == NormKind::rms_plus_one)
    factor = add(factor, constant_row(scope.tape(), factor.cols(), T{1}));
  return rms_norm(x, factor, static_cast<T>(settings.epsilon));
}

/// x + dropout(sub) and its normalisation, as one operation if there is one.
template <class T>
SumAndNorm<T> add_and_normalise(const Scope<T>& scope, Var<T> x, Var<T> sub, const Dropout& drop,
                                const NormSettings& settings) {
  if (settings.centres()) return centred_norm(scope, x, sub, drop, settings);
  const Var<T> sum = add_dropped(x, sub, drop);
  return {sum, normalise(scope, sum, settings)};
}

}  // namespace heed
