// The values within a recurrent cell, for those who look at them or change them.
#pragma once

#include <functional>

#include "nn/recurrent.h"

namespace heed {

/// Who looks at the parts of a layer's steps; `rows(step)` says what the rows of a step are. Empty: nobody.
template <class T>
CellLooks<T> cell_looks(const Scope<T>& scope, const RecurrentSizes& sizes,
                        std::function<StepRows(std::size_t step)> rows);

}  // namespace heed
