// Data parallelism: independent tasks on a number of threads, and how many can run at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace heed {

/// Runs task(i) for i in [0, count) on up to `threads` threads, including the calling one, and waits for all. The others
/// stay for later calls, and so do their thread_local variables.
/// The assignment of tasks to threads is unspecified. If tasks throw, the exception of the one with the
/// lowest index is rethrown.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

/// A task that another thread runs while the caller goes on; at once if there can be no further thread.
class Aside {
 public:
  explicit Aside(std::function<void()> task);
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  /// Waits for it.
  ~Aside();
  /// Waits for it and throws what it has thrown.
  void wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  ///< null once it has been awaited
};

/// The processors that this process may use: those it is bound to (taskset, mpirun, cgroup cpusets),
/// otherwise all.
int usable_cores();

}  // namespace heed
