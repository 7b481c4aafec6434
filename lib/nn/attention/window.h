// Local attention (Luong, Pham, Manning 2015, section 3.2): a query attends only to the keys within D of one
// position, and the softmax runs over these. Positions count from 0; S is the number of keys.
//   local-m  p_t = t: query t attends around key t
//   local-p  p_t = S sigmoid(v_p^T tanh(W_p q_t)), eq. 9; after the softmax the weights are multiplied by
//            exp(-(s - p_t)^2 / (2 (D / 2)^2)), eq. 10, and not normalised again. Parameters:
//            position/query/weight W_p [d_q, a], position/score/weight v_p [a]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "base/choice.h"
#include "nn/attention/step_keys.h"

namespace heed {

enum class Window : std::uint8_t { global, local_m, local_p };
inline const Choice<Window> kWindows{"attention", {"global", "local-m", "local-p"}};

/// The keys s of 0 .. keys-1 with p - d <= s <= p + d; none if p is too far outside.
KeyWindow window_around(double p, std::int64_t d, std::int64_t keys);

/// Eq. 10: exp(-(s - p)^2 / (2 (d / 2)^2)).
double window_factor(std::int64_t s, double p, std::int64_t d);

/// Eq. 9: p_i = S sigmoid(v . t_i), S the number of keys of query i's sentence: t = tanh(q W_p) [n, a], v [1,
/// a] -> [n, 1].
template <class T>
Var<T> predicted_positions(Var<T> t, Var<T> v, const StepKeys& at);

/// Eq. 10: alpha_ij exp(-(j - p_i)^2 / (2 (d / 2)^2)): alpha [n, longest], p [n, 1].
template <class T>
Var<T> favour_near(Var<T> alpha, Var<T> p, std::int64_t d, const StepKeys& at);

}  // namespace heed
