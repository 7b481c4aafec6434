// How many threads can run at a time.
#pragma once

namespace heed {

/// The processors that this process may use: those that it is bound to (taskset, mpirun, cgroups' sets), else all.
int usable_cores();

}  // namespace heed
