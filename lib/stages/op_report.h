// The time of a run by operation, printed with --verbose after training and decoding.
#pragma once

#include "autograd/op_times.h"

namespace heed {

/// Prints a line for each operation with at least a hundredth of the time, compared with the peak of one
/// thread of the machine, if there is memory to measure that.
void note_op_times(const OpTimes& times);

}  // namespace heed
