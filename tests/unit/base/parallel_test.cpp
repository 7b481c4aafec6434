#include "base/parallel.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

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

BOOST_AUTO_TEST_CASE(every_task_runs_once_whatever_the_number_of_threads) {
  for (const int threads : {1, 2, 5, 100}) {
    for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      parallel_for(count, threads, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
      for (const auto& n : runs) BOOST_TEST(n == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(tasks_of_one_call_run_side_by_side) {
  std::atomic<int> there{0};
  parallel_for(3, 3, [&](std::int64_t) {
    ++there;
    while (there < 3) std::this_thread::yield();  // never ends with fewer threads
  });
  BOOST_TEST(there == 3);
}

BOOST_AUTO_TEST_CASE(tasks_may_have_tasks_of_their_own) {
  std::atomic<int> runs{0};
  parallel_for(4, 3, [&](std::int64_t) { parallel_for(5, 2, [&](std::int64_t) { ++runs; }); });
  BOOST_TEST(runs == 20);
}

BOOST_AUTO_TEST_CASE(the_first_failure_is_thrown_after_all_tasks_have_run) {
  for (const int threads : {1, 3}) {
    std::atomic<int> runs{0};
    std::string message;
    try {
      parallel_for(20, threads, [&](std::int64_t i) {
        ++runs;
        if (i % 7 == 3) throw std::runtime_error(std::to_string(i));
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    BOOST_TEST(message == "3");
    BOOST_TEST(runs == 20);
  }
}

BOOST_AUTO_TEST_CASE(threads_serve_later_calls) {
  thread_local int calls = 0;  // begins at 0 in a new thread
  int of_task[2] = {};
  for (int call = 0; call < 50; ++call) {
    std::atomic<int> there{0};
    parallel_for(2, 2, [&](std::int64_t i) {
      ++there;
      while (there < 2) std::this_thread::yield();
      of_task[i] = ++calls;
    });
  }
  BOOST_TEST(of_task[0] == 50);
  BOOST_TEST(of_task[1] == 50);
}

BOOST_AUTO_TEST_CASE(a_task_runs_while_the_caller_goes_on) {
  std::atomic<int> step{0};
  Aside task([&] {
    while (step == 0) std::this_thread::yield();  // for ever unless the caller goes on
    step = 2;
  });
  step = 1;
  while (step == 1) std::this_thread::yield();  // for ever unless another thread runs it
  task.wait();
  task.wait();
  BOOST_TEST(step == 2);
}

BOOST_AUTO_TEST_CASE(a_failure_is_thrown_when_the_task_is_awaited) {
  int runs = 0;
  Aside task([&] { throw std::runtime_error(std::to_string(++runs)); });
  BOOST_CHECK_EXCEPTION(task.wait(), std::runtime_error,
                        [](const std::runtime_error& error) { return error.what() == std::string("1"); });
  task.wait();
  {
    Aside forgotten([&] { throw std::runtime_error(std::to_string(++runs)); });
  }
  BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(a_forked_child_has_no_helpers_and_does_all_tasks_itself) {
  const auto runs_all = [] {
    std::atomic<int> runs{0};
    parallel_for(100, 4, [&](std::int64_t) { ++runs; });
    return runs == 100;
  };
  BOOST_TEST(runs_all());
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a helper that is waited for in vain ends the child
    _exit(runs_all() ? 0 : 1);
  }
  BOOST_REQUIRE(child > 0);
  int status = -1;
  BOOST_TEST(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()
