// The memory-mapped file, if any: if it is truncated meanwhile, the process gets SIGBUS, which lib/cli
// attributes to it.
#pragma once

#include <atomic>

namespace heed {

/// Its escaped name, valid while it is mapped; null: none.
inline std::atomic<const char*> mapped_file{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);  // a signal handler reads it

}  // namespace heed
