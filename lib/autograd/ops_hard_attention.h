// What attention that picks single positions needs besides the ops of autograd/ops_recurrent.h (Xu et al.
// 2015, section 4). Rules as in autograd/ops.h.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/tape.h"

namespace heed {

/// The weights of a row that keeps its expectation instead of a picked position.
inline constexpr std::int64_t kExpected = -1;

/// Row i of alpha [n, keys] where picked[i] is kExpected, else 1 at key picked[i] and 0 elsewhere: no
/// gradient goes through a picked position.
template <class T>
Var<T> pick(Var<T> alpha, const std::vector<std::int64_t>& picked);

/// Row i times s_i: x [n, d], s [n, 1].
template <class T>
Var<T> scale_rows(Var<T> x, Var<T> s);

}  // namespace heed
