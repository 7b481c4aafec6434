// The heap's pages: the system gives 2 MiB at once for the time of about a hundred of 4 KiB.
#pragma once

#include <cstdlib>
#include <memory>

namespace heed {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using HeapMemory = std::unique_ptr<void, Free>;

/// Frames of about equal size follow each other: memory that one frees serves the next, and is not given back
/// to the system to be asked for again page by page. The first of it comes in huge pages where the system has them, which
/// a model fills in less than half the time; what is beyond is taken as it is needed.
void keep_freed_memory();

/// Takes the heap's next memory up to a huge page that nothing has touched, if one follows within 6 MiB, for as long as it is held.
/// Before a fork, so that what either process allocates then comes from pages of its own: those that both have are copied by
/// whoever writes to them, huge ones 4 KiB at a time.
HeapMemory take_touched_pages();

}  // namespace heed
