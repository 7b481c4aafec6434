// Threads over data: independent tasks, shared out among workers.
#pragma once

#include <cstdint>
#include <functional>

namespace heed {

/// Runs task(i) for i in [0, count) on up to `threads` threads, the calling one among them, and waits for
/// all. Which thread runs which task is left open, so tasks must not depend on it. The exception of the
/// lowest task that threw is rethrown.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

}  // namespace heed
