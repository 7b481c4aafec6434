// Records and edits the values within a recurrent cell.
#pragma once

#include <functional>

#include "nn/recurrent.h"

namespace heed {

/// The observer of a layer's steps; `rows(step)` says what the rows of a step are. Empty when nothing of the
/// cell is recorded or edited.
template <class T>
CellObserver<T> cell_observer(const Scope<T>& scope, const RecurrentSizes& sizes,
                              std::function<StepRows(std::size_t step)> rows);

}  // namespace heed
