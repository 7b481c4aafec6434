// Values that a tool fetches from a file itself: they are those that were written, their checksums are
// HDF5's, and what cannot be is not believed.
#include "io/chunked_tensor.h"

#include <fcntl.h>

#include <random>

#include "io/byte_stream.h"
#include "io/fletcher32.h"
#include "io/frame_parts.h"
#include "io/frame_stream.h"
#include "samples.h"
#include "support/error_of.h"

using namespace heed;
using namespace heed::io;
using namespace heed::io::test;

namespace {

/// Small numbers of any type, among them runs of `fill`.
template <class T>
Tensor noise(Shape shape, std::mt19937& random, int fill) {
  std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(i / 1000 % 3 == 2 ? fill : static_cast<int>(random() % 250));
  return Tensor::of<T>(std::move(values), std::move(shape));
}

ChunkedTensor two_chunks() {
  return {DType::f32, {3, 5}, {"input", "output"}, {}, {2, 5}, {0, 0}, {100, 200}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chunked_tensor)

BOOST_AUTO_TEST_CASE(values_in_chunks_are_those_that_were_written) {
  TemporaryFolder folder;
  std::mt19937 random(1);
  for (const int fill : {0, -1}) {
    TensorMap map;
    map.add("model/a", noise<float>({701, 1003}, random, fill));  // of three chunks, the last padded
    map.add("model/b", noise<double>({8, 64, 33}, random, fill));
    map.add("model/c", noise<std::int32_t>({262145}, random, fill));
    map.add("model/d", noise<std::int64_t>({1, 600}, random, fill));
    map.add("model/e", noise<std::uint8_t>({4097}, random, fill));  // an odd number of bytes
    map.add("model/f", noise<float>({1, 300001}, random, fill));    // its chunks split rows: left to HDF5
    map.at("model/a").attributes["long_name"] = "a";
    const std::string path = folder / "x.h5";
    write_map(path, map);
    std::vector<std::string> came;
    FrameReader(path).whole({}, [&](const std::string& name, const Tensor& tensor) {
      came.push_back(name);
      const Tensor& written = map.at(name);
      BOOST_REQUIRE(tensor.dtype() == written.dtype() && tensor.shape() == written.shape());
      BOOST_TEST((tensor.attributes == written.attributes));
      with_type(tensor.dtype(), [&]<class T>(T) {
        BOOST_TEST(std::ranges::equal(tensor.values<T>(), written.values<T>()), name << " differs");
      });
    });
    BOOST_TEST(came.size() == 6);
    // float32 values with a place are read into it, and are no tensor; there may be space after each row.
    for (const std::int64_t stride : {1003, 1024}) {
      came.clear();
      std::vector<float> memory(static_cast<std::size_t>(701 * stride), 5);
      const Matrix<float> a(memory.data(), 701, 1003, stride);
      FrameReader(path).whole(
          {}, [&](const std::string& name, const Tensor&) { came.push_back(name); },
          [&](const std::string& name, const Shape& shape) {
            BOOST_TEST(shape == map.at(name).shape(), boost::test_tools::per_element());
            return name == "model/a" ? a : Matrix<float>();
          });
      BOOST_TEST(came.size() == 5);
      BOOST_TEST(std::ranges::count(came, "model/a") == 0);
      const auto written = std::as_const(map).at("model/a").values<float>();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < 701; ++i)
        for (std::int64_t j = 0; j < stride; ++j)
          wrong += a.row(i)[j] != (j < 1003 ? written[static_cast<std::size_t>(i * 1003 + j)] : 5);
      BOOST_TEST(wrong == 0);
    }
    BOOST_TEST(read_map(path).tensors().size() == 6);
  }
}

// Frames of a file are parts of its chunks: along sentence, position and layer they begin and end anywhere.
BOOST_AUTO_TEST_CASE(parts_of_chunks_are_those_that_were_written) {
  TemporaryFolder folder;
  std::mt19937 random(4);
  constexpr std::int64_t sentences = 203, widest = 37;
  const std::vector<std::string> dims{"sentence", "layer", "position", "dim"};
  TensorMap map;
  map.add("x/values", Tensor::of<float>(std::vector<float>(sentences * 2 * widest * 60),
                                        {sentences, 2, widest, 60}, dims));
  map.add("x/length",
          Tensor::of<std::int32_t>(std::vector<std::int32_t>(sentences), {sentences}, {"sentence"}));
  for (float& value : map.at("x/values").values<float>()) value = static_cast<float>(random() % 1000);
  for (std::int32_t& length : map.at("x/length").values<std::int32_t>())
    length = static_cast<std::int32_t>(1 + random() % widest);
  for (std::int64_t s = 0; s < sentences; ++s)  // and padding is zeros
    for (std::int64_t layer = 0; layer < 2; ++layer)
      for (std::int64_t i = map.at("x/length").values<std::int32_t>()[static_cast<std::size_t>(s)];
           i < widest; ++i)
        std::ranges::fill(map.at("x/values")
                              .values<float>()
                              .subspan(static_cast<std::size_t>(((s * 2 + layer) * widest + i) * 60), 60),
                          0.0f);
  const std::string path = folder / "x.h5";
  {
    FrameWriter writer(path);
    FrameCutter cutter;
    cutter.begin(map, "x");
    for (TensorMap part; cutter.next(1 + static_cast<std::int64_t>(random() % 90), part);) writer.write(part);
    writer.finish();
  }
  for (const std::int64_t batch : {1, 5, 16, 64, 500}) {
    FrameReader reader(path, {.batch = batch});
    std::int64_t at = 0;
    for (TensorMap frame; reader.next(frame);) {
      const Tensor& came = frame.at("x/values");
      const Shape& shape = came.shape();
      for (std::int64_t s = 0; s < shape[0]; ++s)
        for (std::int64_t layer = 0; layer < 2; ++layer)
          for (std::int64_t i = 0; i < shape[2]; ++i) {
            const auto from = static_cast<std::ptrdiff_t>(((s * 2 + layer) * shape[2] + i) * 60),
                       to = static_cast<std::ptrdiff_t>((((at + s) * 2 + layer) * widest + i) * 60);
            BOOST_REQUIRE(std::equal(came.values<float>().begin() + from,
                                     came.values<float>().begin() + from + 60,
                                     map.at("x/values").values<float>().begin() + to));
          }
      at += shape[0];
    }
    BOOST_TEST(at == sentences);
  }
  // They were not read through HDF5, whose message is another.
  std::string bytes = bytes_of(path);
  bytes[bytes.size() / 2] ^= 4;
  put_bytes(path, bytes);
  const std::string error = heed::test::error_of([&] {
    FrameReader reader(path);
    for (TensorMap frame; reader.next(frame);) {
    }
  });
  BOOST_TEST(error.find("x.h5:/x/values: values in the chunk at byte ") != std::string::npos, error);
}

// Of word after word, as the format's specification has it.
BOOST_AUTO_TEST_CASE(fletcher32_is_that_of_the_specification) {
  std::mt19937 random(2);
  for (std::size_t size : {0, 1, 2, 3, 15, 16, 17, 719, 720, 721, 5759, 5760, 5761, 5762, 30001}) {
    for (const int mode : {0, 1, 2, 3}) {
      std::vector<std::byte> bytes(size);
      for (std::byte& b : bytes)
        b = std::byte(mode == 0 ? 0 : mode == 1 ? 0xFF : mode == 2 ? random() % 256 : random() % 100 == 0);
      std::uint64_t sum = 0, sums = 0;
      const auto step = [](std::uint64_t s) { return s > 0xFFFF ? s - 0xFFFF : s; };  // 65535 stays
      for (std::size_t i = 0; i < size; i += 2) {
        const auto high = std::to_integer<std::uint64_t>(bytes[i]),
                   low = i + 1 < size ? std::to_integer<std::uint64_t>(bytes[i + 1]) : 0;
        sum = step(sum + (high << 8 | low));
        sums = step(sums + sum);
      }
      BOOST_TEST(fletcher32(bytes) == (sums << 16 | sum), size << " bytes, mode " << mode);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_changed_value_is_refused) {
  TemporaryFolder folder;
  std::mt19937 random(3);
  TensorMap map;
  map.add("model/a", noise<float>({701, 1003}, random, 7));
  const std::string path = folder / "x.h5";
  write_map(path, map);
  std::string bytes = bytes_of(path);
  bytes[bytes.size() / 2] ^= 4;
  put_bytes(path, bytes);
  FrameReader reader(path);
  const std::string error = heed::test::error_of([&] { reader.whole(); });
  BOOST_TEST(error.find("x.h5:/model/a: values ") != std::string::npos, error);
  BOOST_TEST(error.ends_with(" do not fit their checksum: damaged"), error);
  // What the process had still to say is gone.
  BOOST_TEST(heed::test::error_of([&] {
               reader.whole();
             }).ends_with("x.h5: cannot continue reading after an error"));
}

BOOST_AUTO_TEST_CASE(what_a_file_cannot_have_is_not_believed) {
  constexpr std::uint64_t size = 300;
  BOOST_TEST(is_possible(two_chunks(), size));
  BOOST_TEST(!is_possible(two_chunks(), 243));  // the second ends at 244
  const auto wrong = [&](auto change) {
    ChunkedTensor stored = two_chunks();
    change(stored);
    return !is_possible(stored, size);
  };
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.dtype = DType::string; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.chunk[0] = 0; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.chunk[0] = -2; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.chunk[1] = INT64_MAX; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.addresses[0] = -1; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.addresses[1] = INT64_MAX; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.addresses.pop_back(); }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.addresses.push_back(0); }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.shape = {0, 5}; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.shape = {-3, -5}; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.shape = {INT64_MAX, 2}; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.chunk.pop_back(); }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.start.push_back(0); }));
  const auto of_rank = [](ChunkedTensor& s, std::size_t rank) {
    s.shape.resize(rank, 1), s.chunk.resize(rank, 1), s.start.resize(rank, 0);
  };
  BOOST_TEST(!wrong([&](ChunkedTensor& s) { of_rank(s, 8); }));
  BOOST_TEST(wrong([&](ChunkedTensor& s) { of_rank(s, 9); }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.start[0] = -1; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.start[0] = 2; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.start[1] = 1; }));  // then there are four chunks
  BOOST_TEST(!wrong([](ChunkedTensor& s) { s.start[0] = 1; }));
  BOOST_TEST(wrong([](ChunkedTensor& s) { s.shape[0] = INT64_MAX, s.start[0] = 1; }));
  // Many chunks at one place would make much of a small file.
  BOOST_TEST(wrong([](ChunkedTensor& s) {
    s.shape = {100, 5};
    s.addresses.assign(50, 0);
  }));
}

// Should it be cut while a tool reads it.
BOOST_AUTO_TEST_CASE(a_file_that_became_shorter_is_an_error) {
  TemporaryFolder folder;
  const std::string path = folder / "short";
  put_bytes(path, std::string(150, '\0'));
  const Descriptor file = open_for_reading(path);
  const std::string error = heed::test::error_of([&] { fetch(two_chunks(), file.get(), "short:/a"); });
  BOOST_TEST(error == "short:/a: lies beyond the end of the file: cut short while it was read");
}

BOOST_AUTO_TEST_SUITE_END()
