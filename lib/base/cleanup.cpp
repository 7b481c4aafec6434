#include "base/cleanup.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

namespace heed {
namespace {

// A signal handler may use neither the heap nor locks, hence a table of fixed size with atomic slots.
enum State { empty, changing, live };
struct Slot {
  std::atomic<int> state{empty};
  char path[4096];
};
constinit Slot table[32] = {};  // zeros from the start: no page of it is touched before it is used
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

int register_temporary(const std::string& path) noexcept {
  if (path.size() >= sizeof table[0].path) return -1;
  for (int i = 0; i < static_cast<int>(std::size(table)); ++i) {
    int expected = empty;
    if (!table[i].state.compare_exchange_strong(expected, changing)) continue;
    std::memcpy(table[i].path, path.c_str(), path.size() + 1);
    table[i].state = live;
    return i;
  }
  return -1;
}

void unregister_temporary(int slot) noexcept {
  if (slot >= 0) table[slot].state = empty;
}

void unlink_temporaries() noexcept {
  for (Slot& slot : table) {
    if (slot.state == live) unlink(slot.path);
  }
}

}  // namespace heed
