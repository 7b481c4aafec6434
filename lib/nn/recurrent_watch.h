// The values within a recurrent cell, for those who look at them or change them.
#pragma once

#include <functional>
#include <vector>

#include "nn/recurrent.h"

namespace heed {

/// Names what the operations on cells computed: gates [n, gates * d_hidden] (CellRun::gates) and the states
/// behind the step or steps [n, state width]. The pass says what the rows are.
template <class T>
void name_cell(const Scope<T>& scope, const RecurrentSizes& sizes, Matrix<const T> gates, Var<T> states);

/// What changes the cell's values, whose places are `places(step)`; empty: nobody asked for it.
template <class T>
CellEdit<T> cell_edit(const Scope<T>& scope, const RecurrentSizes& sizes,
                      std::function<std::vector<Place>(std::size_t step)> places);

}  // namespace heed
