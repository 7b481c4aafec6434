#include "draw/picture/heatmap.h"

#include <cairo.h>
#include <glib.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <regex>

#include "base/error.h"

using namespace heed;
using namespace heed::draw;

namespace {

/// A decoded PNG.
class Pixels {
 public:
  explicit Pixels(std::string png) : bytes_(std::move(png)) {
    surface_ = cairo_image_surface_create_from_png_stream(read, this);
    BOOST_REQUIRE(cairo_surface_status(surface_) == CAIRO_STATUS_SUCCESS);
  }
  ~Pixels() { cairo_surface_destroy(surface_); }
  Pixels(const Pixels&) = delete;
  Pixels& operator=(const Pixels&) = delete;

  int width() const { return cairo_image_surface_get_width(surface_); }
  int height() const { return cairo_image_surface_get_height(surface_); }
  Rgb at(int x, int y) const {
    const unsigned char* row =
        cairo_image_surface_get_data(surface_) + y * cairo_image_surface_get_stride(surface_);
    std::uint32_t pixel = 0;
    std::memcpy(&pixel, row + 4 * x, 4);
    return {static_cast<std::uint8_t>(pixel >> 16), static_cast<std::uint8_t>(pixel >> 8),
            static_cast<std::uint8_t>(pixel)};
  }

 private:
  static cairo_status_t read(void* closure, unsigned char* data, unsigned length) {
    auto* self = static_cast<Pixels*>(closure);
    if (self->bytes_.size() - self->place_ < length) return CAIRO_STATUS_READ_ERROR;
    std::memcpy(data, self->bytes_.data() + self->place_, length);
    self->place_ += length;
    return CAIRO_STATUS_SUCCESS;
  }

  std::string bytes_;
  std::size_t place_ = 0;
  cairo_surface_t* surface_ = nullptr;
};

Heatmap matrix(std::int64_t rows, std::int64_t columns) {
  Heatmap map;
  map.rows = rows;
  map.columns = columns;
  map.panels.resize(1);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    map.panels[0].values.push_back(static_cast<double>(i * 7 % (rows * columns)) /
                                   static_cast<double>(rows * columns));
  }
  return map;
}

/// Every cell's middle pixel has the colour of its value.
void check_cells(const Heatmap& map) {
  const HeatmapLayout layout = lay_out(map);
  const Pixels pixels(draw_heatmap(map, PictureFormat::png));
  const int scale = pixel_scale(layout.size);
  BOOST_TEST(pixels.width() == static_cast<int>(layout.size.width) * scale);
  BOOST_TEST(pixels.height() == static_cast<int>(layout.size.height) * scale);
  std::int64_t wrong = 0;
  for (std::size_t p = 0; p < map.panels.size(); ++p) {
    for (std::int64_t r = 0; r < map.rows; ++r) {
      for (std::int64_t c = 0; c < map.columns; ++c) {
        const Rect cell = layout.cell_at(p, r, c);
        const Rgb seen = pixels.at(static_cast<int>((cell.x + cell.width / 2) * scale),
                                   static_cast<int>((cell.y + cell.height / 2) * scale));
        const double value = map.panels[p].values[static_cast<std::size_t>(r * map.columns + c)];
        wrong += seen == map.colors->at(map.range.position(value)) ? 0 : 1;
      }
    }
  }
  BOOST_TEST(wrong == 0);
}

/// Tags are closed in order, and no character stands where XML forbids it.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = xml.find('<', at)) != std::string::npos) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != tag) return false;
      open.pop_back();
    } else if (tag[0] != '?' && tag[0] != '!' && tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty();
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_cell_has_the_colour_of_its_value) {
  check_cells(matrix(3, 5));
  check_cells(matrix(1, 1));
  check_cells(matrix(61, 97));
  check_cells(matrix(2, 300));
}

BOOST_AUTO_TEST_CASE(each_panel_shows_its_own_values) {
  Heatmap map = matrix(3, 4);
  map.panels.resize(5, map.panels[0]);
  for (std::size_t p = 0; p < 5; ++p) {
    map.panels[p].caption = "head " + std::to_string(p);
    map.panels[p].values[p] = 1;
  }
  check_cells(map);
}

BOOST_AUTO_TEST_CASE(row_zero_is_on_top_and_column_zero_on_the_left) {
  const HeatmapLayout layout = lay_out(matrix(3, 5));
  BOOST_TEST(layout.cell_at(0, 0, 0).y < layout.cell_at(0, 1, 0).y);
  BOOST_TEST(layout.cell_at(0, 0, 0).x < layout.cell_at(0, 0, 1).x);
}

BOOST_AUTO_TEST_CASE(colour_bar_has_the_greatest_value_on_top) {
  const Heatmap map = matrix(3, 5);
  const HeatmapLayout layout = lay_out(map);
  const Pixels pixels(draw_heatmap(map, PictureFormat::png));
  const int x = static_cast<int>((layout.bar.x + layout.bar.width / 2) * pixel_scale(layout.size));
  const int top = static_cast<int>((layout.bar.y + 2) * pixel_scale(layout.size));
  const int bottom = static_cast<int>((layout.bar.y + layout.bar.height - 2) * pixel_scale(layout.size));
  BOOST_TEST(luminance(pixels.at(x, top)) > luminance(pixels.at(x, bottom)) + 0.3);
}

BOOST_AUTO_TEST_CASE(missing_values_are_gray) {
  Heatmap map = matrix(2, 3);
  map.panels[0].values[4] = NAN;
  map.panels[0].values[1] = -INFINITY;
  check_cells(map);
}

BOOST_AUTO_TEST_CASE(svg_is_well_formed_whatever_the_labels) {
  Heatmap map = matrix(2, 3);
  map.title = "<script>alert('x')</script> & \"more\" ]]>";
  map.row_labels = {"<b>", std::string("\x01\xff\0z", 4)};
  map.column_labels = {"&amp;", "\x1b[31m", "</svg>"};
  const std::string svg = draw_heatmap(map, PictureFormat::svg);
  BOOST_TEST(svg.starts_with("<?xml"));
  BOOST_TEST(is_well_formed(svg));
  BOOST_TEST(svg.find("<script") == std::string::npos);
  BOOST_TEST(svg.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(equal_maps_give_equal_bytes) {
  // In SVG, cairo counts the surfaces of a process, so only the first picture of each process has equal
  // names.
  const std::regex name("\"surface[0-9]+\"");
  const Heatmap map = matrix(4, 3);
  for (auto format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
    const std::string once = std::regex_replace(draw_heatmap(map, format), name, "");
    const std::string twice = std::regex_replace(draw_heatmap(map, format), name, "");
    BOOST_TEST((once == twice));
  }
  BOOST_TEST(draw_heatmap(map, PictureFormat::pdf).starts_with("%PDF-"));
}

/// What Pango says when it has no memory for a font; it draws boxes then and reports success.
BOOST_AUTO_TEST_CASE(a_font_that_could_not_be_loaded_is_an_error) {
  const std::string sound = draw_heatmap(matrix(1, 1), PictureFormat::png);
  g_log_structured("Pango", G_LOG_LEVEL_WARNING, "MESSAGE",
                   "failed to create cairo scaled font, expect ugly output. the offending font is 'X'");
  BOOST_CHECK_THROW(draw_heatmap(matrix(1, 1), PictureFormat::png), Error);
  BOOST_TEST((draw_heatmap(matrix(1, 1), PictureFormat::png) == sound));
}

BOOST_AUTO_TEST_CASE(labels_widen_the_picture) {
  Heatmap map = matrix(3, 5);
  const double before = lay_out(map).size.width;
  map.row_labels = {"incompréhensibilités", "b", "c"};
  BOOST_TEST(lay_out(map).size.width > before + 50);
  map.column_labels = {"a", "b", "c", "d", "constitutionnellement"};
  BOOST_TEST(lay_out(map).label_turn == 45);
}

BOOST_AUTO_TEST_CASE(the_quantity_stands_beside_its_bar_below_a_wide_heading) {
  Heatmap map = matrix(3, 5);
  map.quantity = "probability";
  const HeatmapLayout narrow = lay_out(map);
  BOOST_TEST(narrow.quantity.x > narrow.bar.x + narrow.bar.width);
  BOOST_TEST(narrow.quantity.x < narrow.bar.x + 70);
  map.title = std::string(110, 'm');
  const HeatmapLayout wide = lay_out(map);
  BOOST_TEST(wide.size.width > narrow.size.width + 100);
  BOOST_TEST(wide.quantity.x == narrow.quantity.x);
}

BOOST_AUTO_TEST_CASE(every_map_is_labelled_where_there_is_room) {
  const auto words = [](const std::string& start, std::int64_t count) {
    std::vector<std::string> list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(start + std::to_string(i) + ".");
    return list;
  };
  const auto times = [](const Heatmap& map, const std::string& word) {
    const std::string svg = draw_heatmap(map, PictureFormat::svg);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = svg.find(">" + word + "<", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  Heatmap heads = matrix(12, 13);
  heads.row_labels = words("row", 12);
  heads.column_labels = words("column", 13);
  heads.panels.resize(8, heads.panels[0]);
  BOOST_TEST(times(heads, "row3.") == 8u);
  BOOST_TEST(times(heads, "column12.") == 8u);
  BOOST_TEST(missing_labels(heads).empty());
  check_cells(heads);

  Heatmap grid = heads;  // along its edges
  grid.panels.resize(24, grid.panels[0]);
  grid.panel_rows = words("layer", 3);
  grid.panel_columns = words("head", 8);
  BOOST_TEST(times(grid, "row3.") == 3u);
  BOOST_TEST(times(grid, "column12.") == 8u);
  BOOST_TEST(missing_labels(grid).empty());
  check_cells(grid);

  Heatmap wide = matrix(2, 300);
  wide.column_axis = "key";
  wide.column_labels = words("column", 300);
  BOOST_TEST(missing_labels(wide) == "1 in 9 of the 300 words of key");
  BOOST_TEST(times(wide, "column9.") == 1u);
  BOOST_TEST(times(wide, "column4.") == 0u);
  wide.row_labels = words("row", 2);
  wide.panels.resize(16, wide.panels[0]);
  wide.panel_rows = words("layer", 2);
  wide.panel_columns = words("head", 8);
  BOOST_TEST(missing_labels(wide) == "none of the 2 words and none of the 300 words of key");
}

BOOST_AUTO_TEST_CASE(sizes_are_checked_and_bounded) {
  BOOST_CHECK_THROW(draw_heatmap(matrix(0, 3), PictureFormat::png), Error);
  BOOST_CHECK_THROW(draw_heatmap(matrix(1, 5000), PictureFormat::png), Error);
  Heatmap map = matrix(2, 3);
  map.row_labels = {"only one"};
  BOOST_CHECK_THROW(draw_heatmap(map, PictureFormat::png), Error);
  BOOST_TEST(lay_out(matrix(500, 499)).size.width < 1200);
}
