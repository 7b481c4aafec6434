// Whether memory or threads were seen to have run out. Some libraries end the process when that happens to them;
// lib/cli then says so instead of leaving it at a crash.
#pragma once

#include <atomic>

namespace heed {

inline std::atomic<bool> exhausted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler reads it

}  // namespace heed
