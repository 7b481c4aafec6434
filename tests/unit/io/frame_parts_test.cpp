// Frames cut and joined along `sentence`, by themselves and in files.
#include "io/frame_parts.h"

#include "io/frame_stream.h"
#include "io/provenance.h"
#include "samples.h"

using namespace heed;
using namespace heed::io;
using namespace heed::io::test;

namespace {

float value(const TensorMap& map, std::int64_t number) {
  return map.at("encoder/states").values<float>()[static_cast<std::size_t>(number)];
}

std::vector<TensorMap> parts_of(TensorMap frame, std::int64_t sentences) {
  FrameCutter cutter;
  cutter.begin(std::move(frame), "x");
  std::vector<TensorMap> parts;
  for (TensorMap part; cutter.next(sentences, part);) parts.push_back(std::move(part));
  return parts;
}

TensorMap joined(const std::vector<TensorMap>& frames) {
  FrameJoiner joiner;
  for (const TensorMap& frame : frames) BOOST_REQUIRE(joiner.add(frame));
  return joiner.take();
}

/// The last axis, which is not trimmed, is longer than the sentences; `sentence` stands inside.
TensorMap scores() {
  std::vector<double> values(3 * 4 * 5);
  std::iota(values.begin(), values.end(), 0);
  TensorMap map;
  map.add("heads/scores", Tensor::of<double>(std::move(values), {3, 4, 5}, {"head", "sentence", "rank"}));
  map.add("heads/slope", Tensor::of<std::int64_t>({7, 8, 9}, {3}, {"head"}));
  map.add("heads/piece", Tensor::of<std::string>({"a", "b", "c", "d"}, {4}, {"sentence"}));
  return map;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_part_is_trimmed_to_its_longest_sentence) {
  const auto parts = parts_of(sentences(0, 7, 5), 3);  // of 1 2 3, 4 5 1, 2 words
  BOOST_REQUIRE_EQUAL(parts.size(), 3);
  const std::int64_t width[] = {3, 5, 2}, count[] = {3, 3, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto first = static_cast<std::int64_t>(3 * i);
    BOOST_TEST(parts[i].at("encoder/states").shape() == (Shape{count[i], width[i], 3}));
    BOOST_TEST(first_sentence_of(parts[i].attributes, "") == first);
    const TensorMap whole = sentences(first, count[i], 5);
    for (const char* name : {"encoder/length", "encoder/text"})
      check_equal(parts[i].at(name), whole.at(name));
    BOOST_TEST(parts[i].at("encoder/states").attributes == whole.at("encoder/states").attributes);
    for (std::int64_t s = 0; s < count[i]; ++s)
      for (std::int64_t v = 0; v < 3 * width[i]; ++v)
        BOOST_TEST(value(parts[i], s * 3 * width[i] + v) == value(whole, s * 15 + v));
  }
}

BOOST_AUTO_TEST_CASE(a_frame_that_fits_stays_as_it_is) {
  const TensorMap frame = sentences(2, 4, 6);
  for (const std::int64_t most : {4, 100}) {
    const auto parts = parts_of(frame, most);
    BOOST_REQUIRE_EQUAL(parts.size(), 1);
    check_equal(parts[0], frame);
  }
  TensorMap plain;
  plain.add("x", Tensor::of<float>({1, 2}, {2}));
  BOOST_REQUIRE_EQUAL(parts_of(plain, 1).size(), 1);
  check_equal(parts_of(plain, 1)[0], plain);
}

BOOST_AUTO_TEST_CASE(sentences_may_stand_inside_and_what_has_none_comes_with_every_part) {
  const auto parts = parts_of(scores(), 3);
  BOOST_REQUIRE_EQUAL(parts.size(), 2);
  check_equal(parts[1].at("heads/scores"),
              Tensor::of<double>({15, 16, 17, 18, 19, 35, 36, 37, 38, 39, 55, 56, 57, 58, 59}, {3, 1, 5},
                                 {"head", "sentence", "rank"}));
  check_equal(parts[1].at("heads/piece"), Tensor::of<std::string>({"d"}, {1}, {"sentence"}));
  for (const TensorMap& part : parts) check_equal(part.at("heads/slope"), scores().at("heads/slope"));
}

BOOST_AUTO_TEST_CASE(a_dimension_of_a_tensor_without_sentences_is_not_trimmed) {
  TensorMap frame = sentences(0, 4, 4);
  frame.add("encoder/weight", Tensor::zeros<float>({4}, {"position"}));
  for (const TensorMap& part : parts_of(frame, 1)) BOOST_TEST(part.at("encoder/states").shape()[1] == 4);
}

BOOST_AUTO_TEST_CASE(only_the_first_axis_of_that_name_is_cut) {
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.0f);
  TensorMap map;
  map.add("x", Tensor::of<float>(std::move(values), {4, 3}, {"sentence", "sentence"}));
  const auto parts = parts_of(map, 3);
  BOOST_REQUIRE_EQUAL(parts.size(), 2);
  check_equal(parts[1].at("x"), Tensor::of<float>({9, 10, 11}, {1, 3}, {"sentence", "sentence"}));
}

BOOST_AUTO_TEST_CASE(what_differs_in_its_number_of_sentences_is_not_cut) {
  TensorMap map = scores();
  map.add("heads/more", Tensor::zeros<float>({1}, {"sentence"}));
  check_fails([&] { parts_of(map, 2); }, {"x: its tensors differ in their number of sentences"});
}

BOOST_AUTO_TEST_CASE(parts_join_to_the_frame) {
  for (const std::int64_t size : {1, 2, 5}) {
    check_equal(joined(parts_of(sentences(0, 12, 6), size)), sentences(0, 12, 6));
    check_equal(joined(parts_of(scores(), size)), scores());
  }
}

BOOST_AUTO_TEST_CASE(frames_that_do_not_fit_are_not_joined) {
  const auto refuses = [](const TensorMap& first, const TensorMap& second) {
    FrameJoiner joiner;
    BOOST_REQUIRE(joiner.add(first));
    BOOST_TEST(!joiner.add(second));
    check_equal(joiner.take(), first);  // which still waited
  };
  refuses(sentences(0, 2, 3), sentences(2, 2, 3, 4));
  refuses(sentences(0, 2, 3), scores());
  TensorMap other = scores();
  other.at("heads/slope").values<std::int64_t>()[1] = 0;
  refuses(scores(), other);
  other = scores();
  other.erase("heads/piece");
  refuses(scores(), other);
  FrameJoiner joiner;
  other.add("heads/piece", Tensor::zeros<std::string>({3}, {"sentence"}));
  BOOST_TEST(!joiner.add(other));  // 4 sentences and 3
  TensorMap fixed = sentences(0, 2, 3);
  fixed.add("encoder/weight", Tensor::zeros<float>({3}, {"position"}));
  BOOST_TEST(!joiner.add(fixed));  // the others may become wider
  BOOST_TEST(joiner.is_empty());
  for (int i = 0; i < 400; ++i) BOOST_REQUIRE(joiner.add(sentences(0, 1, 1)));
  BOOST_TEST(!joiner.add(sentences(999, 1, 1000)));  // would be 5 MB, and mostly padding
  BOOST_TEST(joiner.sentences() == 400);
  joiner.take();
  BOOST_REQUIRE(joiner.add(sentences(0, 2, 1)));
  BOOST_TEST(joiner.add(sentences(999, 1, 1000)));  // padding too, but little
}

BOOST_AUTO_TEST_CASE(small_frames_give_the_file_of_large_ones) {
  TemporaryFolder folder;
  const TensorMap all = sentences(0, 6000, 40, 16);  // 15 MB
  for (const std::int64_t size : {1, 7, 64, 6000}) {
    const std::string path = folder / std::to_string(size);
    FrameWriter writer(path);
    for (const TensorMap& frame : parts_of(all, size)) writer.write(frame);
    writer.finish();
    BOOST_TEST_CONTEXT(size) {
      check_equal(read_map(path), all);
      BOOST_TEST(std::filesystem::file_size(path) <
                 1.1 * static_cast<double>(all.bytes()));  // no small chunks
      std::int64_t at = 0;
      FrameReader reader(path, {.batch = size});
      for (TensorMap frame; reader.next(frame);) {
        const auto count = std::min<std::int64_t>(size, 6000 - at);
        BOOST_REQUIRE_EQUAL(sentences_of(frame), count);
        BOOST_REQUIRE_EQUAL(first_sentence_of(frame.attributes, ""), at);
        at += count;
      }
      BOOST_TEST(at == 6000);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_frame_that_cannot_follow_is_an_error_though_the_first_still_waits) {
  TemporaryFolder folder;
  const auto write = [&](const std::vector<TensorMap>& frames) {
    FrameWriter writer(folder / "x.h5");
    for (const TensorMap& frame : frames) writer.write(frame);
    writer.finish();
  };
  TensorMap other = scores();
  other.at("heads/slope").values<std::int64_t>()[1] = 0;
  check_fails([&] { write({scores(), other}); }, {"/heads/slope", "differs from frame to frame"});
  check_fails([&] { write({sentences(0, 2, 3), sentences(2, 2, 3, 4)}); }, {"dimension dim is 4"});
  other = scores();
  other.erase("heads/piece");
  check_fails(
      [&] {
        write({scores(), other});
      },
      {"/heads/piece", "in the first frame but not in a later one"});
  check_fails([&] { write({other, scores()}); }, {"/heads/piece", "in a later frame but not in the first"});
  BOOST_TEST(folder.files().empty());
}

BOOST_AUTO_TEST_CASE(a_reader_leaves_out_what_is_not_needed) {
  TemporaryFolder folder;
  TensorMap map = sentences(0, 5, 3);
  map.add("tokens/length", map.at("encoder/length"));
  map.add("other/x", Tensor::zeros<float>({5}, {"sentence"}));
  write_map(folder / "x.h5", map);
  const auto names_of = [&](const std::vector<std::string>& only) {
    std::vector<std::string> names;
    FrameReader reader(folder / "x.h5", {.batch = 2});
    reader.set_only(only);
    for (TensorMap frame; reader.next(frame);) {
      names.clear();
      for (const auto& [path, tensor] : frame.tensors()) names.push_back(path);
      BOOST_TEST(frame.attributes.contains("model_digest"));
    }
    return names;
  };
  const std::vector<std::string> wanted{"encoder/length", "encoder/mask", "tokens/length"};
  BOOST_TEST(names_of({"tokens/length", "encoder/mask", "encoder/length"}) == wanted,
             boost::test_tools::per_element());
  BOOST_TEST(names_of({"nothing"}).size() == 6);  // what is there tells what was given instead
  BOOST_TEST(names_of({}).size() == 6);
}
