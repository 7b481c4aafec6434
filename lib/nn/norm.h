// Normalisation of a layer's states. layer: by mean and variance (Ba et al. 2016), parameters gamma and beta
// [d]; rms: by the root mean square alone (Zhang, Sennrich 2019), parameter gamma [d]; rms_plus_one: likewise,
// times 1 + gamma (Gemma), so that weight decay pulls the factor towards 1.
#pragma once

#include <algorithm>
#include <string>

#include "autograd/ops.h"
#include "base/choice.h"
#include "nn/scope.h"

namespace heed {

enum class NormKind { layer, rms, rms_plus_one };
inline const Choice<NormKind> kNormKinds{"norm_kind", {"layer", "rms", "rms_plus_one"}};

struct NormSettings {
  NormKind kind = NormKind::layer;
  double epsilon = 1e-5;  ///< inside the root
};

template <class T>
void add_norm(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d, NormKind kind) {
  parameters.add(scope + "/gamma", {d}, kind == NormKind::rms_plus_one ? Init::zeros() : Init::ones());
  if (kind == NormKind::layer) parameters.add(scope + "/beta", {d}, Init::zeros());
}

template <class T>
Var<T> one_plus(Var<T> gamma) {
  const Matrix<T> ones = gamma.tape().arena().template matrix<T>(1, gamma.cols());
  std::fill_n(ones.data, ones.size(), T{1});
  return add(gamma, gamma.tape().constant(ones));
}

/// [rows, d] -> [rows, d] with the parameters of `scope`.
template <class T>
Var<T> normalise(const Scope<T>& scope, Var<T> x, const NormSettings& settings) {
  const T eps = static_cast<T>(settings.epsilon);
  if (settings.kind != NormKind::layer) {
    Var<T> factor = scope.parameter("gamma");
    if (settings.kind == NormKind::rms_plus_one) factor = one_plus(factor);
    return rms_norm(x, factor, eps);
  }
  return add_layer_norm(x, Var<T>(), Dropout{}, scope.parameter("gamma"), scope.parameter("beta"), eps)
      .output;
}

/// x + dropout(sub) and its normalisation, as one operation if there is one.
template <class T>
SumAndNorm<T> add_and_normalise(const Scope<T>& scope, Var<T> x, Var<T> sub, const Dropout& drop,
                                const NormSettings& settings) {
  if (settings.kind == NormKind::layer) {
    return add_layer_norm(x, sub, drop, scope.parameter("gamma"), scope.parameter("beta"),
                          static_cast<T>(settings.epsilon));
  }
  const Var<T> sum = add_dropped(x, sub, drop);
  return {sum, normalise(scope, sum, settings)};
}

}  // namespace heed
