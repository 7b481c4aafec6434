// Pictures against Pillow and transformers (scripts/make-golden-pictures), and what becomes of files of
// images.
#include "models/pictures.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "io/frame_stream.h"
#include "support/temporary_folder.h"

using namespace heed;
using namespace heed::test;

namespace {

const std::string kImages = std::string(HEED_TESTDATA) + "/images/";

ImageOptions of_size(std::int64_t size, std::int64_t channels = 3) {
  ImageOptions options;
  options.image_size = options.patch_size = size;
  options.n_channels = channels;
  return options;
}

std::vector<float> all_values(const Pictures& pictures, const ImagePatches& images) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(pictures.count()));
  std::iota(all.begin(), all.end(), 0);
  return pictures.values(images, all);
}

void check_equal(const std::string& name, const Tensor& got, const Tensor& wanted) {
  BOOST_TEST_CONTEXT(name) {
    BOOST_REQUIRE(got.shape() == wanted.shape());
    const auto a = got.values<std::uint8_t>(), b = wanted.values<std::uint8_t>();
    std::int64_t different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) different += a[i] != b[i];
    BOOST_TEST(different == 0);
  }
}

auto says(const std::string& text) {
  return [text](const Error& error) {
    BOOST_TEST_MESSAGE(error.what());
    return std::string(error.what()).find(text) != std::string::npos;
  };
}

BOOST_AUTO_TEST_SUITE(pictures)

BOOST_AUTO_TEST_CASE(values_are_those_of_pillow) {
  const TensorMap expected = io::read_map(kImages + "expected.npz");
  int decoded = 0, sizes = 0;
  for (const auto& [name, wanted] : expected.tensors()) {
    const std::size_t at = name.find('@');
    const std::string file = name.substr(0, at);
    if (name.ends_with("@vit")) continue;
    const Tensor picture = io::read_map(kImages + file).at("pixels");
    if (at == std::string::npos) {
      check_equal(name, picture, wanted);
      ++decoded;
    } else {
      check_equal(name, resized(picture, wanted.shape()[1], wanted.shape()[2]), wanted);
      ++sizes;
    }
  }
  BOOST_TEST(decoded == 19);
  BOOST_TEST(sizes == 4);
}

BOOST_AUTO_TEST_CASE(a_model_reads_what_transformers_gives_it) {
  const TensorMap expected = io::read_map(kImages + "expected.npz");
  ImageOptions options = of_size(16);
  options.image_mean = "0.4, 0.5,0.6";
  options.image_deviation = "0.2,0.25,0.3";
  const ImagePatches images = ImagePatches::of(options);
  for (const char* name : {"photo.jpg", "color.png"}) {
    const std::vector<float> got = all_values(read_pictures(kImages + name, images), images);
    const auto wanted = expected.at(concat(name, "@vit")).values<float>();
    BOOST_REQUIRE(got.size() == wanted.size());
    float most = 0;
    for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - wanted[i]));
    BOOST_TEST(most < 1e-5f);
  }
}

BOOST_AUTO_TEST_CASE(grey_and_color_become_each_other) {
  const ImagePatches color = ImagePatches::of(of_size(8)), grey = ImagePatches::of(of_size(8, 1));
  const std::vector<float> three = all_values(read_pictures(kImages + "grey.png", color), color),
                           one = all_values(read_pictures(kImages + "grey.png", grey), grey);
  BOOST_REQUIRE(three.size() == 3 * one.size());
  BOOST_TEST(std::equal(one.begin(), one.end(), three.begin() + 64));
  // Of the same picture in color, but for rounding.
  const std::vector<float> from_color = all_values(read_pictures(kImages + "color.png", grey), grey);
  for (std::size_t i = 0; i < one.size(); ++i) BOOST_TEST(std::abs(one[i] - from_color[i]) < 2.1f / 255);
}

BOOST_AUTO_TEST_CASE(arrays_lists_and_parts) {
  TemporaryFolder folder;
  const ImagePatches images = ImagePatches::of(of_size(2, 1));
  TensorMap bytes, scaled;
  bytes.add("pixels", Tensor::of<std::uint8_t>({0, 255, 51, 102, 1, 2, 3, 4, 5, 6, 7, 8}, {3, 1, 2, 2}));
  io::write_map(folder / "bytes.h5", bytes);
  scaled.add("any", Tensor::of<float>({1, 2, 3, 4}, {1, 1, 2, 2}));
  io::write_map(folder / "scaled.h5", scaled);
  std::ofstream(folder / "list") << "bytes.h5\n" << kImages << "grey.png\n";
  PictureReader reader({folder / "list"}, images);
  const Pictures two = reader.next(2), rest = reader.next(9);
  BOOST_TEST(two.count() == 2);
  BOOST_TEST(rest.count() == 2);
  BOOST_TEST(reader.next(1).count() == 0);
  const std::vector<float> values = two.values(images, std::vector<std::int64_t>{1, 0});
  BOOST_TEST(values[4] == -1.0f);
  BOOST_TEST(values[5] == 1.0f);
  BOOST_TEST(std::abs(values[6] + 0.6f) < 1e-6f);
  BOOST_TEST(std::abs(values[3] - (4 / 127.5f - 1)) < 1e-6f);
  BOOST_TEST(all_values(read_pictures(folder / "scaled.h5", images), images)[3] == 4.0f);
  BOOST_TEST(two.digest() != rest.digest());

  BOOST_CHECK_EXCEPTION(PictureReader({folder / "scaled.h5", folder / "bytes.h5"}, images).next(9), Error,
                        says("read them apart"));
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "scaled.h5", ImagePatches::of(of_size(3, 1))), Error,
                        says("wanted [any, 1, 3, 3]"));
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "bytes.h5", ImagePatches::of(of_size(2, 2))), Error,
                        says("1 channels, the model wants 2"));
  PictureReader apart({folder / "bytes.h5", folder / "scaled.h5"}, images);
  BOOST_TEST(apart.next(3).count() == 3);  // by any batches
  BOOST_CHECK_EXCEPTION(apart.next(3), Error, says("read them apart"));
  std::ofstream(folder / "gone") << "bytes.h5\nnope.png\n";
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "gone", images), Error, says("gone:2: "));
  std::ofstream(folder / "cat.gif") << "GIF89a" << '\0';
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "cat.gif", images), Error, says("neither PNG"));
  std::ofstream(folder / "self") << "self\n";
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "self", images), Error, says("neither a picture nor"));
  std::ofstream(folder / "none") << "";
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "none", images), Error, says("empty"));
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "nowhere", images), Error, says("nowhere"));
  scaled.at("any").values<float>()[2] = NAN;
  io::write_map(folder / "nan.h5", scaled);
  BOOST_CHECK_EXCEPTION(read_pictures(folder / "nan.h5", images), Error, says("NaN"));
}

BOOST_AUTO_TEST_CASE(features_of_places) {
  TemporaryFolder folder;
  ImageOptions options;
  options.feature_places = 2;
  options.feature_width = 3;
  const ImagePatches images = ImagePatches::of(options);
  TensorMap map;
  map.add("features", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {1, 2, 3}));
  map.add("other", Tensor::of<float>({1}, {1}));
  io::write_map(folder / "x.h5", map);
  BOOST_TEST(
      all_values(read_pictures(folder / "x.h5", images), images) == std::vector<float>({1, 2, 3, 4, 5, 6}),
      boost::test_tools::per_element());
  BOOST_CHECK_EXCEPTION(read_pictures(kImages + "color.png", images), Error, says("wanted float32"));
  options.image_size = 16;
  BOOST_CHECK_THROW(ImagePatches::of(options), UsageError);
}

BOOST_AUTO_TEST_CASE(options_that_make_no_images_are_refused) {
  for (const char* mean : {"", "x", "0.5,", "1,2", "nan", "0.5 0.5 0.5"}) {
    ImageOptions options = of_size(8);
    options.image_mean = mean;
    BOOST_TEST_CONTEXT(mean) BOOST_CHECK_THROW(ImagePatches::of(options), UsageError);
  }
  ImageOptions options = of_size(8);
  options.image_deviation = "0";
  BOOST_CHECK_EXCEPTION(ImagePatches::of(options), UsageError, says("above 0"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
