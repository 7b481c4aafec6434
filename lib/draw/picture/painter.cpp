#include "draw/picture/painter.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <fontconfig/fontconfig.h>
#include <pango/pangocairo.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numbers>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/exhausted.h"
#include "base/log.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

constexpr double kLongestSide = 6000;  // points; bounds the memory of a picture
constexpr char kFonts[] = "Noto Sans, DejaVu Sans, sans-serif";
constexpr TextStyle kTitle{14, {0x11, 0x11, 0x11}, true};

template <auto release>
struct Releaser {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using Surface = std::unique_ptr<cairo_surface_t, Releaser<cairo_surface_destroy>>;
using Context = std::unique_ptr<cairo_t, Releaser<cairo_destroy>>;
using Pattern = std::unique_ptr<cairo_pattern_t, Releaser<cairo_pattern_destroy>>;
using Layout = std::unique_ptr<PangoLayout, Releaser<g_object_unref>>;
using Font = std::unique_ptr<PangoFontDescription, Releaser<pango_font_description_free>>;
using FontOptions = std::unique_ptr<cairo_font_options_t, Releaser<cairo_font_options_destroy>>;

/// Whether Pango draws boxes for letters because a font could not be loaded, which it reports only in its
/// log.
std::atomic<bool> has_lost_font = false;

void check(cairo_status_t status) {
  if (has_lost_font.exchange(false))
    fail("drawing failed: Pango could not load a font: out of memory, or a font file that cannot be read?");
  if (status != CAIRO_STATUS_SUCCESS) fail("drawing failed: ", cairo_status_to_string(status));
}

cairo_status_t append_bytes(void* closure, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

void set_color(cairo_t* cairo, Rgb color, double alpha = 1) {
  cairo_set_source_rgba(cairo, color.red / 255.0, color.green / 255.0, color.blue / 255.0, alpha);
}

void add_path(cairo_t* cairo, const Rect& rect) {
  cairo_rectangle(cairo, rect.x, rect.y, rect.width, rect.height);
}

void add_path(cairo_t* cairo, const std::vector<Point>& points) {
  cairo_new_path(cairo);  // drawing text leaves a current point
  for (const Point& point : points) cairo_line_to(cairo, point.x, point.y);
}

void fill_path(cairo_t* cairo, Rgb color) {
  set_color(cairo, color);
  cairo_fill(cairo);
}

void stroke_path(cairo_t* cairo, Rgb color, double line_width) {
  set_color(cairo, color);
  cairo_set_line_width(cairo, line_width);
  cairo_stroke(cairo);
}

void stroke_path(cairo_t* cairo, const Stroke& stroke) {
  cairo_save(cairo);
  set_color(cairo, stroke.color, stroke.alpha);
  cairo_set_line_width(cairo, stroke.width);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  cairo_set_dash(cairo, stroke.dashes.data(), static_cast<int>(stroke.dashes.size()), 0);
  cairo_stroke(cairo);
  cairo_restore(cairo);
}

void note_end(const char* domain, GLogLevelFlags level, const char* message, void* data) {
  if ((level & (G_LOG_FLAG_FATAL | G_LOG_LEVEL_ERROR)) == 0)
    return g_log_default_handler(domain, level, message, data);
  exhausted = true;  // and lib/cli says so when GLib has ended the process
}

/// Receives Pango's log; messages about a lost font are dropped, as check() reports it in one line.
GLogWriterOutput hear_pango(GLogLevelFlags level, const GLogField* fields, gsize count, void* data) {
  bool is_of_font = false;
  for (const GLogField& field : std::span(fields, count)) {
    if (std::string_view(field.key) != "MESSAGE" || field.length >= 0) continue;
    const std::string_view message(static_cast<const char*>(field.value));
    if (message.find("expect ugly output") != message.npos) has_lost_font = is_of_font = true;
    if (message.find("font_face status is") != message.npos ||
        message.find("scaled_font status is") != message.npos)
      is_of_font = true;  // what Pango adds to it
  }
  return is_of_font ? G_LOG_WRITER_HANDLED : g_log_writer_default(level, fields, count, data);
}

/// Pango needs a thread, and GLib ends the process if it gets none, or no memory; and it waits forever for
/// fonts if fontconfig has no memory to list them.
void prepare_pango() {
  static const bool once = [] {
    fragile_libraries =
        "the drawing libraries (Pango, fontconfig)";  // to the end: Pango has threads of its own
    g_log_set_default_handler(note_end, nullptr);
    g_log_set_writer_func(hear_pango, nullptr, nullptr);
    try {
      std::jthread([] {});
    } catch (const std::system_error& error) {
      fail("drawing needs a thread, and none can be started: ", error.code().message());
    }
    FcConfig* fonts = FcInitLoadConfigAndFonts();
    if (!fonts || !FcConfigSetCurrent(fonts)) fail("fontconfig cannot list the fonts of this machine");
    FcConfigDestroy(fonts);
    return true;
  }();
  static_cast<void>(once);
}

/// A line of text, laid out without hinting so that it is equally wide in every format.
Layout lay_out(cairo_t* cairo, const std::string& text, const TextStyle& style) {
  prepare_pango();
  Layout layout(pango_cairo_create_layout(cairo));
  const FontOptions options(cairo_font_options_create());
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  PangoContext* context = pango_layout_get_context(layout.get());
  pango_cairo_context_set_font_options(context, options.get());
  pango_cairo_context_set_resolution(context, 72);
  const Font font(pango_font_description_from_string(kFonts));
  pango_font_description_set_absolute_size(font.get(), style.size * PANGO_SCALE);
  if (style.bold) pango_font_description_set_weight(font.get(), PANGO_WEIGHT_BOLD);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_single_paragraph_mode(layout.get(), true);
  pango_layout_set_text(layout.get(), text.data(), static_cast<int>(text.size()));
  return layout;
}

double width_of(PangoLayout* layout) {
  PangoRectangle logical;
  pango_layout_get_extents(layout, nullptr, &logical);
  return static_cast<double>(logical.width) / PANGO_SCALE;
}

Surface make_surface(PictureFormat format, Size size, std::string& bytes) {
  if (format == PictureFormat::svg) {
    return Surface(cairo_svg_surface_create_for_stream(append_bytes, &bytes, size.width, size.height));
  }
  if (format == PictureFormat::pdf) {
    Surface surface(cairo_pdf_surface_create_for_stream(append_bytes, &bytes, size.width, size.height));
    // Equal runs give equal bytes, so a fixed date.
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
    return surface;
  }
  const int scale = pixel_scale(size);
  return Surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                            static_cast<int>(std::ceil(size.width * scale)),
                                            static_cast<int>(std::ceil(size.height * scale))));
}

// ---- text in SVG: cairo writes letters as outlines, which cannot be searched, copied or read aloud ----

std::string xml_escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // XML forbids control characters and U+FFFE and U+FFFF, even escaped.
    const bool noncharacter = c == 0xef && text.compare(i, 2, "\xef\xbf") == 0 && i + 2 < text.size() &&
                              static_cast<unsigned char>(text[i + 2]) >= 0xbe;
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (noncharacter) {
      out += "\xef\xbf\xbd";
      i += 2;
    } else {
      out += c < 0x20 ? ' ' : text[i];
    }
  }
  return out;
}

/// An invisible text. `at` is the start of its baseline in cairo's current transformation.
std::string svg_text(cairo_t* cairo, const std::string& text, Point at, double size, double width,
                     double degrees) {
  cairo_matrix_t now;
  cairo_get_matrix(cairo, &now);
  cairo_user_to_device(cairo, &at.x, &at.y);
  const double scale = std::hypot(now.xx, now.yx);
  const std::string turn =
      degrees == 0 ? "" : concat(" transform=\"rotate(", -degrees, " ", at.x, " ", at.y, ")\"");
  return concat("<text x=\"", at.x, "\" y=\"", at.y, "\" font-size=\"", size * scale, "\" textLength=\"",
                width * scale, "\"", turn, ">", xml_escaped(text), "</text>\n");
}

/// `svg` with the texts repeated as transparent text.
std::string with_texts(std::string svg, const std::string& texts) {
  const std::size_t end = svg.rfind("</svg>");
  if (texts.empty() || end == std::string::npos) return svg;
  return svg.insert(
      end, "<g id=\"words\" fill-opacity=\"0\" xml:space=\"preserve\" font-family=\"sans-serif\">\n" + texts +
               "</g>\n");
}

}  // namespace

double text_width(const std::string& text, const TextStyle& style) {
  // One surface for all measuring: setting up fonts costs milliseconds, a layout microseconds.
  thread_local const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1));
  thread_local const Context cairo(cairo_create(surface.get()));
  return width_of(lay_out(cairo.get(), text, style).get());
}

int pixel_scale(Size size) {
  return std::max(size.width, size.height) <= 1600 ? 2 : 1;
}

void Painter::fill(const Rect& rect, Rgb color) {
  add_path(cairo_, rect);
  fill_path(cairo_, color);
}

void Painter::outline(const Rect& rect, Rgb color, double line_width) {
  add_path(cairo_, rect);
  stroke_path(cairo_, color, line_width);
}

void Painter::line(double x1, double y1, double x2, double y2, Rgb color, double line_width) {
  add_path(cairo_, {{x1, y1}, {x2, y2}});
  stroke_path(cairo_, color, line_width);
}

void Painter::polyline(const std::vector<Point>& points, const Stroke& stroke) {
  add_path(cairo_, points);
  stroke_path(cairo_, stroke);
}

void Painter::curve(const std::vector<Point>& points, const Stroke& stroke) {
  cairo_move_to(cairo_, points[0].x, points[0].y);
  for (std::size_t i = 1; i + 2 < points.size(); i += 3) {
    const Point &b = points[i], &c = points[i + 1], &end = points[i + 2];
    cairo_curve_to(cairo_, b.x, b.y, c.x, c.y, end.x, end.y);
  }
  stroke_path(cairo_, stroke);
}

void Painter::polygon(const std::vector<Point>& corners, Rgb color) {
  add_path(cairo_, corners);
  cairo_close_path(cairo_);
  fill_path(cairo_, color);
}

void Painter::disc(Point middle, double radius, Rgb color) {
  cairo_new_path(cairo_);
  cairo_arc(cairo_, middle.x, middle.y, radius, 0, 2 * std::numbers::pi);
  fill_path(cairo_, color);
}

void Painter::round_box(const Rect& rect, double radius, Rgb color, Rgb edge, double line_width) {
  constexpr double quarter = std::numbers::pi / 2;
  const double right = rect.x + rect.width - radius, left = rect.x + radius;
  const double bottom = rect.y + rect.height - radius, top = rect.y + radius;
  cairo_new_sub_path(cairo_);
  cairo_arc(cairo_, right, top, radius, -quarter, 0);
  cairo_arc(cairo_, right, bottom, radius, 0, quarter);
  cairo_arc(cairo_, left, bottom, radius, quarter, 2 * quarter);
  cairo_arc(cairo_, left, top, radius, 2 * quarter, 3 * quarter);
  cairo_close_path(cairo_);
  set_color(cairo_, color);
  cairo_fill_preserve(cairo_);
  stroke_path(cairo_, edge, line_width);
}

void Painter::placed(Point origin, double scale, const std::function<void()>& draw) {
  cairo_save(cairo_);
  cairo_translate(cairo_, origin.x, origin.y);
  cairo_scale(cairo_, scale, scale);
  draw();
  cairo_restore(cairo_);
}

void Painter::clipped(const Rect& rect, const std::function<void()>& draw) {
  cairo_save(cairo_);
  add_path(cairo_, rect);
  cairo_clip(cairo_);
  draw();
  cairo_restore(cairo_);
}

void Painter::text(const std::string& text, double x, double y, const TextStyle& style, Anchor anchor,
                   double degrees) {
  const Layout layout = lay_out(cairo_, text, style);
  const double width = width_of(layout.get());
  const double shift = anchor == Anchor::start ? 0 : anchor == Anchor::middle ? width / 2 : width;
  // The middle of the small letters sits about 0.34 em above the baseline, whatever fonts the script needs.
  const double baseline = static_cast<double>(pango_layout_get_baseline(layout.get())) / PANGO_SCALE;
  if (unreadable_.empty() && pango_layout_get_unknown_glyphs_count(layout.get()) > 0) {
    unreadable_ = text;
  }
  const double down = 0.34 * style.size;
  cairo_save(cairo_);
  cairo_translate(cairo_, x, y);
  cairo_rotate(cairo_, -degrees * std::numbers::pi / 180);
  if (!text.empty()) svg_texts_ += svg_text(cairo_, text, {-shift, down}, style.size, width, degrees);
  cairo_move_to(cairo_, -shift, down - baseline);
  set_color(cairo_, style.color);
  pango_cairo_show_layout(cairo_, layout.get());
  cairo_restore(cairo_);
}

void Painter::gradient(const Rect& rect, const std::vector<Rgb>& colors) {
  const Pattern pattern(cairo_pattern_create_linear(0, rect.y, 0, rect.y + rect.height));
  for (std::size_t i = 0; i < colors.size(); ++i) {
    const double offset = static_cast<double>(i) / static_cast<double>(colors.size() - 1);
    cairo_pattern_add_color_stop_rgb(pattern.get(), offset, colors[i].red / 255.0, colors[i].green / 255.0,
                                     colors[i].blue / 255.0);
  }
  cairo_set_source(cairo_, pattern.get());
  add_path(cairo_, rect);
  cairo_fill(cairo_);
}

void Painter::image(const Rect& rect, std::int64_t columns, const std::vector<Rgb>& colors, int most_pixels) {
  const auto width = static_cast<int>(columns);
  const auto height = static_cast<int>(static_cast<std::int64_t>(colors.size()) / columns);
  // Viewers of SVG and PDF blur an enlarged image; several pixels per cell keep its edges sharp.
  const int repeat = std::clamp(most_pixels / std::max(width, height), 1, 8);
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width * repeat, height * repeat));
  check(cairo_surface_status(surface.get()));
  unsigned char* bytes = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int y = 0; y < height * repeat; ++y) {
    auto* row = reinterpret_cast<std::uint32_t*>(bytes + static_cast<std::ptrdiff_t>(y) * stride);
    for (int x = 0; x < width * repeat; ++x) {
      const Rgb color = colors[static_cast<std::size_t>((y / repeat) * columns + x / repeat)];
      row[x] = static_cast<std::uint32_t>(color.red << 16 | color.green << 8 | color.blue);
    }
  }
  cairo_surface_mark_dirty(surface.get());
  cairo_save(cairo_);
  cairo_translate(cairo_, rect.x, rect.y);
  cairo_scale(cairo_, rect.width / (width * repeat), rect.height / (height * repeat));
  cairo_set_source_surface(cairo_, surface.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cairo_), CAIRO_FILTER_NEAREST);
  cairo_paint(cairo_);
  cairo_restore(cairo_);
}

Size heading_size(const std::string& title, const std::string& subtitle) {
  return {
      std::max(text_width(printable(title, 120), kTitle), text_width(printable(subtitle, 160), kSubtitle)),
      (title.empty() ? 0.0 : 21) + (subtitle.empty() ? 0.0 : 17)};
}

void draw_heading(const std::string& title, const std::string& subtitle, double left, Painter& painter) {
  painter.text(printable(title, 120), left, kMargin + 7, kTitle);
  painter.text(printable(subtitle, 160), left, kMargin + (title.empty() ? 7 : 27), kSubtitle);
}

std::string paint(PictureFormat format, Size size, const std::function<void(Painter&)>& draw) {
  if (size.width > kLongestSide || size.height > kLongestSide) {
    fail("a picture of ", std::lround(size.width), " x ", std::lround(size.height),
         " points is too large (at most ", kLongestSide, " a side): draw a part of it (--slice)");
  }
  std::string bytes;
  const Surface surface = make_surface(format, size, bytes);
  const Context cairo(cairo_create(surface.get()));
  if (format == PictureFormat::png) cairo_scale(cairo.get(), pixel_scale(size), pixel_scale(size));
  Painter painter(cairo.get());
  painter.fill({0, 0, size.width, size.height}, {255, 255, 255});
  draw(painter);
  check(cairo_status(cairo.get()));
  if (!painter.unreadable_.empty()) {
    logging::warn(concat("no font on this machine has all characters of '", escaped(painter.unreadable_),
                         "', which become boxes: install fonts of its script (Debian: fonts-noto-core, "
                         "fonts-noto-cjk)"));
  }
  if (format == PictureFormat::png) {
    check(cairo_surface_write_to_png_stream(surface.get(), append_bytes, &bytes));
  }
  cairo_surface_finish(surface.get());
  check(cairo_surface_status(surface.get()));
  return format == PictureFormat::svg ? with_texts(std::move(bytes), painter.svg_texts_) : bytes;
}

}  // namespace heed::draw
