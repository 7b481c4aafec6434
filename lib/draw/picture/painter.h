// Paints pictures: the same drawing code gives PNG, SVG or PDF (cairo). Pango shapes the text, so that CJK,
// right-to-left scripts and combining marks are drawn correctly. Lengths are points; y grows downwards.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "draw/picture/colormap.h"

struct _cairo;

namespace heed::draw {

enum class PictureFormat { png, svg, pdf };

struct Size {
  double width = 0, height = 0;
};

struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Point {
  double x = 0, y = 0;
};

struct Stroke {
  Rgb color;
  double width = 1;
  double alpha = 1;                 ///< 1: opaque
  std::vector<double> dashes = {};  ///< lengths on, off, on, ...; empty: a solid line
};

struct TextStyle {
  double size = 10;
  Rgb color{0x22, 0x22, 0x22};
  bool bold = false;
};

/// Which point of a text is placed at the given x.
enum class Anchor { start, middle, end };

/// Width of `text` in points, the same in every format.
double text_width(const std::string& text, const TextStyle& style);

class Painter {
 public:
  void fill(const Rect& rect, Rgb color);
  void outline(const Rect& rect, Rgb color, double line_width);
  void line(double x1, double y1, double x2, double y2, Rgb color, double line_width);
  void polyline(const std::vector<Point>& points, const Stroke& stroke);
  /// Bézier pieces: a start point, then two control points and an end point per piece.
  void curve(const std::vector<Point>& points, const Stroke& stroke);
  void polygon(const std::vector<Point>& corners, Rgb color);
  void disc(Point middle, double radius, Rgb color);
  void round_box(const Rect& rect, double radius, Rgb color, Rgb edge, double line_width);
  /// Clips `draw` to `rect`.
  void clipped(const Rect& rect, const std::function<void()>& draw);
  /// Draws with the origin moved to `origin` and lengths multiplied by `scale`.
  void placed(Point origin, double scale, const std::function<void()>& draw);
  /// Text vertically centred on (x, y), rotated anticlockwise by `degrees` around that point.
  void text(const std::string& text, double x, double y, const TextStyle& style,
            Anchor anchor = Anchor::start, double degrees = 0);
  /// A vertical gradient, the first colour on top.
  void gradient(const Rect& rect, const std::vector<Rgb>& colors);
  /// `colors` (row-major, `columns` per row) spread over `rect`, each a sharp rectangle; a single image in
  /// SVG and PDF, enlarged to about `most_pixels` a side if there are fewer colors.
  void image(const Rect& rect, std::int64_t columns, const std::vector<Rgb>& colors, int most_pixels = 2048);

 private:
  friend std::string paint(PictureFormat format, Size size, const std::function<void(Painter&)>& draw);
  explicit Painter(_cairo* cairo) : cairo_(cairo) {}

  _cairo* const cairo_;
  std::string svg_texts_;   ///< the text that SVG stores beside the outlines of letters
  std::string unreadable_;  ///< the first text with characters missing from all fonts
};

// The margin, title and subtitle that all pictures share.
inline constexpr double kMargin = 20;
inline constexpr TextStyle kSubtitle{10, {0x6b, 0x6b, 0x6b}};

/// The space for a title and a subtitle, each of which may be empty.
Size heading_size(const std::string& title, const std::string& subtitle);

/// Draws title and subtitle at x = `left`, below the upper margin.
void draw_heading(const std::string& title, const std::string& subtitle, double left, Painter& painter);

/// The bytes of a picture of that size on white, drawn by `draw`. A PNG has pixel_scale() pixels per point.
/// Throws Error if the picture would be unreasonably large.
std::string paint(PictureFormat format, Size size, const std::function<void(Painter&)>& draw);

/// Two pixels per point for sharp text; one if the picture is large.
int pixel_scale(Size size);

}  // namespace heed::draw
