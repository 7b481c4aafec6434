#include "base/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace heed {
namespace {

constexpr std::uintptr_t kPage = 4096, kHugePage = 512 * kPage;

std::uintptr_t end_of_huge_pages = 0;

/// The address of the heap's next allocation, and the first huge page entirely beyond it.
struct Next {
  std::uintptr_t memory, page;
};

Next next_of_heap() {
  constexpr std::size_t tried = 256 << 10;    // more than lies free between blocks
  void* volatile block = std::malloc(tried);  // volatile: else the compiler leaves both out
  const auto memory = reinterpret_cast<std::uintptr_t>(block);
  std::free(block);
  return {memory,
          (memory + tried + kHugePage) / kHugePage * kHugePage};  // malloc has written behind the block
}

bool is_touched(std::uintptr_t page) {
  std::array<unsigned char, kHugePage / kPage> present{};
  mincore(reinterpret_cast<void*>(page), kHugePage, present.data());
  return std::ranges::any_of(present, [](unsigned char flags) { return (flags & 1) != 0; });
}

}  // namespace

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc accepts
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  constexpr int first = 32 << 20, further = 1 << 20;
  mallopt(M_TOP_PAD, first);
  const auto [memory, from] = next_of_heap();  // the heap grows by it
  mallopt(M_TOP_PAD, further);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  if (memory == 0 || end <= from || madvise(reinterpret_cast<void*>(from), end - from, MADV_HUGEPAGE) != 0)
    return;
  end_of_huge_pages = end;
}

HeapMemory take_touched_pages() {
  constexpr std::uintptr_t most = 3 * kHugePage;
  auto [memory, page] = next_of_heap();
  const std::uintptr_t last = std::min(end_of_huge_pages, memory + most);
  while (page + kHugePage <= last && is_touched(page)) page += kHugePage;
  if (page + kHugePage > last) return nullptr;
  return HeapMemory(
      std::malloc(page - memory - sizeof(std::size_t)));  // what malloc writes behind it ends at the page
}

}  // namespace heed
