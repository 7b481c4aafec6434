#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace heed {

void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  std::atomic<std::int64_t> next{0};
  auto work = [&] {
    for (std::int64_t i; (i = next++) < count;) {
      try {
        task(i);
      } catch (...) {
        failures[static_cast<std::size_t>(i)] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::int64_t wanted = std::min<std::int64_t>(count, threads) - 1;
    for (std::int64_t i = 0; i < wanted; ++i) {
      try {
        helpers.emplace_back(work);
      } catch (const std::system_error&) {
        break;  // no further thread can be created: the running ones do the work
      }
    }
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  // More processors than a cpu_set_t holds.
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace heed
