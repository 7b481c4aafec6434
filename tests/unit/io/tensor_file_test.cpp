// Tensor maps through files: round trips, gathering, batch-wise reading, integrity, atomicity.
#include <sys/stat.h>

#include <cmath>

#include "io/frame_stream.h"
#include "io/provenance.h"
#include "samples.h"

using namespace heed;
using namespace heed::io;
using namespace heed::io::test;

namespace {

TensorMap every_type() {
  TensorMap map;
  Tensor& values = map.add("numbers/f32",
                           Tensor::of<float>({1.5f, -0.0f, 3e38f, 1e-40f, 5, 6}, {2, 3}, {"row", "column"}));
  values.attributes = {{"long_name", "values, \xc3\xa9t\xc3\xa9"},
                       {"scale", 0.25},
                       {"count", std::int64_t{-7}},
                       {"names", std::vector<std::string>{"a", "", "c"}}};
  map.add("numbers/f64", Tensor::of<double>({1e300, -2}, {2}, {"row"}));
  map.add("numbers/i32", Tensor::of<std::int32_t>({-2147483647, 0, 2147483647}, {3}, {"column"}));
  map.add("numbers/i64", Tensor::of<std::int64_t>({INT64_MIN, INT64_MAX}, {2}));
  map.add("numbers/u8", Tensor::of<std::uint8_t>({0, 1, 254, 255}, {1, 4, 1}));
  map.add("text/words", Tensor::of<std::string>({"", "caf\xc3\xa9", "\xe7\x8c\xab", std::string(70000, 'x')},
                                                {4}, {"word"}));
  map.add("scalar", Tensor::of<double>({42}, {}));
  map.add("empty", Tensor::zeros<float>({0, 5}));
  map.add("model/parameters/encoder/layer_0/weight",
          Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}, {"out", "out_of"}));
  map.add("model/config", Tensor::of<std::string>({"{\"d_model\": 128}"}, {1}));
  map.groups["numbers"] = {"f32", "Numbers", {".", "0"}, {{"side", "source"}, {"depth", std::int64_t{3}}}};
  map.attributes["vocabulary_digest"] = "beef";
  return map;
}

std::string file_with(const std::string& path, const TensorMap& map, WriteOptions options = {}) {
  write_map(path, map, options);
  return bytes_of(path);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_type_survives_a_file) {
  TemporaryFolder folder;
  const TensorMap map = every_type();
  write_map(folder / "all.h5", map);
  const TensorMap back = read_map(folder / "all.h5");
  check_equal(back, map);
  BOOST_CHECK(std::signbit(back.at("numbers/f32").values<float>()[1]));
  BOOST_CHECK_EQUAL(std::get<std::string>(back.attributes.at("format")), "heed");
  BOOST_CHECK_EQUAL(std::get<std::int64_t>(back.attributes.at("format_version")), kFormatVersion);
  BOOST_CHECK(!back.attributes.contains("stream_end"));
  BOOST_CHECK(!back.attributes.contains("history"));
}

BOOST_AUTO_TEST_CASE(only_the_wanted_paths_are_read) {
  TemporaryFolder folder;
  write_map(folder / "all.h5", every_type());
  ReadOptions options;
  options.only = {"model/config", "text"};
  const TensorMap map = read_map(folder / "all.h5", options);
  BOOST_CHECK_EQUAL(map.tensors().size(), 2);
  BOOST_CHECK(map.contains("model/config") && map.contains("text/words"));
}

BOOST_AUTO_TEST_CASE(frames_gather_into_one_file_and_grow_wider) {
  TemporaryFolder folder;
  FrameWriter writer(folder / "out.h5", {"encode tokens.h5", true});
  writer.write(sentences(0, 4, 2));
  writer.write(sentences(4, 5, 19));
  writer.write(sentences(9, 1, 7));
  writer.finish();
  const TensorMap all = read_map(folder / "out.h5");
  const Tensor& states = all.at("encoder/states");
  BOOST_REQUIRE_EQUAL(to_string(states.shape()), "[10, 19, 3]");
  BOOST_CHECK_EQUAL(std::get<std::string>(all.attributes.at("history")), "encode tokens.h5");
  // Every value is where its sentence and position put it, everything else is zero.
  auto value = states.values<float>();
  auto length = all.at("encoder/length").values<std::int32_t>();
  for (std::int64_t s = 0; s < 10; ++s) {
    for (std::int64_t p = 0; p < 19; ++p) {
      const float wanted =
          p < length[static_cast<std::size_t>(s)] ? static_cast<float>(100 * s + 10 * p + 1) : 0.f;
      BOOST_REQUIRE_EQUAL(value[static_cast<std::size_t>((s * 19 + p) * 3)], wanted);
    }
  }
  BOOST_CHECK_EQUAL(all.at("encoder/text").values<std::string>()[8], "sentence 8");
  BOOST_CHECK_EQUAL(length[7], 8);
}

BOOST_AUTO_TEST_CASE(history_grows_by_one_line_per_command) {
  TemporaryFolder folder;
  write_map(folder / "a.h5", sentences(0, 2, 3), {"tokenize", true});
  write_map(folder / "b.h5", read_map(folder / "a.h5"), {"embed -m 'a\nb'", true});
  const TensorMap map = read_map(folder / "b.h5");
  BOOST_CHECK_EQUAL(std::get<std::string>(map.attributes.at("history")), "tokenize\nembed -m 'a b'");
}

BOOST_AUTO_TEST_CASE(reading_in_batches_equals_reading_the_whole) {
  TemporaryFolder folder;
  const TensorMap all = sentences(0, 23, 7);
  write_map(folder / "all.h5", all);
  ReadOptions options;
  options.batch = 5;
  FrameReader reader(folder / "all.h5", options);
  TensorMap frame;
  std::int64_t seen = 0;
  std::vector<std::int64_t> widths;
  while (reader.next(frame)) {
    const Tensor& states = frame.at("encoder/states");
    const std::int64_t count = states.shape()[0], width = states.shape()[1];
    widths.push_back(width);
    auto got = states.values<float>();
    auto wanted = all.at("encoder/states").values<float>();
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t j = 0; j < width * 3; ++j) {
        BOOST_REQUIRE_EQUAL(got[static_cast<std::size_t>(i * width * 3 + j)],
                            wanted[static_cast<std::size_t>((seen + i) * 7 * 3 + j)]);
      }
    }
    BOOST_CHECK_EQUAL(frame.at("encoder/mask").shape()[1], width);
    BOOST_CHECK_EQUAL(frame.at("encoder/text").values<std::string>()[0], "sentence " + std::to_string(seen));
    BOOST_CHECK_EQUAL(frame.groups.at("encoder").signal, "states");
    seen += count;
  }
  BOOST_CHECK_EQUAL(seen, 23);
  // Lengths run 1..7 over and over: sentences 0-4, 5-9, 10-14, 15-19, 20-22.
  const std::vector<std::int64_t> longest{5, 7, 7, 6, 7};
  BOOST_CHECK_EQUAL_COLLECTIONS(widths.begin(), widths.end(), longest.begin(), longest.end());
}

BOOST_AUTO_TEST_CASE(tensors_without_sentences_come_with_every_batch) {
  TemporaryFolder folder;
  TensorMap map = sentences(0, 7, 4);
  map.add("vocabulary/piece", Tensor::of<std::string>({"<pad>", "<unk>"}, {2}, {"id"}));
  write_map(folder / "all.h5", map);
  ReadOptions options;
  options.batch = 3;
  FrameReader reader(folder / "all.h5", options);
  TensorMap frame;
  int frames = 0;
  for (; reader.next(frame); ++frames)
    BOOST_CHECK_EQUAL(frame.at("vocabulary/piece").values<std::string>()[1], "<unk>");
  BOOST_CHECK_EQUAL(frames, 3);
  // Gathering the frames again gives the same file.
  FrameReader again(folder / "all.h5", options);
  FrameWriter writer(folder / "again.h5");
  while (again.next(frame)) writer.write(frame);
  writer.finish();
  check_equal(read_map(folder / "again.h5"), map);
}

BOOST_AUTO_TEST_CASE(a_file_without_sentences_is_one_frame) {
  TemporaryFolder folder;
  TensorMap map;
  map.add("matrix", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  write_map(folder / "plain.h5", map);
  FrameReader reader(folder / "plain.h5");
  TensorMap frame;
  BOOST_REQUIRE(reader.next(frame));
  check_equal(frame, map);
  BOOST_CHECK(!reader.next(frame));
  BOOST_CHECK(!reader.next(frame));
}

BOOST_AUTO_TEST_CASE(equal_maps_give_equal_bytes) {
  TemporaryFolder folder;
  for (const bool scales : {true, false}) {
    const WriteOptions options{"encode", scales};
    const std::string first = file_with(folder / "first.h5", every_type(), options);
    usleep(1100000);  // HDF5's own times would differ by now
    BOOST_CHECK(first == file_with(folder / "second.h5", every_type(), options));
  }
  FrameWriter one(folder / "one.h5"), two(folder / "two.h5");
  for (FrameWriter* writer : {&one, &two}) {
    writer->write(sentences(0, 3, 2));
    writer->write(sentences(3, 2, 18));
    writer->finish();
  }
  BOOST_CHECK(bytes_of(folder / "one.h5") == bytes_of(folder / "two.h5"));
}

BOOST_AUTO_TEST_CASE(a_flipped_bit_in_the_values_is_caught) {
  TemporaryFolder folder;
  TensorMap map;
  map.add("x/values", Tensor::of<float>(std::vector<float>(300, 10.f), {60, 5}, {"sentence", "dim"}));
  std::string bytes = file_with(folder / "x.h5", map);
  const std::string ten("\x00\x00\x20\x41", 4);
  const std::size_t at = bytes.find(ten + ten + ten);
  BOOST_REQUIRE(at != std::string::npos);
  bytes[at + 41] ^= 1;
  put_bytes(folder / "flipped.h5", bytes);
  check_fails([&] { read_map(folder / "flipped.h5"); }, {"flipped.h5:/x/values", "damaged"});
}

BOOST_AUTO_TEST_CASE(every_prefix_of_a_file_is_refused) {
  TemporaryFolder folder;
  TensorMap map;
  map.add("x", Tensor::of<float>({1, 2, 3}, {3}));
  const std::string bytes = file_with(folder / "x.h5", map);
  for (std::size_t size = 0; size < bytes.size(); size += size < 50 ? 1 : 97) {
    put_bytes(folder / "cut.h5", bytes.substr(0, size));
    BOOST_REQUIRE_THROW(read_map(folder / "cut.h5"), Error);
  }
  put_bytes(folder / "cut.h5", bytes.substr(0, bytes.size() - 1));
  check_fails([&] { read_map(folder / "cut.h5"); }, {"cut short", std::to_string(bytes.size())});
}

BOOST_AUTO_TEST_CASE(the_target_changes_only_when_all_went_well) {
  TemporaryFolder folder;
  put_bytes(folder / "out.h5", "old content");
  chmod((folder / "out.h5").c_str(), 0640);
  {
    FrameWriter writer(folder / "out.h5");
    writer.write(sentences(0, 2, 3));
    BOOST_CHECK_EQUAL(bytes_of(folder / "out.h5"), "old content");
    check_fails([&] { writer.write(sentences(2, 2, 3, 5)); }, {"/encoder/states", "dim", "5", "3"});
  }
  BOOST_CHECK_EQUAL(bytes_of(folder / "out.h5"), "old content");
  BOOST_CHECK_EQUAL(folder.files().size(), 1);
  write_map(folder / "out.h5", sentences(0, 2, 3));
  struct stat info;
  BOOST_REQUIRE(stat((folder / "out.h5").c_str(), &info) == 0);
  BOOST_CHECK_EQUAL(info.st_mode & 0777, 0640);
  BOOST_CHECK_EQUAL(folder.files().size(), 1);
}

BOOST_AUTO_TEST_CASE(parameters_have_no_sentences) {
  TemporaryFolder folder;
  TensorMap map = sentences(0, 2, 3);
  map.add("model/parameters/w", Tensor::zeros<float>({2, 3}, {"sentence", "input"}));
  FrameWriter writer(folder / "out.h5");
  check_fails([&] { writer.write(map); }, {"out.h5:/model/parameters/w", "dimension \"sentence\""});
}

BOOST_AUTO_TEST_CASE(input_and_output_may_be_the_same_file) {
  TemporaryFolder folder;
  const TensorMap map = sentences(0, 9, 4);
  write_map(folder / "x.h5", map);
  ReadOptions options;
  options.batch = 2;
  FrameReader reader(folder / "x.h5", options);
  FrameWriter writer(folder / "x.h5");
  TensorMap frame;
  while (reader.next(frame)) writer.write(frame);
  writer.finish();
  check_equal(read_map(folder / "x.h5"), map);
}

BOOST_AUTO_TEST_CASE(maps_that_cannot_be_laid_out_are_refused) {
  TemporaryFolder folder;
  auto write = [&](const std::string& path, Tensor tensor) {
    TensorMap map;
    map.add("g/other", Tensor::zeros<float>({3}, {"key"}));
    map.add(path, std::move(tensor));
    write_map(folder / "bad.h5", map);
  };
  check_fails(
      [&] {
        write("g/x", Tensor::zeros<float>({3, 3}, {"query", "query"}));
      },
      {"/g/x", "query", "distinct"});
  check_fails([&] { write("g/x", Tensor::zeros<float>({4}, {"key"})); }, {"/g/x", "key", "4", "3"});
  check_fails([&] { write("g/key", Tensor::zeros<float>({3})); }, {"/g/key", "name of a dimension"});
  check_fails([&] { write("g//x", Tensor::zeros<float>({3})); }, {"g//x"});
  check_fails([&] { write("../x", Tensor::zeros<float>({3})); }, {"../x"});
  check_fails(
      [&] {
        write("g/x", Tensor::of<std::string>({"a", std::string("b\0c", 3)}, {2}));
      },
      {"/g/x", "1", "NUL"});
  Tensor wordy = Tensor::zeros<float>({2});
  wordy.attributes["note"] = std::string(70000, 'n');
  check_fails([&] { write("g/x", wordy); }, {"/g/x", "note", "70000", "store it as a tensor"});
  BOOST_CHECK(folder.files().empty());
}
