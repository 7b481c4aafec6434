#include "draw/picture/over_picture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

constexpr int kMostSide = 384;  // pixels of a map: more are not seen
constexpr double kMapWidth = 96, kMostMapHeight = 3 * kMapWidth, kMapGap = 14, kCaptionHeight = 16;
constexpr std::size_t kMapsAcross = 6, kMostMaps = 200;
constexpr double kPalest = 0.12;  // of a place without any weight
constexpr TextStyle kCaption{10};

std::uint8_t faded(std::uint8_t value, double share) {
  return static_cast<std::uint8_t>(std::lround(255 - share * (255 - value)));
}

/// The side of a square with this number of places, with or without a class token before them; 0: not a
/// square.
std::int64_t side_of(std::int64_t columns) {
  for (const std::int64_t places : {columns, columns - 1}) {
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(places))));
    if (side > 0 && side * side == places) return side;
  }
  return 0;
}

/// Scales image `index` down to at most kMostSide rows and columns, each pixel the mean of the source pixels
/// it covers.
void set_pixels(OverPicture& drawn, const Tensor& image, std::int64_t index) {
  const Shape& shape = image.shape();
  const std::int64_t channels = shape[shape.size() - 3], rows = shape[shape.size() - 2],
                     columns = shape.back();
  const double scale = std::min(1.0, kMostSide / static_cast<double>(std::max(rows, columns)));
  const auto shrunk = [&](std::int64_t side) {
    return std::max<std::int64_t>(std::llround(static_cast<double>(side) * scale), 1);
  };
  drawn.height = shrunk(rows);
  drawn.width = shrunk(columns);
  const std::uint8_t* values = image.values<std::uint8_t>().data() + index * channels * rows * columns;
  const auto mean = [&](std::int64_t channel, std::int64_t y, std::int64_t x) {
    const std::int64_t top = y * rows / drawn.height, bottom = (y + 1) * rows / drawn.height,
                       left = x * columns / drawn.width, right = (x + 1) * columns / drawn.width;
    const std::int64_t count = (bottom - top) * (right - left);
    std::int64_t sum = count / 2;
    for (std::int64_t row = top; row < bottom; ++row) {
      const std::uint8_t* line = values + (channel * rows + row) * columns;
      sum = std::accumulate(line + left, line + right, sum);
    }
    return static_cast<std::uint8_t>(sum / count);
  };
  for (std::int64_t y = 0; y < drawn.height; ++y)
    for (std::int64_t x = 0; x < drawn.width; ++x) {
      const std::uint8_t red = mean(0, y, x);
      drawn.pixels.push_back(channels == 1 ? Rgb{red, red, red} : Rgb{red, mean(1, y, x), mean(2, y, x)});
    }
}

}  // namespace

std::vector<Rgb> OverPicture::seen_by(std::size_t query) const {
  std::vector<Rgb> seen = pixels;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto place = static_cast<std::size_t>(y * side / height * side + x * side / width);
      const double weight = range.position(queries[query].values[place]);
      const double share = kPalest + (1 - kPalest) * (std::isnan(weight) ? 0 : weight);
      Rgb& pixel = seen[static_cast<std::size_t>(y * width + x)];
      pixel = {faded(pixel.red, share), faded(pixel.green, share), faded(pixel.blue, share)};
    }
  }
  return seen;
}

OverPicture over_picture(const Heatmap& map, const Tensor& image, std::int64_t index) {
  check(map);
  const Shape& shape = image.shape();
  const bool of_several = shape.size() == 4, is_image = of_several || shape.size() == 3;
  if (image.dtype() != DType::u8 || !is_image || (shape[of_several] != 1 && shape[of_several] != 3) ||
      image.size() == 0)
    fail("holds ", name_of(image.dtype()), " values of shape ", to_string(shape),
         ", wanted a picture: uint8 (channel, row, column) with 1 or 3 channels, or several of them");
  if (of_several && index >= shape[0]) fail("has ", shape[0], " images, wanted number ", index);
  if (map.panels.size() != 1)
    fail("over a picture one map is drawn, got ", map.panels.size(), ": choose it by --layer and --head");
  if (static_cast<std::size_t>(map.rows) > kMostMaps)
    fail("over a picture at most ", kMostMaps, " rows are drawn, got ", map.rows, ": choose some by --slice");
  OverPicture drawn;
  drawn.side = side_of(map.columns);
  if (drawn.side == 0)
    fail(map.columns, " columns, wanted a square of places, with or without a class token before them");
  set_pixels(drawn, image, of_several ? index : 0);
  drawn.title = map.title;
  drawn.subtitle = map.subtitle;
  drawn.range = map.range;
  const std::int64_t first = map.columns - drawn.side * drawn.side;
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const auto begin = map.panels[0].values.begin() + row * map.columns;
    drawn.queries.push_back({map.row_name(row, 16), {begin + first, begin + map.columns}});
  }
  return drawn;
}

std::string draw_over_picture(const OverPicture& drawn, PictureFormat format) {
  const double slope = static_cast<double>(drawn.height) / static_cast<double>(drawn.width),
               height = std::min(kMapWidth * slope, kMostMapHeight), width = height / slope;
  const std::size_t maps = drawn.queries.size() + 1, across = std::min(maps, kMapsAcross),
                    down = (maps + across - 1) / across;
  const Size heading = heading_size(drawn.title, drawn.subtitle);
  const double step_x = kMapWidth + kMapGap, step_y = height + kCaptionHeight + kMapGap;
  const Size size{2 * kMargin + std::max(static_cast<double>(across) * step_x - kMapGap, heading.width),
                  2 * kMargin + heading.height + static_cast<double>(down) * step_y - kMapGap};
  return paint(format, size, [&](Painter& painter) {
    draw_heading(drawn.title, drawn.subtitle, kMargin, painter);
    for (std::size_t i = 0; i < maps; ++i) {
      const double x = kMargin + static_cast<double>(i % across) * step_x,
                   y = kMargin + heading.height + static_cast<double>(i / across) * step_y;
      painter.image({x + (kMapWidth - width) / 2, y + kCaptionHeight, width, height}, drawn.width,
                    i == 0 ? drawn.pixels : drawn.seen_by(i - 1), kMostSide);
      if (i > 0)
        painter.text(drawn.queries[i - 1].caption, x + kMapWidth / 2, y + kCaptionHeight / 2, kCaption,
                     Anchor::middle);
    }
  });
}

}  // namespace heed::draw
