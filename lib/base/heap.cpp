#include "base/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

namespace heed {
namespace {

constexpr std::uintptr_t kPage = 4096, kHugePage = 512 * kPage;
/// From here on glibc asks the system for the memory of each allocation; more it does not accept.
constexpr std::size_t kLarge = std::size_t{32} << 20;

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
  mallopt(M_MMAP_THRESHOLD, kLarge);
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

void* allocate_zeros(std::size_t bytes) {
  if (bytes < kLarge) {
    if (void* const zeros = std::calloc(bytes, 1)) return zeros;
    throw std::bad_alloc();
  }
  void* const mapped =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  // What lies around the part that begins with a huge page goes back.
  auto* const first = static_cast<std::byte*>(mapped);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(mapped) % kHugePage) % kHugePage,
                    used = (bytes + kPage - 1) / kPage * kPage;
  if (before > 0) munmap(first, before);
  if (before + used < bytes + kHugePage) munmap(first + before + used, bytes + kHugePage - before - used);
  madvise(first + before, used, MADV_HUGEPAGE);  // if not, then not
  return first + before;
}

void free_zeros(void* memory, std::size_t bytes) {
  if (bytes < kLarge)
    std::free(memory);
  else
    munmap(memory, bytes);
}

}  // namespace heed
