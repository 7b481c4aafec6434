#include "base/cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace heed {

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  // More processors than a cpu_set_t holds.
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace heed
