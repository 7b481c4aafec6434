// The heap's pages: the system provides 2 MiB at once in the time of about a hundred pages of 4 KiB.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace heed {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using HeapMemory = std::unique_ptr<void, Free>;

/// Frames have similar sizes: memory freed by one is kept for the next instead of being returned to the
/// system and requested again page by page. The first part of it uses huge pages where available, which
/// a model fills in less than half the time; the rest is taken as needed.
void keep_freed_memory();

/// Reserves, for its lifetime, the heap's memory up to the next untouched huge page, if one follows within 6
/// MiB. Call it before a fork, so that later allocations of either process use pages of its own: shared pages
/// are copied by the process that writes to them, huge ones 4 KiB at a time.
HeapMemory take_touched_pages();

/// Memory of zeros, which takes none until it is written. From 32 MB on it is not of the heap: it begins with a page,
/// and a huge one where available. Throws std::bad_alloc.
void* allocate_zeros(std::size_t bytes);
void free_zeros(void* memory, std::size_t bytes);

}  // namespace heed
