// Attention that is computed step by step, put together for those who look at it.
#pragma once

#include <string>
#include <vector>

#include "autograd/ops_recurrent.h"
#include "nn/scope.h"

namespace heed {

/// Names scores or weights under `scope`: rows[i] tells which row of `steps`, [longest key sentence] wide, is
/// that of the packed query i; what is recorded are the blocks of Recorder::record_attention, for one head.
template <class T>
void name_step_attention(const Scope<T>& scope, const std::string& name, const std::vector<Var<T>>& steps,
                         const std::vector<RowOf>& rows, const Packing& queries, const Packing& keys);

}  // namespace heed
