// Where the time of a run went, by operation: what --verbose says of training and decoding.
#pragma once

#include "autograd/op_times.h"

namespace heed {

/// A line for each operation, down to a hundredth of the time, beside what one thread of the machine reaches, if there is memory
/// to measure that.
void note_op_times(const OpTimes& times);

}  // namespace heed
