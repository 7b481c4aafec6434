// Whether memory or threads were seen to have run out. Some libraries end the process when that happens to them;
// lib/cli then says so instead of leaving it at a crash.
#pragma once

#include <atomic>

namespace heed {

inline std::atomic<bool> exhausted{false};

/// The libraries in use of which it is known, or null: a crash within them is put down to it.
inline std::atomic<const char*> fragile_libraries{nullptr};
// A signal handler reads both.
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

/// For as long as such libraries are called. Where an allocation fails the tool has ended before they crash (lib/cli/executable);
/// what is left is a stack that cannot grow, which is a crash like any other.
class Fragile {
 public:
  explicit Fragile(const char* libraries) : before_(fragile_libraries.exchange(libraries)) {}
  Fragile(const Fragile&) = delete;
  ~Fragile() { fragile_libraries = before_; }

 private:
  const char* const before_;
};

}  // namespace heed
