#include "draw/picture/arcs.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/value_range.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {
namespace {

constexpr std::int64_t kMostArcWords = 512;
constexpr double kRow = 19;        // height of a word in a column
constexpr double kFan = 190;       // between the columns
constexpr double kWordGap = 13;    // between words in a line
constexpr double kNarrowest = 20;  // a word in a line
constexpr double kThickest = 6;
constexpr TextStyle kArcWord{12, {0x22, 0x22, 0x22}};
constexpr TextStyle kFaint{12, {0x9a, 0x9a, 0x9a}};
constexpr TextStyle kWeight{9.5, {0x44, 0x44, 0x44}};

constexpr std::size_t kLongestArcWord = 24;  // characters of a word

std::string row_word(const Arcs& arcs, std::int64_t row) {
  return arcs.map.row_name(row, kLongestArcWord);
}

std::string column_word(const Arcs& arcs, std::int64_t column) {
  return arcs.map.column_name(column, kLongestArcWord);
}

bool is_drawn(const Arcs& arcs, std::int64_t row) {
  return arcs.pinned.empty() || std::find(arcs.pinned.begin(), arcs.pinned.end(), row) != arcs.pinned.end();
}

double share_of(const Arcs& arcs, double weight) {
  return std::clamp(weight / arcs.map.range.high, 0.0, 1.0);
}

Stroke stroke_of(const Arcs& arcs, std::size_t panel, double weight) {
  const double share = share_of(arcs, weight);
  return {series_color(share_a_drawing(arcs) ? panel : 0), 0.4 + (kThickest - 0.4) * share,
          0.12 + 0.83 * share};
}

// ---- layout ----

/// The height of an arc over the words: half of its length, flattened.
double rise(double from, double to) {
  return std::min(14 + std::fabs(to - from) * 0.42, 240.0);
}

void place_in_line(const Arcs& arcs, double top, ArcsLayout& layout) {
  double x = kMargin;
  for (std::int64_t i = 0; i < arcs.map.rows; ++i) {
    const double width = std::max(text_width(row_word(arcs, i), kArcWord), kNarrowest);
    layout.columns.push_back({x + width / 2, 0});
    x += width + kWordGap;
  }
  double above = 26, below = 0;
  for (const Arc& arc : arcs_of(arcs)) {
    double& highest = arc.column <= arc.row ? above : below;
    highest = std::max(highest, rise(layout.columns[static_cast<std::size_t>(arc.row)].x,
                                     layout.columns[static_cast<std::size_t>(arc.column)].x));
  }
  layout.line_y = std::round(top + above * 0.75 + 22);
  for (Point& point : layout.columns) point.y = layout.line_y;
  layout.rows = layout.columns;
  layout.size = {x - kWordGap + kMargin, layout.line_y + 22 + below * 0.75};
}

void place_in_columns(const Arcs& arcs, double top, ArcsLayout& layout) {
  double left = text_width(printable(arcs.map.row_axis), kSubtitle);
  double right = text_width(printable(arcs.map.column_axis), kSubtitle);
  for (std::int64_t i = 0; i < arcs.map.rows; ++i) {
    left = std::max(left, text_width(row_word(arcs, i), kArcWord));
  }
  for (std::int64_t i = 0; i < arcs.map.columns; ++i) {
    right = std::max(right, text_width(column_word(arcs, i), kArcWord));
  }
  const double words_top = top + 20;
  const auto most = std::max(arcs.map.rows, arcs.map.columns);
  const auto place = [&](std::int64_t count, double x, std::vector<Point>& points) {
    const double shift = kRow * static_cast<double>(most - count) / 2;
    for (std::int64_t i = 0; i < count; ++i) {
      points.push_back({x, words_top + shift + kRow * (static_cast<double>(i) + 0.5)});
    }
  };
  place(arcs.map.rows, kMargin + left + 8, layout.rows);
  place(arcs.map.columns, kMargin + left + 8 + kFan, layout.columns);
  layout.size = {kMargin + left + 8 + kFan + 8 + right + kMargin,
                 words_top + kRow * static_cast<double>(most)};
}

/// Beside and below one another: a first drawing lies from kMargin to layout.size and below `top`.
void place_drawings(const Arcs& arcs, double top, ArcsLayout& layout) {
  const std::size_t count = arcs.map.panels.size();
  layout.drawings.assign(count, {0, 0});
  if (share_a_drawing(arcs)) return;
  constexpr double kGap = 26, kWidest = 1100;
  const double width = layout.size.width - 2 * kMargin + kGap, height = layout.size.height - top + kGap;
  const auto fitting = std::max<std::size_t>(1, static_cast<std::size_t>((kWidest + kGap) / width));
  const std::size_t down = (count + fitting - 1) / fitting, across = (count + down - 1) / down;
  for (std::size_t i = 0; i < count; ++i)
    layout.drawings[i] = {width * static_cast<double>(i % across), height * static_cast<double>(i / across)};
  layout.size.width += layout.drawings[across - 1].x;
  layout.size.height += layout.drawings.back().y;
}

// ---- drawing ----

void draw_arc(const Arcs& arcs, const ArcsLayout& layout, const Arc& arc, Painter& painter) {
  const Stroke stroke = stroke_of(arcs, arc.panel, arc.weight);
  const Point shift = layout.drawings[arc.panel];
  const auto shifted = [&](const Point& point) { return Point{point.x + shift.x, point.y + shift.y}; };
  const Point a = shifted(layout.rows[static_cast<std::size_t>(arc.row)]);
  const Point b = shifted(layout.columns[static_cast<std::size_t>(arc.column)]);
  if (!arcs.in_line) {
    const double bend = (b.x - a.x) * 0.45;
    painter.curve({a, {a.x + bend, a.y}, {b.x - bend, b.y}, b}, stroke);
    return;
  }
  const bool over = arc.column <= arc.row;
  const double side = over ? -1 : 1;
  const double y = layout.line_y + shift.y + side * 11;
  if (arc.column == arc.row) {
    painter.curve({{a.x - 3, y}, {a.x - 15, y - 20}, {a.x + 15, y - 20}, {a.x + 3, y}}, stroke);
    return;
  }
  const double height = rise(a.x, b.x), lean = b.x > a.x ? 3 : -3;
  painter.curve(
      {{a.x + lean, y}, {a.x + lean, y + side * height}, {b.x - lean, y + side * height}, {b.x - lean, y}},
      stroke);
}

/// Draws the words of one drawing.
void draw_words(const Arcs& arcs, const ArcsLayout& layout, const Point& shift, Painter& painter) {
  const auto shifted = [&](const Point& point) { return Point{point.x + shift.x, point.y + shift.y}; };
  for (std::int64_t i = 0; i < arcs.map.rows; ++i) {
    const Point at = shifted(layout.rows[static_cast<std::size_t>(i)]);
    TextStyle style = arcs.in_line || is_drawn(arcs, i) ? kArcWord : kFaint;
    style.bold = !arcs.pinned.empty() && is_drawn(arcs, i);
    painter.text(row_word(arcs, i), at.x - (arcs.in_line ? 0 : 8), at.y, style,
                 arcs.in_line ? Anchor::middle : Anchor::end);
  }
  if (arcs.in_line) return;
  for (std::int64_t i = 0; i < arcs.map.columns; ++i) {
    const Point at = shifted(layout.columns[static_cast<std::size_t>(i)]);
    painter.text(column_word(arcs, i), at.x + 8, at.y, kArcWord);
  }
  const double y = std::min(layout.rows.front().y, layout.columns.front().y) + shift.y - 22;
  painter.text(printable(arcs.map.row_axis), layout.rows.front().x + shift.x - 8, y, kSubtitle, Anchor::end);
  painter.text(printable(arcs.map.column_axis), layout.columns.front().x + shift.x + 8, y, kSubtitle);
}

/// Sample lines with their weights, then notes, then the colours of the panels; each on its own line. Returns
/// the right and lower end; draws only if there is a painter.
Point draw_legend(const Arcs& arcs, Point at, Painter* painter) {
  double x = at.x, right = at.x;
  const auto text = [&](const std::string& words, const TextStyle& style) {
    if (painter) painter->text(words, x, at.y, style);
    x += text_width(words, style);
    right = std::max(right, x);
  };
  const auto next_line = [&] {
    x = kMargin;
    at.y += 16;
  };
  for (double share : {0.1, 0.5, 1.0}) {
    const double weight = share * arcs.map.range.high;
    if (painter) painter->polyline({{x, at.y}, {x + 24, at.y}}, stroke_of(arcs, 0, weight));
    x += 29;
    text(rounded(weight, 2), kWeight);
    x += 13;
  }
  text(printable(arcs.map.quantity, 60), kSubtitle);
  if (arcs.threshold > 0) text(concat(" (under ", rounded(arcs.threshold, 2), ": not drawn)"), kSubtitle);
  if (arcs.in_line) {
    next_line();
    text("over the words: to earlier ones; below: to later ones", kSubtitle);
  }
  const bool colours = share_a_drawing(arcs) && arcs.map.panels.size() > 1;
  if (colours) next_line();
  for (std::size_t i = 0; colours && i < arcs.map.panels.size(); ++i) {
    if (painter) painter->fill({x, at.y - 4, 9, 9}, series_color(i));
    x += 13;
    text(printable(arcs.map.panels[i].caption, 24), kWeight);
    x += 10;
  }
  return {right, at.y};
}

void check_arcs(const Arcs& arcs) {
  check(arcs.map);
  if (std::max(arcs.map.rows, arcs.map.columns) > kMostArcWords) {
    fail("arcs between ", arcs.map.rows, " and ", arcs.map.columns, " words are too many (at most ",
         kMostArcWords, "): draw a part, for example --slice query=0:40");
  }
  if (arcs.in_line && arcs.map.rows != arcs.map.columns) {
    fail("one line of words needs as many queries as keys, got ", arcs.map.rows, " and ", arcs.map.columns);
  }
}

}  // namespace

std::vector<Arc> arcs_of(const Arcs& arcs) {
  std::vector<Arc> list;
  for (std::size_t panel = 0; panel < arcs.map.panels.size(); ++panel) {
    for (std::int64_t row = 0; row < arcs.map.rows; ++row) {
      if (!is_drawn(arcs, row)) continue;
      std::vector<Arc> of_row;
      for (std::int64_t column = 0; column < arcs.map.columns; ++column) {
        const double weight = arcs.map.value(panel, row, column);
        if (weight > 0 && weight >= arcs.threshold) of_row.push_back({panel, row, column, weight});
      }
      std::stable_sort(of_row.begin(), of_row.end(), [](auto& a, auto& b) { return a.weight > b.weight; });
      if (arcs.most > 0 && std::ssize(of_row) > arcs.most) of_row.resize(static_cast<std::size_t>(arcs.most));
      list.insert(list.end(), of_row.begin(), of_row.end());
    }
  }
  std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.weight < b.weight; });
  return list;
}

ArcsLayout lay_out(const Arcs& arcs) {
  check_arcs(arcs);
  ArcsLayout layout;
  const Size heading = heading_size(arcs.map.title, arcs.map.subtitle);
  const double heading_end = kMargin + heading.height + 6,
               top = heading_end + (share_a_drawing(arcs) ? 0 : 16);
  layout.caption_y = heading_end + 8;
  arcs.in_line ? place_in_line(arcs, top, layout) : place_in_columns(arcs, top, layout);
  place_drawings(arcs, heading_end, layout);
  layout.legend = {kMargin, layout.size.height + 20};
  const Point legend_end = draw_legend(arcs, layout.legend, nullptr);
  const double widest = std::max(legend_end.x, kMargin + heading.width);
  layout.size = {std::ceil(std::max(layout.size.width, widest + kMargin)),
                 std::ceil(legend_end.y + 8 + kMargin)};
  return layout;
}

std::string draw_arcs(const Arcs& arcs, PictureFormat format) {
  const ArcsLayout layout = lay_out(arcs);
  return paint(format, layout.size, [&](Painter& painter) {
    draw_heading(arcs.map.title, arcs.map.subtitle, kMargin, painter);
    for (const Arc& arc : arcs_of(arcs)) draw_arc(arcs, layout, arc, painter);
    for (std::size_t i = 0; i < (share_a_drawing(arcs) ? 1 : layout.drawings.size()); ++i) {
      const Point shift = layout.drawings[i];
      draw_words(arcs, layout, shift, painter);
      if (share_a_drawing(arcs)) continue;
      painter.text(printable(arcs.map.panels[i].caption), kMargin + shift.x, layout.caption_y + shift.y,
                   {11, {0x22, 0x22, 0x22}, true});
    }
    draw_legend(arcs, layout.legend, &painter);
  });
}

std::string draw_on_terminal(const Arcs& arcs, const Terminal& terminal) {
  check_arcs(arcs);
  Arcs few = arcs;
  if (few.most == 0) few.most = 3;
  auto list = arcs_of(few);
  std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) {
    return std::tuple(a.row, a.panel, -a.weight) < std::tuple(b.row, b.panel, -b.weight);
  });
  std::vector<std::string> row_words, column_words;
  for (const Arc& arc : list) {
    row_words.push_back(row_word(arcs, arc.row));
    column_words.push_back(column_word(arcs, arc.column));
  }
  // The rest needs 11, and a bit of bar.
  const int most = std::min(terminal.width / 4, terminal.width / 2 - 6);
  const int left = std::min(widest(row_words), most), right = std::min(widest(column_words), most);
  const int room = std::max(terminal.width - left - right - 11, 1);
  std::string out = heading_lines(arcs.map.title, arcs.map.subtitle, terminal.width);
  std::int64_t last = -1;
  for (const Arc& arc : list) {
    const std::string bar = bar_of(share_of(arcs, arc.weight) * room, terminal.colors);
    out += fit(arc.row == last ? "" : row_word(arcs, arc.row), left, true) + " > " +
           fit(column_word(arcs, arc.column), right) + " " + fit(rounded(arc.weight, 2), 6, true) + " " +
           colored(bar, series_color(arc.panel), terminal.colors);
    trim_right(out);
    out += "\n";
    last = arc.row;
  }
  return out;
}

}  // namespace heed::draw
