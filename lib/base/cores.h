// The number of threads that can run at the same time.
#pragma once

namespace heed {

/// The processors that this process may use: those it is bound to (taskset, mpirun, cgroup cpusets),
/// otherwise all.
int usable_cores();

}  // namespace heed
