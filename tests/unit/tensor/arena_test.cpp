#include "tensor/arena.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>

using namespace heed;

BOOST_AUTO_TEST_SUITE(arena)

BOOST_AUTO_TEST_CASE(what_is_reserved_lies_together) {
  constexpr std::int64_t part = 400 << 10;  // more than an arena's first memory
  Arena arena;
  arena.reserve(2 * part);
  const std::byte* first = arena.allocate<std::byte>(part);
  BOOST_TEST(arena.allocate<std::byte>(part) == first + part);
}

BOOST_AUTO_TEST_CASE(more_than_reserved_and_nothing_reserved_can_be_allocated) {
  for (const std::size_t reserved : {0, 64}) {
    Arena arena;
    arena.reserve(reserved);
    float* values = arena.allocate<float>(1 << 20);
    values[0] = 1, values[(1 << 20) - 1] = 2;
    float* others = arena.allocate<float>(1);
    others[0] = 3;
    BOOST_TEST(values[(1 << 20) - 1] == 2);
  }
}

BOOST_AUTO_TEST_CASE(reserving_later_changes_nothing) {
  Arena arena;
  const std::byte* first = arena.allocate<std::byte>(64);
  arena.reserve(1 << 20);
  BOOST_TEST(arena.allocate<std::byte>(64) == first + 64);
}

BOOST_AUTO_TEST_CASE(rewinding_gives_the_same_memory_again) {
  Arena arena;
  arena.allocate<float>(100);
  const Arena::Mark mark = arena.mark();
  const float* first = arena.allocate<float>(1 << 20);
  arena.rewind(mark);
  BOOST_TEST(arena.allocate<float>(1 << 20) == first);
}

BOOST_AUTO_TEST_SUITE_END()
