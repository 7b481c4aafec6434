// Attention that is computed step by step, put together for those who look at it.
#pragma once

#include <string>
#include <vector>

#include "nn/scope.h"
#include "nn/step_order.h"

namespace heed {

/// Names scores or weights under `scope`: steps[t] holds a row [longest key sentence] for each sentence that
/// `order` has at step t; what is recorded are the blocks of Recorder::record_attention, for one head.
template <class T>
void name_step_attention(const Scope<T>& scope, const std::string& name, const std::vector<Var<T>>& steps,
                         const StepOrder& order, const Packing& queries, const Packing& keys);

}  // namespace heed
