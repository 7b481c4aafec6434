// The file that is read as memory, where there is one: where it is cut short meanwhile the process gets SIGBUS, which
// lib/cli puts down to it.
#pragma once

#include <atomic>

namespace heed {

/// Its name, escaped, which stays in place while it is mapped; null: none.
inline std::atomic<const char*> mapped_file{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);  // a signal handler reads it

}  // namespace heed
