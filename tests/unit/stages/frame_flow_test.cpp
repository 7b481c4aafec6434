// Frames on several threads: what is computed when, what is written in which order, and which error comes of several.
#include "stages/frame_flow.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/sentence_error.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

using namespace heed;
using heed::test::error_of;
using heed::test::TemporaryFolder;

namespace {

constexpr std::int64_t kFrames = 40, kSentences = 3;

/// Sentences with their numbers, `first` and on, in frames of kSentences when they are read.
void write_numbers(const std::string& path, std::int64_t first, std::int64_t count) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(first + i));
  TensorMap map;
  map.add("numbers/values", Tensor::of<float>(numbers, {count, 1}, {"sentence", "dim"}));
  io::write_map(path, map);
}

float first_number(const TensorMap& frame) {
  return frame.at("numbers/values").values<float>()[0];
}

/// What happened, and what is to happen, in a run over the frames. (Boost's own checks are for one thread.)
struct Events {
  std::mutex mutex;
  std::int64_t begun = 0, finished = 0, most_open = 0, wrong = 0;
  std::vector<float> written;
  std::set<std::thread::id> threads;

  std::int64_t parts = 4;
  std::size_t most_written = SIZE_MAX;  ///< after which writing fails
  std::function<void(float number)> begin = [](float) {};
  std::function<void(float number, std::int64_t part)> compute = [](float, std::int64_t) {};
  std::function<void(float number)> write = [](float) {};
};

class CountedWork final : public FrameWork {
 public:
  CountedWork(Events& events, TensorMap& frame)
      : events_(events), frame_(frame), number_(first_number(frame)), counts_(events.parts) {
    events_.begin(number_);
    const std::lock_guard lock(events_.mutex);
    ++events_.begun;
    events_.most_open =
        std::max(events_.most_open, events_.begun - static_cast<std::int64_t>(events_.written.size()));
  }
  std::int64_t parts() const override { return std::ssize(counts_); }
  void compute(std::int64_t part) override {
    events_.compute(number_, part);
    ++counts_[static_cast<std::size_t>(part)];
    const std::lock_guard lock(events_.mutex);
    events_.threads.insert(std::this_thread::get_id());
  }
  void finish() override {
    frame_.add("numbers/negative", Tensor::of<float>(std::vector<float>{-number_}, {1}, {"dim"}));
    const std::lock_guard lock(events_.mutex);
    ++events_.finished;
    events_.wrong += std::ranges::any_of(counts_, [](const auto& count) { return count != 1; });
  }

 private:
  Events& events_;
  TensorMap& frame_;
  float number_;
  std::vector<std::atomic<int>> counts_;
};

void run(io::FrameReader& reader, Events& events, int threads, bool one_at_a_time = false) {
  for_each_frame(
      reader, [](TensorMap&, const std::string&) {},
      [&](TensorMap& frame) { return std::make_unique<CountedWork>(events, frame); },
      [&](TensorMap& frame, FrameWork&) {
        const float number = first_number(frame);
        events.write(number);
        const std::lock_guard lock(events.mutex);
        if (events.written.size() == events.most_written) fail("enough");
        events.written.push_back(number);
        events.wrong += frame.at("numbers/negative").values<float>()[0] != -number;
      },
      threads, one_at_a_time);
}

std::vector<float> numbers_until(std::int64_t end, std::int64_t step = kSentences) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < end; i += step) numbers.push_back(static_cast<float>(i));
  return numbers;
}

struct Input {
  TemporaryFolder folder;
  std::string path = folder / "numbers.h5";
  Input() { write_numbers(path, 0, kFrames * kSentences); }
  io::FrameReader reader() const { return io::FrameReader(path, {.batch = kSentences}); }
};

/// Of the test that runs: the parts that are being computed, and the most of them at a fork.
std::atomic<int> running{0}, running_at_fork{0}, forks{0};

void see_fork() {
  ++forks;
  running_at_fork = std::max(running_at_fork.load(), running.load());
}

void wait_a_little() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_are_written_in_order_whatever_the_threads) {
  const Input input;
  for (const int threads : {1, 2, 5}) {
    for (const std::int64_t parts : {0, 1, 4}) {
      Events events;
      events.parts = parts;
      // The first frames take longest, so that later ones are finished before them.
      events.compute = [](float number, std::int64_t) {
        if (static_cast<int>(number) % 12 == 0) wait_a_little();
      };
      io::FrameReader reader = input.reader();
      run(reader, events, threads);
      BOOST_TEST(events.written == numbers_until(kFrames * kSentences), boost::test_tools::per_element());
      BOOST_TEST(events.finished == kFrames);
      BOOST_TEST(events.wrong == 0);
      BOOST_TEST(events.threads.size() <= static_cast<std::size_t>(threads));
    }
  }
}

BOOST_AUTO_TEST_CASE(threads_share_a_frame) {
  const Input input;
  std::atomic<int> at_once{0}, most{0};
  Events events;
  events.parts = 2;
  // Each part waits for the other one, for a while.
  events.compute = [&](float, std::int64_t) {
    if (++at_once == 2) most = 2;
    for (int i = 0; i < 1000 && most < 2; ++i) wait_a_little();
    --at_once;
  };
  io::FrameReader reader = input.reader();
  run(reader, events, 2, true);
  BOOST_TEST(most == 2);
}

BOOST_AUTO_TEST_CASE(one_frame_at_a_time_is_finished_before_the_next_is_begun) {
  const Input input;
  Events events;
  io::FrameReader reader = input.reader();
  std::int64_t begun = 0;
  for_each_frame(
      reader, [](TensorMap&, const std::string&) {},
      [&](TensorMap& frame) {
        events.wrong += events.finished != begun++;
        return std::make_unique<CountedWork>(events, frame);
      },
      [](TensorMap&, FrameWork&) { wait_a_little(); }, 4, true);
  BOOST_TEST(events.finished == kFrames);
  BOOST_TEST(events.wrong == 0);
}

BOOST_AUTO_TEST_CASE(frames_that_wait_for_a_slow_writer_are_few_or_small) {
  const TemporaryFolder folder;
  const std::string path = folder / "numbers.h5";
  constexpr std::int64_t large = 300'000;  // 1.2 MB
  write_numbers(path, 0, 12 * large);
  for (const auto& [sentences, least, most] :
       {std::tuple{large, 2, 5}, std::tuple<std::int64_t, int, int>{5, 20, 300}}) {
    Events events;
    events.most_written = 6;
    // The writer waits until as many frames are there as may be, and then for more.
    events.write = [&, wanted = least](float) {
      for (int i = 0; i < 5000; ++i) {
        wait_a_little();
        const std::lock_guard lock(events.mutex);
        if (events.begun - std::ssize(events.written) >= wanted) break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
    io::FrameReader reader(path, {.batch = sentences});
    try {
      run(reader, events, 3);
    } catch (const Error&) {  // enough has been written
    }
    // Of large frames one that is written, one that waits, and one for each thread.
    BOOST_TEST(events.most_open >= least);
    BOOST_TEST(events.most_open <= most);
  }
}

BOOST_AUTO_TEST_CASE(the_error_is_that_of_the_first_frame_and_part) {
  const Input input;
  for (const int threads : {1, 2, 5}) {
    for (const std::int64_t last : {1, 2}) {  // of the two parts that fail; other frames have failed before
      Events events;
      events.compute = [&](float number, std::int64_t part) {
        if (number < 12 || part < 1 || part > 2) return;
        if (number == 12 && part == last) wait_a_little();
        if (part == 1) throw SentenceError(2, "is bad");
        fail("part 2");
      };
      io::FrameReader reader = input.reader();
      BOOST_TEST(error_of([&] { run(reader, events, threads); }) == input.path + ": sentence 15: is bad");
      BOOST_TEST(events.written == numbers_until(12), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(little_is_read_after_a_part_has_failed) {
  const Input input;
  Events events;
  events.parts = 2;
  events.compute = [](float number, std::int64_t part) {
    std::this_thread::sleep_for(std::chrono::milliseconds(part == 0 ? 10 : 60));  // so that both are begun
    if (number == 0 && part == 0) fail("refused");
  };
  io::FrameReader reader = input.reader();
  BOOST_TEST(error_of([&] { run(reader, events, 3); }) == input.path + ": refused");
  BOOST_TEST(events.begun <= 4);
}

BOOST_AUTO_TEST_CASE(nothing_is_written_after_a_failed_write) {
  const Input input;
  for (const int threads : {1, 2, 5}) {
    Events events;
    events.write = [](float number) {
      if (number == 9) fail("the disk is full");
    };
    io::FrameReader reader = input.reader();
    BOOST_TEST(error_of([&] { run(reader, events, threads); }) == "the disk is full");
    BOOST_TEST(events.written == numbers_until(9), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(frames_before_one_that_cannot_be_begun_are_written) {
  const Input input;
  for (const int threads : {1, 3}) {
    Events events;
    events.begin = [](float number) {
      if (number == 15) fail("/numbers is odd");
    };
    io::FrameReader reader = input.reader();
    BOOST_TEST(error_of([&] { run(reader, events, threads); }) == input.path + ":/numbers is odd");
    BOOST_TEST(events.written == numbers_until(15), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_error_about_an_option_stays_as_it_is) {
  const Input input;
  for (const int threads : {1, 3}) {
    Events events;
    events.compute = [](float number, std::int64_t) {
      if (number == 6) fail<UsageError>("--option");
    };
    io::FrameReader reader = input.reader();
    BOOST_CHECK_EXCEPTION(run(reader, events, threads), UsageError,
                          [](const Error& e) { return e.what() == std::string("--option"); });
  }
}

BOOST_AUTO_TEST_CASE(an_error_about_another_file_stays_as_it_is) {
  const Input input;
  Events events;
  events.begin = [](float) { fail<FileError>("/dev/full: cannot write"); };
  io::FrameReader reader = input.reader();
  BOOST_TEST(error_of([&] { run(reader, events, 1); }) == "/dev/full: cannot write");
}

BOOST_AUTO_TEST_CASE(sentences_are_counted_within_their_input) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths{folder / "a", folder / "b"};
  for (const std::string& path : paths) write_numbers(path, 0, 20);
  for (const int threads : {1, 3}) {
    std::atomic<int> seen{0};
    Events events;
    events.parts = 1;
    events.compute = [&](float number, std::int64_t) {
      if (number == 6 && ++seen == 2) throw SentenceError(1, "is bad");
    };
    io::FrameReader reader(paths, {.batch = kSentences});
    BOOST_TEST(error_of([&] { run(reader, events, threads); }) == paths[1] + ": sentence 8: is bad");
  }
}

BOOST_AUTO_TEST_CASE(an_error_does_not_wait_for_more_input) {
  enum class Where { begin, compute, write };
  for (const Where where : {Where::begin, Where::compute, Where::write}) {
    for (const int threads : {1, 2, 4}) {
      int ends[2];
      BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
      const std::string in = "/dev/fd/" + std::to_string(ends[0]), out = "/dev/fd/" + std::to_string(ends[1]);
      io::FrameReader reader(in);
      io::FrameWriter writer(out);  // which does not end the stream
      TensorMap map;
      map.add("numbers/values", Tensor::of<float>(std::vector<float>{0}, {1, 1}, {"sentence", "dim"}));
      writer.write(map);
      Events events;
      const auto refuse = [](auto...) { fail("refused"); };
      if (where == Where::begin) events.begin = refuse;
      if (where == Where::compute) events.compute = refuse;
      if (where == Where::write) events.write = refuse;
      BOOST_TEST(error_of([&] { run(reader, events, threads); }).ends_with("refused"));
      close(ends[0]), close(ends[1]);
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_runs_while_a_further_input_is_opened) {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  for (std::int64_t i = 0; i < 20; ++i) {
    paths.push_back(folder / std::to_string(i));
    write_numbers(paths.back(), 0, 7);
  }
  Events events;
  events.compute = [&](float, std::int64_t) {
    ++running;
    wait_a_little();
    --running;
  };
  io::FrameReader reader(paths, {.batch = kSentences});
  pthread_atfork(see_fork, nullptr, nullptr);
  forks = running_at_fork = 0;
  run(reader, events, 3);
  BOOST_TEST(forks == 19);  // the first was open
  BOOST_TEST(running_at_fork == 0);
  std::vector<float> wanted;
  for (int i = 0; i < 20; ++i) wanted.insert(wanted.end(), {0.0f, 3.0f, 6.0f});
  BOOST_TEST(events.written == wanted, boost::test_tools::per_element());
}
