#include "base/heap.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>

using namespace heed;

BOOST_AUTO_TEST_SUITE(heap)

#if !defined(__SANITIZE_ADDRESS__)  // whose heap is not glibc's
BOOST_AUTO_TEST_CASE(what_is_allocated_after_the_touched_pages_begins_a_huge_page) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) return;
  const pid_t child = fork();  // whose heap alone is set up
  if (child == 0) {
    constexpr std::size_t size = std::size_t{1} << 20, huge = std::size_t{2} << 20;
    keep_freed_memory();
    const HeapMemory first = take_touched_pages();
    const HeapMemory at_page(std::malloc(size));  // touches the page behind it, too
    const HeapMemory second = take_touched_pages();
    const HeapMemory at_next(std::malloc(size));
    const auto of = [](const HeapMemory& memory) { return reinterpret_cast<std::uintptr_t>(memory.get()); };
    const bool right = first && second && of(at_page) % huge == 0 && of(at_next) == of(at_page) + huge;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}
#endif

BOOST_AUTO_TEST_CASE(zeros_are_zeros_and_large_ones_begin_a_page) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20, (std::size_t{32} << 20) - 1,
        std::size_t{32} << 20, (std::size_t{32} << 20) + 12'345}) {
    auto* const memory = static_cast<char*>(allocate_zeros(bytes));
    BOOST_REQUIRE(memory);
    if (bytes >= std::size_t{32} << 20)
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(memory) % (2 << 20) == 0u);
    BOOST_TEST(std::all_of(memory, memory + bytes, [](char c) { return c == 0; }));
    std::fill_n(memory, bytes, 'x');  // all of it can be written
    free_zeros(memory, bytes);
  }
}

BOOST_AUTO_TEST_SUITE_END()
