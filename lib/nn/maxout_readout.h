// The deep output layer of Cho et al. 2014 and Bahdanau et al. 2015, appendix A.2.2: t~ = U_o s + b + V_o e +
// C_o c and t its maxima in pairs. Parameters: {state/weight U_o [n, 2 l], state/bias, embedding/weight V_o
// [m, 2 l], context/weight C_o [d_c, 2 l]}.
#pragma once

#include <string>

#include "nn/scope.h"

namespace heed {

/// n, m, d_c and l of above.
struct ReadoutSizes {
  std::int64_t d_state = 0, d_embedding = 0, d_context = 0, d_maxout = 0;
};
/// `init`: the initial values of a matrix [d_in, d_out].
template <class T, class InitOf>
void add_maxout_readout(ParameterSet<T>& parameters, const std::string& scope, const ReadoutSizes& sizes,
                        InitOf&& init) {
  const std::int64_t width = 2 * sizes.d_maxout;
  auto matrix = [&](const char* name, std::int64_t d_in) {
    parameters.add(scope + "/" + name, {d_in, width}, init(d_in, width));
  };
  matrix("state/weight", sizes.d_state);
  parameters.add(scope + "/state/bias", {width}, Init::zeros());
  matrix("embedding/weight", sizes.d_embedding);
  matrix("context/weight", sizes.d_context);
}

/// C_o c: c [n, d_c] -> [n, 2 l].
template <class T>
Var<T> readout_context(const Scope<T>& scope, Var<T> c);

/// t, with dropout: s [n, d], e [n, m], and what readout_context gave -> [n, l].
template <class T>
Var<T> maxout_readout(const Scope<T>& scope, Var<T> s, Var<T> embedded, Var<T> context, double dropout);

}  // namespace heed
