#include "draw/picture/over_picture.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"

namespace heed::draw::test {
namespace {

/// Two words over four places, perhaps after a class token.
Heatmap map_of(bool class_token) {
  Heatmap map;
  map.rows = 2;
  map.columns = 4 + class_token;
  map.row_labels = {"red", "circle"};
  for (int row = 0; row < 2; ++row) {
    if (class_token) map.panels.resize(1), map.panels[0].values.push_back(0.9);
    for (int place = 0; place < 4; ++place)
      map.panels.resize(1), map.panels[0].values.push_back(row == 0 ? 0 : place == 2 ? 1 : 0.5);
  }
  map.range = {0, 1};
  return map;
}

/// 4 rows of 2 pixels in three colors, their values 0 to 23.
Tensor image(std::int64_t images = 0) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(24 * std::max<std::int64_t>(images, 1)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  return images > 0 ? Tensor::of<std::uint8_t>(std::move(values), {images, 3, 4, 2})
                    : Tensor::of<std::uint8_t>(std::move(values), {3, 4, 2});
}

BOOST_AUTO_TEST_SUITE(over_pictures)

BOOST_AUTO_TEST_CASE(places_are_the_paler_the_less_is_attended_to_them) {
  for (const bool class_token : {false, true}) {
    const OverPicture drawn = over_picture(map_of(class_token), image(), 0);
    BOOST_TEST(drawn.side == 2);
    BOOST_TEST(drawn.queries.size() == 2u);
    BOOST_TEST(drawn.queries[1].caption == "circle");
    BOOST_TEST((drawn.pixels[5] == Rgb{5, 13, 21}));
    const std::vector<Rgb> seen = drawn.seen_by(1);  // places of 2 rows and a column each
    BOOST_TEST((seen[4] == drawn.pixels[4]));
    BOOST_TEST((seen[6] == drawn.pixels[6]));
    for (const std::size_t half : {0u, 1u, 2u, 3u, 5u, 7u})
      BOOST_TEST(seen[half].red == std::lround(255 - 0.56 * (255 - drawn.pixels[half].red)));
    BOOST_TEST(drawn.seen_by(0)[4].red > 220);
  }
}

BOOST_AUTO_TEST_CASE(the_image_of_a_sentence_is_drawn) {
  const OverPicture second = over_picture(map_of(false), image(2), 1);
  BOOST_TEST((second.pixels[0] == Rgb{24, 32, 40}));
  const std::string svg = draw_over_picture(second, PictureFormat::svg);
  BOOST_TEST(svg.find("circle") != std::string::npos);
  BOOST_TEST(draw_over_picture(second, PictureFormat::png).starts_with("\x89PNG"));
}

BOOST_AUTO_TEST_CASE(large_images_are_brought_down) {
  std::vector<std::uint8_t> values(768 * 1536);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i % 4 < 2 ? 10 : 30);
  const OverPicture drawn = over_picture(map_of(false), Tensor::of<std::uint8_t>(values, {1, 768, 1536}), 0);
  BOOST_TEST(drawn.height == 192);
  BOOST_TEST(drawn.width == 384);
  BOOST_TEST((drawn.pixels == std::vector<Rgb>(192 * 384, {20, 20, 20})));
  const OverPicture wide = over_picture(
      map_of(false), Tensor::of<std::uint8_t>(std::vector<std::uint8_t>(40'000), {1, 1, 40'000}), 0);
  BOOST_TEST(wide.height == 1);
  BOOST_TEST(wide.width == 384);
  BOOST_TEST(draw_over_picture(wide, PictureFormat::svg).size() < 1'000'000u);
}

BOOST_AUTO_TEST_CASE(what_is_no_image_or_no_places_is_refused) {
  const auto refused = [](const Heatmap& map, const Tensor& tensor, std::int64_t index, const char* why) {
    BOOST_CHECK_EXCEPTION(over_picture(map, tensor, index), Error, [&](const Error& error) {
      return std::string(error.what()).find(why) != std::string::npos;
    });
  };
  refused(map_of(false), image(2), 2, "has 2 images, wanted number 2");
  refused(map_of(false), Tensor::zeros<float>({3, 4, 2}), 0, "holds float32 values");
  refused(map_of(false), Tensor::zeros<std::uint8_t>({2, 4, 2}), 0, "1 or 3 channels");
  refused(map_of(false), Tensor::zeros<std::uint8_t>({3, 0, 2}), 0, "1 or 3 channels");
  Heatmap three = map_of(false);
  three.columns = 3;
  three.panels[0].values.resize(6);
  refused(three, image(), 0, "3 columns");
  Heatmap panels = map_of(false);
  panels.panels.push_back(panels.panels[0]);
  refused(panels, image(), 0, "got 2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace heed::draw::test
