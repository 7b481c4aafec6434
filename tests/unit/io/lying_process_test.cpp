// A process that reads a file for a tool and lies, as one may that a hostile file has taken over: it can make
// the tool neither fetch more than the file has, nor take more memory than a file of that size is worth, nor
// look beyond what it said.
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>

#include "io/channel.h"
#include "io/columns.h"
#include "io/frame_stream.h"
#include "io/reading_process.h"
#include "samples.h"
#include "support/error_of.h"

using namespace heed;
using namespace heed::io;
using namespace heed::io::test;

namespace {

/// What the processes say that begin while one of these is there, after they have said that they have opened
/// the file.
class Lie {
 public:
  explicit Lie(std::function<void(Channel&)> words) { words_ = std::move(words); }
  Lie(const Lie&) = delete;
  ~Lie() { words_ = nullptr; }
  static bool is_wanted() { return static_cast<bool>(words_); }
  /// Takes a question.
  static void hear(Channel& channel) {
    std::int64_t wanted, batch;
    std::vector<std::string> only;
    channel.get(wanted), channel.get(batch), channel.get(only);
  }
  [[noreturn]] static void tell() {
    int socket = -1, domain = 0;  // of the two ends that it has the second is its own
    for (int fd = 3; fd < 1024; ++fd)
      if (socklen_t size = sizeof domain;
          getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX)
        socket = fd;
    Channel channel(socket);
    try {
      channel.put(std::int64_t{complete}), channel.put(std::int64_t{0}), channel.flush();
      hear(channel);
      words_(channel);
      channel.flush();
    } catch (const Channel::Closed&) {
    }
    _exit(0);
  }

 private:
  static inline std::function<void(Channel&)> words_;
};

/// What begins as HDF5 does and has zeros else, whose Fletcher-32 are zeros.
std::string zeros(const TemporaryFolder& folder, std::size_t size) {
  const std::string path = folder / "zeros.h5";
  put_bytes(path, "\x89HDF\r\n\x1a\n" + std::string(size - 8, '\0'));
  return path;
}

constexpr std::int64_t kValues = 200'000;
constexpr std::size_t kFileBytes = 1 << 20;  // more than 200,000 values of 4 bytes, less than twice as many

void put_word(Channel& channel, Answer word, const std::string& path) {
  channel.put(std::int64_t{word}), channel.put(path);
}

/// A float32 tensor of which the process says that it lies in shared memory.
void put_shared(Channel& channel, std::int64_t place, std::int64_t at, std::int64_t values) {
  put_word(channel, shared_tensor, "x/values"), channel.put(place), channel.put(at);
  channel.put(std::int64_t{0}), channel.put(Shape{values}), channel.put(std::vector<std::string>()),
      channel.put(Attributes());
}

/// The memory that the process shares with the tool: first what is for images, then what is for values.
int shared_memory(int which) {
  for (int fd = 3; fd < 1024; ++fd) {
    std::array<char, 64> name{};
    if (readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name.data(), name.size() - 1) > 0 &&
        std::string_view(name.data()).starts_with("/memfd:heed") && which-- == 0)
      return fd;
  }
  return -1;
}

void end_answer(Channel& channel) {
  channel.put(std::int64_t{complete}), channel.put(std::int64_t{1});
  channel.put(std::map<std::string, Group>()), channel.put(Attributes());
}

void put_addresses(Channel& channel, std::vector<std::int64_t> addresses, Attributes attributes) {
  const std::int64_t count = std::ssize(addresses);
  Tensor places = Tensor::of<std::int64_t>(std::move(addresses), {count}, {"chunk"});
  places.attributes = std::move(attributes);
  put_word(channel, Answer::tensor, "corpus/source/ids"), channel.put(places);
  end_answer(channel);
}

}  // namespace

/// The reader's own, in the process that it makes.
extern "C" pid_t fork() {
  static const auto usual = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"));
  const pid_t process = usual();
  if (process == 0 && Lie::is_wanted()) Lie::tell();
  return process;
}

BOOST_AUTO_TEST_SUITE(lying_process)

// So that the refusals below are for what is wrong in them.
BOOST_AUTO_TEST_CASE(what_could_be_true_is_believed) {
  TemporaryFolder folder;
  const std::string path = zeros(folder, kFileBytes);
  {
    const Lie lie([](Channel& channel) {
      put_word(channel, stored_tensor, "model/a"), channel.put(std::int64_t{in_file});
      channel.put(ChunkedTensor{DType::f32, {kValues}, {}, {}, {kValues}, {0}, {100}});
      put_word(channel, tensor, "model/b");
      channel.put(Tensor::of<float>(std::vector<float>(kValues, 1.0f), {kValues}));
      end_answer(channel);
    });
    const TensorMap map = FrameReader(path).whole();
    BOOST_TEST(map.at("model/a").size() == kValues);
    BOOST_TEST(map.at("model/b").size() == kValues);
  }
  const Lie lie([](Channel& channel) {
    put_addresses(
        channel, {100, 100},
        {{"size", std::int64_t{1500}}, {"chunk", std::int64_t{1000}}, {"item_bytes", std::int64_t{4}}});
  });
  BOOST_TEST(MappedColumns(path).at("corpus/source/ids").size() == 1500);
}

// Each answer may have what a file of that size is worth, however much those before had.
BOOST_AUTO_TEST_CASE(every_answer_begins_anew) {
  TemporaryFolder folder;
  const Lie lie([](Channel& channel) {
    const Tensor values = Tensor::of<float>(std::vector<float>(kValues), {kValues});
    for (int answer = 0; answer < 2; ++answer) {
      if (answer > 0) Lie::hear(channel);
      put_word(channel, stored_tensor, "model/a"), channel.put(std::int64_t{in_file});
      channel.put(ChunkedTensor{DType::f32, {kValues}, {}, {}, {kValues}, {0}, {100}});
      for (int i = 0; i < 120; ++i)
        put_word(channel, tensor, "model/" + std::to_string(i)), channel.put(values);
      end_answer(channel);
      channel.flush();
    }
  });
  FrameReader reader(zeros(folder, kFileBytes));
  for (int answer = 0; answer < 2; ++answer) BOOST_TEST(reader.part({}).at("model/119").size() == kValues);
}

BOOST_AUTO_TEST_CASE(places_that_together_are_more_than_the_file_are_refused) {
  TemporaryFolder folder;
  const std::string path = zeros(folder, kFileBytes);
  const Lie lie([](Channel& channel) {
    for (int i = 0; i < 1000; ++i) {
      put_word(channel, stored_tensor, "model/" + std::to_string(i)), channel.put(std::int64_t{in_file});
      channel.put(ChunkedTensor{DType::f32, {kValues}, {}, {}, {kValues}, {0}, {100}});
    }
    end_answer(channel);
  });
  std::int64_t came = 0;
  FrameReader reader(path);
  check_fails(
      [&] { reader.whole({}, [&](const std::string&, const Tensor& tensor) { came += tensor.size(); }); },
      {"zeros.h5:/model/1: its values cannot lie in a file of 1048576 bytes"});
  BOOST_TEST(came == kValues);
}

BOOST_AUTO_TEST_CASE(more_than_a_file_of_that_size_is_worth_is_refused) {
  TemporaryFolder folder;
  const std::string path = zeros(folder, kFileBytes);
  const std::string damaged = "zeros.h5: damaged HDF5 data: the HDF5 library returned impossible values";
  {
    const Lie lie([](Channel& channel) {  // 4 TiB, none of which come
      put_word(channel, tensor, "model/a"), channel.put(std::int64_t{0});
      channel.put(Shape{std::int64_t{1} << 40}), channel.put(std::vector<std::string>()),
          channel.put(Attributes());
    });
    check_fails([&] { FrameReader(path).whole(); }, {damaged});
  }
  {
    const Lie lie([](Channel& channel) {
      channel.put(std::int64_t{tensor}), channel.put(std::int64_t{1} << 41);  // a name
    });
    check_fails([&] { FrameReader(path).whole(); }, {damaged});
  }
  {
    const Lie lie([](Channel& channel) {  // no kind of answer, and nobody who ends
      channel.put(std::int64_t{99}), channel.flush();
      Lie::hear(channel);
    });
    check_fails([&] { FrameReader(path).whole(); }, {damaged});
  }
  std::int64_t came = 0;
  const auto take = [&](const std::string&, const Tensor& tensor) { came += 4 * tensor.size(); };
  const Lie lie([](Channel& channel) {  // many that could each be true
    const Tensor values = Tensor::of<float>(std::vector<float>(kValues), {kValues});
    for (int i = 0; i < 1000; ++i)
      put_word(channel, tensor, "model/" + std::to_string(i)), channel.put(values);
    end_answer(channel);
  });
  check_fails([&] { FrameReader(path).whole({}, take); }, {damaged});
  BOOST_TEST(came < std::int64_t{150} << 20);  // 64 times the file, and 80 MiB
}

BOOST_AUTO_TEST_CASE(a_frame_of_tensors_with_different_sentences_is_refused) {
  TemporaryFolder folder;
  const Lie lie([](Channel& channel) {
    for (const std::int64_t sentences : {100, 1}) {
      put_word(channel, tensor, "x/" + std::to_string(sentences));
      channel.put(Tensor::zeros<std::int32_t>({sentences}, {"sentence"}));
    }
    end_answer(channel);
  });
  FrameReader reader(zeros(folder, kFileBytes));
  TensorMap frame;
  check_fails([&] { reader.next(frame); }, {"zeros.h5: its tensors differ in their number of sentences"});
}

BOOST_AUTO_TEST_CASE(values_that_shared_memory_cannot_have_are_refused) {
  TemporaryFolder folder;
  const std::string path = zeros(folder, kFileBytes);
  const std::vector<float> values(1000, 2.5f);
  const auto error = [&](std::int64_t place, std::int64_t at, std::int64_t count) {
    const Lie lie([=](Channel& channel) {
      const auto bytes = std::as_bytes(std::span(values));
      if (pwrite(shared_memory(1), bytes.data(), bytes.size(), 0) != std::ssize(bytes)) return;
      put_shared(channel, place, at, count);
      end_answer(channel);
    });
    return heed::test::error_of([&] {
      TensorMap frame;
      FrameReader(path).next(frame);
      BOOST_TEST(std::ranges::count(frame.at("x/values").values<float>(), 2.5f) == count);
    });
  };
  const std::string impossible = "the HDF5 library returned impossible values";
  BOOST_TEST(error(in_values, 0, 1000) == "no error");
  BOOST_TEST(error(in_values, 400, 900) == "no error");
  for (const auto& [place, at, count] :
       {std::tuple<std::int64_t, std::int64_t, std::int64_t>{in_values, 0, 1001},
        {in_values, 4, 1000},
        {in_values, 4000, 1},
        {in_values, -4, 1},
        {in_values, std::numeric_limits<std::int64_t>::min(), 1},
        {in_values, 0, std::int64_t{1} << 40},
        {in_image, 0, 1},
        {-1, 0, 1},
        {in_values + 1, 0, 1}}) {
    const std::string what = error(place, at, count);
    BOOST_TEST(what.find(impossible) != std::string::npos, what);
  }
}

// The process can make it as large as it likes, and zeros fit their checksum.
BOOST_AUTO_TEST_CASE(an_image_larger_than_the_file_is_worth_is_refused) {
  TemporaryFolder folder;
  const auto error = [&](std::size_t chunks) {
    const Lie lie([=](Channel& channel) {
      if (ftruncate(shared_memory(0), off_t{1} << 30) != 0) return;
      constexpr std::int64_t values = 1 << 20;
      put_word(channel, stored_tensor, "x/values"), channel.put(std::int64_t{in_image});
      channel.put(ChunkedTensor{DType::f32,
                                {static_cast<std::int64_t>(chunks), values},
                                {},
                                {},
                                {1, values},
                                {0, 0},
                                std::vector<std::int64_t>(chunks, 0)});
      end_answer(channel);
    });
    return heed::test::error_of([&] {
      TensorMap frame;
      FrameReader(zeros(folder, kFileBytes)).next(frame);
      BOOST_TEST(frame.at("x/values").size() == static_cast<std::int64_t>(chunks) << 20);
    });
  };
  BOOST_TEST(error(20) == "no error");
  const std::string refused = error(40);
  BOOST_TEST(refused.find("the HDF5 library returned impossible values") != std::string::npos, refused);
}

BOOST_AUTO_TEST_CASE(columns_that_a_file_cannot_have_are_refused) {
  TemporaryFolder folder;
  const std::string path = zeros(folder, kFileBytes);
  const auto refused = [&](std::int64_t size, std::int64_t chunk, std::int64_t item_bytes,
                           std::int64_t second = 100) {
    const Lie lie([=](Channel& channel) {
      put_addresses(channel, {100, second}, {{"size", size}, {"chunk", chunk}, {"item_bytes", item_bytes}});
    });
    const std::string error = heed::test::error_of([&] {
      std::vector<std::int32_t> last(1);
      MappedColumns(path).at("corpus/source/ids").read(size - 1, last);
    });
    return error.find("zeros.h5:/corpus/source/ids: lies beyond the end of the file") != std::string::npos;
  };
  BOOST_TEST(!refused(1500, 1000, 4));
  BOOST_TEST(refused(1500, 0, 4));
  BOOST_TEST(refused(1500, -1000, 4));
  BOOST_TEST(refused(2001, 1000, 4));  // of three chunks
  BOOST_TEST(refused(1000, 1000, 4));
  BOOST_TEST(refused(-1, 1000, 4));
  BOOST_TEST(refused(1500, 1000, 0));
  BOOST_TEST(refused(1500, 1000, 3));
  BOOST_TEST(
      refused(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max() / 2 + 1, 4));
  {
    const Lie lie([](Channel& channel) { put_addresses(channel, {100}, {{"size", std::int64_t{1000}}}); });
    check_fails([&] { MappedColumns{path}; },
                {"zeros.h5:/corpus/source/ids: lies beyond the end of the file"});
  }
  constexpr std::int64_t last = kFileBytes - 4 * 1000 - 4;
  BOOST_TEST(!refused(1500, 1000, 4, last));
  BOOST_TEST(refused(1500, 1000, 4, last + 1));
  BOOST_TEST(refused(1500, 1000, 4, -1));
}

BOOST_AUTO_TEST_SUITE_END()
