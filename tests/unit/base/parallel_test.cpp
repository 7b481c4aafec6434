#include "base/parallel.h"

#include <sched.h>

#include <boost/test/unit_test.hpp>

using namespace heed;

BOOST_AUTO_TEST_SUITE(parallel)

BOOST_AUTO_TEST_CASE(only_those_count_that_the_process_is_bound_to) {
  cpu_set_t all, one;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  BOOST_TEST(usable_cores() == CPU_COUNT(&all));
  CPU_ZERO(&one);
  int core = 0;
  while (!CPU_ISSET(core, &all)) ++core;
  CPU_SET(core, &one);
  BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const int bound = usable_cores();
  sched_setaffinity(0, sizeof all, &all);
  BOOST_TEST(bound == 1);
}

BOOST_AUTO_TEST_SUITE_END()
