#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <functional>

using namespace heed;
using namespace std::chrono_literals;

namespace {

/// What `work` writes to stderr (which is a file meanwhile, not a terminal).
std::string stderr_of(const std::function<void()>& work) {
  std::FILE* file = std::tmpfile();
  BOOST_REQUIRE(file);
  int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  work();
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

void say_everything() {
  logging::note("a note");
  logging::verbose("a detail");
  logging::warn("a warning\nin two lines");
}

std::string progress(logging::When when, logging::Level level, logging::Progress::Clock::duration interval) {
  logging::configure({"train", level, when});
  return stderr_of([&] {
    logging::Progress progress("epoch 3", 50, interval);
    if (when == logging::When::always) usleep(120'000);  // bars are drawn ten times a second at most
    progress.update(10, "loss 2.5");
    progress.update(11, "loss 2.4");
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_messages)

BOOST_AUTO_TEST_CASE(levels_let_through_what_they_promise) {
  const std::string warning = "tool: warning: a warning\\nin two lines\n";
  logging::configure({"tool", logging::Level::quiet, logging::When::never});
  BOOST_CHECK_EQUAL(stderr_of(say_everything), warning);
  logging::configure({"tool", logging::Level::normal, logging::When::never});
  BOOST_CHECK_EQUAL(stderr_of(say_everything), "tool: a note\n" + warning);
  logging::configure({"tool", logging::Level::verbose, logging::When::never});
  BOOST_CHECK_EQUAL(stderr_of(say_everything), "tool: a note\ntool: a detail\n" + warning);
}

BOOST_AUTO_TEST_CASE(progress_in_a_log_is_a_line_per_interval) {
  std::string lines = progress(logging::When::automatic, logging::Level::normal, 0s);
  BOOST_CHECK_EQUAL(lines,
                    "train: epoch 3 10/50, loss 2.5, 0 s left\n"
                    "train: epoch 3 11/50, loss 2.4, 0 s left\n");
  BOOST_CHECK_EQUAL(progress(logging::When::automatic, logging::Level::normal, 1h), "");
  BOOST_CHECK_EQUAL(progress(logging::When::automatic, logging::Level::quiet, 0s), "");
  BOOST_CHECK_EQUAL(progress(logging::When::never, logging::Level::normal, 0s), "");
}

BOOST_AUTO_TEST_CASE(what_is_left_obeys_a_limit_of_time) {
  logging::configure({"train", logging::Level::normal, logging::When::automatic});
  const auto line = [](std::int64_t done, std::int64_t total, double limit) {
    return stderr_of([&] {
      logging::Progress progress("updates", total, 0s, limit);
      usleep(20'000);
      progress.update(done);
    });
  };
  BOOST_CHECK_EQUAL(line(1, 1'000'000, 120), "train: updates 1/1000000, 2:00 min left\n");
  BOOST_CHECK_EQUAL(line(1, 0, 120), "train: updates 1, 2:00 min left\n");
  BOOST_CHECK_EQUAL(line(9, 10, 120), "train: updates 9/10, 0 s left\n");  // the work ends first
  BOOST_CHECK_EQUAL(line(1, 0, 0.001), "train: updates 1, 0 s left\n");
}

BOOST_AUTO_TEST_CASE(a_progress_bar_is_redrawn_and_removed) {
  std::string text = progress(logging::When::always, logging::Level::normal, 1h);
  BOOST_CHECK(text.starts_with("\r\x1b[Kepoch 3 [####----------------] 10/50, loss 2.5"));
  BOOST_CHECK(text.ends_with("\r\x1b[K"));
  BOOST_CHECK(text.find("loss 2.4") == std::string::npos);  // too soon after the first
}

BOOST_AUTO_TEST_CASE(bars_and_durations) {
  BOOST_CHECK_EQUAL(logging::bar(1, 4, 8), "[##------] 1/4");
  BOOST_CHECK_EQUAL(logging::bar(9, 4, 8), "[########] 9/4");
  BOOST_CHECK_EQUAL(logging::bar(0, 0, 3), "[---] 0/0");
  BOOST_CHECK_EQUAL(logging::duration(42.4), "42 s");
  BOOST_CHECK_EQUAL(logging::duration(187), "3:07 min");
  BOOST_CHECK_EQUAL(logging::duration(3729), "1:02:09 h");
}

BOOST_AUTO_TEST_SUITE_END()
