// Whether memory or threads have been exhausted. Some libraries end the process when that happens to them;
// lib/cli then reports it instead of leaving a crash.
#pragma once

#include <atomic>

namespace heed {

inline std::atomic<bool> exhausted{false};

/// The libraries in use that are known to crash then, or null: a crash within them is attributed to it.
inline std::atomic<const char*> fragile_libraries{nullptr};
// A signal handler reads both.
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

/// Marks such libraries as in use for its lifetime. A failed allocation ends the tool before they crash
/// (lib/cli/executable); what remains is a stack that cannot grow, which looks like any other crash.
class Fragile {
 public:
  explicit Fragile(const char* libraries) : before_(fragile_libraries.exchange(libraries)) {}
  Fragile(const Fragile&) = delete;
  ~Fragile() { fragile_libraries = before_; }

 private:
  const char* const before_;
};

}  // namespace heed
