// Tensor maps through pipes: splitting, end of stream, early end, foreign and damaged input.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <thread>

#include "io/byte_stream.h"
#include "io/frame_stream.h"
#include "io/image.h"
#include "samples.h"

using namespace heed;
using namespace heed::io;
using namespace heed::io::test;

namespace {

std::string image_of(const TensorMap& map, bool is_last, bool is_first = false) {
  const auto bytes = to_image(map, {}, {is_first, is_last}, "test");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Writes into a pipe at the same time: a process, because a thread may hold the lock of AddressSanitizer's
/// allocator at the moment when a reader forks, and its child then waits for ever.
class Producer {
 public:
  template <class Write>
  Producer(Pipe& pipe, Write write) : id_(fork()) {
    BOOST_REQUIRE(id_ >= 0);
    if (id_ == 0) {
      close(pipe.fd[0]);
      write();
      _exit(0);
    }
    pipe.close_write();
  }
  void join() { waitpid(id_, nullptr, 0); }

 private:
  pid_t id_;
};

/// All frames of a stream with these bytes; the producer sends them in pieces of `piece` bytes.
std::vector<TensorMap> frames_of(const std::string& bytes, std::size_t piece = 1 << 16) {
  Pipe pipe;
  Producer producer(pipe, [&] {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const std::size_t size = std::min(piece, bytes.size() - at);
      if (write(pipe.fd[1], bytes.data() + at, size) != static_cast<ssize_t>(size)) break;
      if (piece < 100) sched_yield();
    }
  });
  std::vector<TensorMap> frames;
  try {
    FrameReader reader(pipe.read_path());
    for (TensorMap frame; reader.next(frame);) frames.push_back(frame);
  } catch (...) {
    for (std::array<std::byte, 4096> rest; read_some(pipe.fd[0], rest, "rest") > 0;) {
    }
    producer.join();
    throw;
  }
  producer.join();
  return frames;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_cross_a_pipe) {
  Pipe pipe;
  Producer producer(pipe, [&] {
    FrameWriter writer(pipe.write_path(), {"encode", true});
    writer.write(sentences(0, 3, 4));
    writer.write(sentences(3, 5, 2));
    writer.finish();
  });
  FrameReader reader(pipe.read_path());
  TensorMap frame;
  BOOST_REQUIRE(reader.next(frame));
  TensorMap first = sentences(0, 3, 4);
  check_equal(frame.at("encoder/length"), first.at("encoder/length"));
  BOOST_CHECK_EQUAL(to_string(frame.at("encoder/states").shape()), "[3, 3, 3]");  // longest sentence: 3
  BOOST_CHECK_EQUAL(std::get<std::string>(frame.attributes.at("history")), "encode");
  BOOST_REQUIRE(reader.next(frame));
  check_equal(frame, sentences(3, 5, 2));
  BOOST_CHECK(!reader.next(frame));
  producer.join();
}

BOOST_AUTO_TEST_CASE(short_reads_do_not_matter) {
  const TensorMap one = sentences(0, 2, 2), two = sentences(2, 4, 2);
  const std::string stream = image_of(one, false) + image_of(two, false) + image_of(TensorMap(), true);
  for (const std::size_t piece : {7, 1000, 4099}) {
    const auto frames = frames_of(stream, piece);
    BOOST_REQUIRE_EQUAL(frames.size(), 2);
    check_equal(frames[0], one);
    check_equal(frames[1], two);
  }
}

BOOST_AUTO_TEST_CASE(input_without_its_end_is_refused) {
  const std::string frame = image_of(sentences(0, 2, 2), false);
  const std::string end = image_of(TensorMap(), true);
  check_fails([&] { frames_of(""); }, {"empty", "did the previous command fail?"});
  check_fails([&] { frames_of(frame); }, {"input ended early", "did the previous command fail?"});
  check_fails([&] { frames_of(frame + end + "x"); }, {"extra bytes after the end"});
  check_fails([&] { frames_of(frame + end + frame); }, {"input ended early"});
  BOOST_CHECK_EQUAL(frames_of(frame + end + frame + end).size(), 2);
  check_fails(
      [&] { frames_of(frame + "garbage that is long enough to hold a whole superblock, in all versions"); },
      {"frame 2", "not HDF5"});
  BOOST_CHECK_EQUAL(frames_of(end).size(), 0);
}

BOOST_AUTO_TEST_CASE(a_stream_that_was_cut_is_refused_though_another_follows) {
  const std::string first = image_of(sentences(0, 2, 2), false, true),
                    more = image_of(sentences(2, 4, 2), false), end = image_of(TensorMap(), true);
  BOOST_CHECK_EQUAL(frames_of(first + more + end + first + end).size(), 3);
  check_fails([&] { frames_of(first + more + first + end); },
              {"ended early, after frame 2", "another follows"});
  check_fails([&] { frames_of(first + image_of(TensorMap(), true, true)); }, {"ended early, after frame 1"});
}

BOOST_AUTO_TEST_CASE(every_prefix_of_a_stream_is_refused) {
  TensorMap map;
  map.add("x", Tensor::of<float>({1, 2, 3}, {3}));
  const std::string stream = image_of(map, false) + image_of(TensorMap(), true);
  for (std::size_t size = 0; size < stream.size(); size += size < 50 ? 1 : 101) {
    BOOST_REQUIRE_THROW(frames_of(stream.substr(0, size)), Error);
  }
  BOOST_CHECK_EQUAL(frames_of(stream).size(), 1);
}

BOOST_AUTO_TEST_CASE(a_written_file_can_be_piped) {
  TemporaryFolder folder;
  const TensorMap map = sentences(0, 70, 6);
  write_map(folder / "x.h5", map);
  const auto frames = frames_of(bytes_of(folder / "x.h5"));
  BOOST_REQUIRE_EQUAL(frames.size(), 2);  // 64 sentences and 6
  BOOST_CHECK_EQUAL(frames[1].at("encoder/states").shape()[0], 6);
}

BOOST_AUTO_TEST_CASE(a_stream_saved_to_a_file_is_read_to_its_end) {
  TemporaryFolder folder;
  put_bytes(folder / "saved.h5", image_of(sentences(0, 2, 2), false) + image_of(sentences(2, 2, 2), true));
  FrameReader reader(folder / "saved.h5");
  TensorMap frame;
  int frames = 0;
  while (reader.next(frame)) ++frames;
  BOOST_CHECK_EQUAL(frames, 2);
}

BOOST_AUTO_TEST_CASE(several_paths_are_one_input) {
  TemporaryFolder folder;
  write_map(folder / "a.h5", sentences(0, 3, 4));
  write_map(folder / "b.h5", sentences(3, 5, 2));
  FrameReader reader(std::vector<std::string>{folder / "a.h5", folder / "b.h5"});
  BOOST_CHECK_EQUAL(reader.sentences(), 0);  // known of one file only
  BOOST_CHECK_EQUAL(FrameReader(folder / "a.h5").sentences(), 3);
  TensorMap frame;
  BOOST_REQUIRE(reader.next(frame));
  BOOST_CHECK_EQUAL(reader.name(), folder / "a.h5");
  BOOST_REQUIRE(reader.next(frame));
  BOOST_CHECK_EQUAL(reader.name(), folder / "b.h5");
  check_equal(frame, sentences(3, 5, 2));
  BOOST_CHECK(!reader.next(frame));
  check_fails(
      [&] {
        FrameReader(std::vector<std::string>{folder / "a.h5", folder / "none.h5"});
      },
      {"none.h5", "No such file"});
}

BOOST_AUTO_TEST_CASE(an_input_that_was_begun_says_what_is_wrong_when_it_is_asked) {
  const TemporaryFolder folder;
  put_bytes(folder / "text",
            "no HDF5 data, and longer than what says how long an image is, which is 48 bytes");
  FrameReader reader = FrameReader::begin({folder / "text"});
  TensorMap frame;
  BOOST_CHECK_THROW(reader.next(frame), Error);
  BOOST_CHECK_THROW(FrameReader({folder / "text"}), Error);
  BOOST_CHECK_THROW(FrameReader::begin({folder / "missing"}), Error);
}

BOOST_AUTO_TEST_CASE(the_batch_can_be_chosen_when_the_input_is_open) {
  const TemporaryFolder folder;
  write_map(folder / "seven.h5", sentences(0, 7, 3));
  FrameReader reader = FrameReader::begin({folder / "seven.h5"}, {.batch = 1});
  BOOST_TEST(reader.sentences() == 7);
  std::vector<std::int64_t> counts;
  reader.set_batch(3);
  for (TensorMap frame; reader.next(frame);) counts.push_back(frame.at("encoder/length").size());
  BOOST_TEST(counts == (std::vector<std::int64_t>{3, 3, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rows_of_numbers_are_an_array) {
  TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    put_bytes(folder / "x", text);
    return read_map(folder / "x").at("array");
  };
  const auto expect = [](const Tensor& got, const Shape& shape, const std::vector<double>& values) {
    BOOST_TEST(got.shape() == shape);
    const auto found = got.values<double>();
    BOOST_TEST(std::vector<double>(found.begin(), found.end()) == values);
  };
  expect(read("1 0.5\n-2e3\t+4\n"), {2, 2}, {1, 0.5, -2000, 4});
  expect(read("\xEF\xBB\xBF# x,y\r\n1, 2 ,3\r\n\r\n4,5,6"), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect(read("7"), {1, 1}, {7});
  expect(frames_of("1 2\n3 inf\n", 3).at(0).at("array"), {2, 2}, {1, 2, 3, INFINITY});
  check_fails([&] { read("1 2\n3\n"); }, {"x:2: 1 number, wanted 2"});
  check_fails([&] { read("1 2\n3 cats\n"); }, {"x:2: field 2 is 'cats', not a number"});
  check_fails([&] { read("1,,2\n"); }, {"field 2 is ''"});
  check_fails([&] { read("# nothing\n"); }, {"no numbers"});
  check_fails([&] { read("the cat\n"); }, {"looks like text, but not rows of numbers; wanted tensors"});
  check_fails([&] { read("inf cat\n"); }, {"looks like text"});
  check_fails([&] { read(std::string("GGUF\3\0\0\0\5", 9)); }, {"a model of llama.cpp (GGUF)"});
  check_fails([&] { read(std::string("\1\0\0\0\0\0\0\0\5\0", 10)); }, {"a binary model of Marian"});
}

BOOST_AUTO_TEST_CASE(one_map_where_one_is_expected) {
  TemporaryFolder folder;
  put_bytes(folder / "two.h5", image_of(sentences(0, 2, 2), false) + image_of(sentences(2, 2, 2), true));
  check_fails([&] { read_map(folder / "two.h5"); }, {"several frames"});
  put_bytes(folder / "one.h5", image_of(sentences(0, 2, 2), false) + image_of(TensorMap(), true));
  check_equal(read_map(folder / "one.h5"), sentences(0, 2, 2));
}

BOOST_AUTO_TEST_CASE(other_data_is_named) {
  check_fails([&] { frames_of(std::string("\x1f\x8b\x08\x00", 4) + std::string(100, 'z')); },
              {"not an HDF5 file", "gzip", "\\x08"});
  check_fails([&] { frames_of("A man in a blue shirt is standing on a ladder cleaning a window.\n"); },
              {"not an HDF5 file", "text", "A man in"});
  check_fails([&] { frames_of("\x89PNG\r\n\x1a\n" + std::string(100, 'p')); }, {"PNG"});
  check_fails([&] { frames_of("short"); }, {"not an HDF5 file", "short"});
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_named) {
  FrameWriter writer("/dev/full");
  check_fails([&] { writer.write(sentences(0, 2, 3)); }, {"/dev/full", "No space left on device"});
}

BOOST_AUTO_TEST_CASE(frames_given_away_are_written_in_order) {
  TemporaryFolder folder;
  const WriteOptions ahead{.command = "", .ahead = true};
  FrameWriter file(folder / "x.h5", ahead), kept(folder / "y.h5", ahead, folder / "z.h5");
  write_map(folder / "other.h5", sentences(0, 3, 4));
  for (int i = 0; i < 40; ++i) {
    file.write(sentences(7 * i, 7, 5));
    kept.write(sentences(7 * i, 7, 5));
    // HDF5 is also used here, and by the child of a fork.
    check_equal(read_map(folder / "other.h5"), sentences(0, 3, 4));
    write_map(folder / "again.h5", sentences(0, i, 4));
  }
  file.finish();
  kept.finish();
  for (const char* name : {"x.h5", "y.h5", "z.h5"})
    check_equal(read_map(folder / name), sentences(0, 280, 5));
}

BOOST_AUTO_TEST_CASE(frames_given_away_may_be_read_in_any_order) {
  for (const bool first_is_first : {true, false}) {
    Pipe left, right;  // neither holds a whole frame
    FrameReader first = FrameReader::begin({left.read_path()}),
                second = FrameReader::begin({right.read_path()});
    const auto frame = [] { return sentences(0, 64, 40, 400); };
    std::thread tool([&] {
      const WriteOptions ahead{.command = "", .ahead = true};
      FrameWriter one(left.write_path(), ahead), other(right.write_path(), ahead);
      one.write(frame());
      other.write(frame());
      one.finish();
      other.finish();
    });
    TensorMap read;
    BOOST_TEST((first_is_first ? first : second).next(read));
    check_equal(read, frame());
    BOOST_TEST((first_is_first ? second : first).next(read));
    check_equal(read, frame());
    tool.join();
  }
}

BOOST_AUTO_TEST_CASE(the_failure_of_a_frame_given_away_is_thrown_by_the_next_call) {
  const WriteOptions ahead{.command = "", .ahead = true};
  FrameWriter writer("/dev/full", ahead);
  writer.write(sentences(0, 2, 3));
  check_fails([&] { writer.write(sentences(2, 2, 3)); }, {"/dev/full", "No space left on device"});
  FrameWriter other("/dev/full", ahead);
  other.write(sentences(0, 2, 3));
  check_fails([&] { other.finish(); }, {"/dev/full", "No space left on device"});
  TemporaryFolder folder;
  {
    FrameWriter unfinished(folder / "x.h5", ahead);
    unfinished.write(sentences(0, 2, 3));
  }
  BOOST_TEST(folder.files().empty());
}

BOOST_AUTO_TEST_CASE(an_image_says_its_length) {
  for (const std::int64_t count : {0, 1, 64}) {
    const std::string image = image_of(sentences(0, count, 5), false);
    BOOST_CHECK_EQUAL(image[8], 3);
    std::uint64_t length;
    std::memcpy(&length, image.data() + 28, sizeof length);
    BOOST_CHECK_EQUAL(length, image.size());
  }
}

BOOST_AUTO_TEST_CASE(equal_frames_give_equal_images) {
  BOOST_CHECK(image_of(sentences(0, 9, 5), false) == image_of(sentences(0, 9, 5), false));
}

BOOST_AUTO_TEST_CASE(several_streams_are_open_at_once) {
  Pipe left, right, out;
  const std::string one = image_of(sentences(0, 2, 2), true), two = image_of(sentences(7, 3, 3), true);
  BOOST_REQUIRE(write(left.fd[1], one.data(), one.size()) == static_cast<ssize_t>(one.size()));
  BOOST_REQUIRE(write(right.fd[1], two.data(), two.size()) == static_cast<ssize_t>(two.size()));
  left.close_write();
  right.close_write();
  FrameReader first(left.read_path()), second(right.read_path());
  FrameWriter writer(out.write_path());
  TensorMap a, b;
  BOOST_REQUIRE(first.next(a) && second.next(b));
  writer.write(a);
  check_equal(a, sentences(0, 2, 2));
  check_equal(b, sentences(7, 3, 3));
}

BOOST_AUTO_TEST_CASE(nothing_stays_open) {
  auto open_descriptors = [] {
    const std::filesystem::directory_iterator folder("/proc/self/fd");
    return std::distance(begin(folder), end(folder));
  };
  TemporaryFolder folder;
  const TensorMap map = sentences(0, 5, 3);
  write_map(folder / "x.h5", map);
  const auto before = open_descriptors();
  for (int i = 0; i < 30; ++i) {
    write_map(folder / "x.h5", map);
    FrameReader reader(folder / "x.h5");
    TensorMap frame;
    BOOST_REQUIRE(reader.next(frame));
    put_bytes(folder / "bad.h5", bytes_of(folder / "x.h5").substr(0, 3000));
    BOOST_REQUIRE_THROW(FrameReader(folder / "bad.h5"), Error);
  }
  BOOST_CHECK_EQUAL(open_descriptors(), before);
}
