#include "draw/picture/heatmap.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/value_range.h"

namespace heed::draw {
namespace {

constexpr std::int64_t kMostCells = 4096;  // per axis
constexpr double kLabelGap = 6;            // between labels and matrix
constexpr double kBarWidth = 12;           // of the colour bar
constexpr double kTickLength = 3;          // on the colour bar
constexpr double kReadable = 12.5;         // distance between the lines of labels
constexpr double kWordSide = 9;            // of a cell that has room for its word
constexpr double kWidest = 1600;           // of all maps side by side, when cells grow for their words
constexpr Rgb kQuiet{0x6b, 0x6b, 0x6b};
constexpr Rgb kHairline{0xc8, 0xc8, 0xc8};
constexpr TextStyle kAxis{10, kQuiet};
constexpr TextStyle kTick{9, {0x44, 0x44, 0x44}};

// ---- cells and labels ----

/// Side of a cell when `count` of them share `room`; whole points, so that edges fall on pixels.
double side_for(std::int64_t count, double room, double largest) {
  const double side = std::clamp(room / static_cast<double>(count), 1.0, largest);
  return side < 3 ? std::floor(side * 2) / 2 : std::floor(side);
}

Size cell_size(const Heatmap& map, double room) {
  const double largest = map.write_values ? 40 : 32;
  const double smallest_with_values = map.write_values ? 34 : 0;
  Size cell{std::max(side_for(map.columns, room, largest), smallest_with_values),
            std::max(side_for(map.rows, room, largest), smallest_with_values)};
  const double square = std::min(cell.width, cell.height);
  const auto [few, many] = std::minmax(map.rows, map.columns);
  const double most =
      many >= 4 * few ? std::max(square, kReadable) : square;  // a long strip may have tall cells
  return {std::min(cell.width, most), std::min(cell.height, most)};
}

/// Cells large enough for words, if that leaves the maps within bounds.
Size with_room_for_words(const Heatmap& map, Size cell, std::size_t across) {
  const auto down = (map.panels.size() + across - 1) / across;
  const auto fits = [](std::int64_t count, std::size_t maps) {
    return kWordSide * static_cast<double>(count) * static_cast<double>(maps) <= kWidest;
  };
  const bool has_words = !map.row_labels.empty() || !map.column_labels.empty();
  if (!has_words || !fits(map.columns, across) || !fits(map.rows, down)) return cell;
  return {std::max(cell.width, kWordSide), std::max(cell.height, kWordSide)};
}

constexpr TextStyle kCellWord{8, {}};
constexpr std::size_t kLongestCellWord = 11;

std::string cell_word(const Heatmap& map, std::int64_t row, std::int64_t column) {
  return printable(map.words[static_cast<std::size_t>(row * map.columns + column)], kLongestCellWord);
}

/// Cells as wide as the words in them.
Size with_words_inside(const Heatmap& map, Size cell) {
  double longest = 0;
  for (std::int64_t row = 0; row < map.rows; ++row)
    for (std::int64_t column = 0; column < map.columns && !map.words.empty(); ++column)
      longest = std::max(longest, text_width(cell_word(map, row, column), kCellWord));
  return longest == 0 ? cell
                      : Size{std::max(cell.width, std::ceil(longest) + 6), std::max(cell.height, 18.0)};
}

/// The labels of one axis and their style.
struct AxisLabels {
  std::vector<std::string> texts;  // empty: not shown
  TextStyle style;
  double longest = 0;    // width of the longest in points
  std::size_t step = 1;  // every step-th word is shown
};

/// Positions at round steps, at least `room` points apart.
AxisLabels position_labels(std::int64_t count, std::int64_t first, double side, double room) {
  AxisLabels labels{std::vector<std::string>(static_cast<std::size_t>(count)), kTick};
  const auto step = static_cast<std::int64_t>(std::max(1.0, round_step(room / side)));
  for (std::int64_t i = 0; i < count; ++i) {
    if ((first + i) % step == 0) labels.texts[static_cast<std::size_t>(i)] = std::to_string(first + i);
  }
  return labels;
}

/// Words in a font size that is a share of the cells' side; slanted lines need smaller type than level ones.
AxisLabels word_labels(const std::vector<std::string>& words, double side, double share) {
  AxisLabels labels{std::vector<std::string>(words.size()), TextStyle{std::clamp(side * share, 8.0, 11.0)}};
  labels.step = static_cast<std::size_t>(std::ceil((labels.style.size + 1) / side));
  for (std::size_t i = 0; i < words.size(); i += labels.step) labels.texts[i] = printable(words[i], 24);
  return labels;
}

AxisLabels axis_labels(const std::vector<std::string>& words, std::int64_t count, std::int64_t first,
                       double side, double room, double share) {
  AxisLabels labels =
      words.empty() ? position_labels(count, first, side, room) : word_labels(words, side, share);
  for (const auto& text : labels.texts) {
    if (!text.empty()) labels.longest = std::max(labels.longest, text_width(text, labels.style));
  }
  return labels;
}

/// Horizontal if every label fits over its own cells, else slanted, or vertical over narrow cells.
double turn_of(const AxisLabels& labels, bool are_positions, double side) {
  if (are_positions || labels.longest <= side - 3) return 0;
  return side >= kReadable ? 45 : 90;
}

// ---- layout ----

struct Plan {
  HeatmapLayout layout;
  AxisLabels rows, columns;
  std::vector<Tick> ticks;
  std::size_t panels_per_row = 1;
  bool labels_each = false;  // every map has labels of its own, not only the edges of a grid
  double left = 0, top = 0;  // of the first matrix
};

/// A sheet somewhat wider than high, preferably without gaps in its last row.
std::size_t panels_per_row(std::size_t panels) {
  if (panels <= 3) return panels;
  const auto wanted = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(panels) * 1.4)));
  for (std::size_t across : {wanted, wanted - 1, wanted + 1}) {
    if (panels % across == 0) return across;
  }
  return wanted;
}

double sine(double degrees) {
  return std::sin(degrees * std::numbers::pi / 180);
}
double cosine(double degrees) {
  return std::cos(degrees * std::numbers::pi / 180);
}

double column_label_height(const Plan& plan) {
  const double turn = plan.layout.label_turn;
  return plan.columns.longest * sine(turn) + plan.columns.style.size * (turn == 90 ? 0.3 : 1);
}

/// How far slanted labels reach over the right edge of the matrix.
double overhang(const Plan& plan) {
  if (plan.layout.label_turn != 45) return 0;
  double reach = 0;
  const auto count = plan.columns.texts.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double beyond = text_width(plan.columns.texts[i], plan.columns.style) * cosine(45) + 6;
    reach = std::max(reach, beyond - (static_cast<double>(count - i) - 0.5) * plan.layout.cell.width);
  }
  return reach;
}

void place_matrices(const Heatmap& map, Plan& plan) {
  const Size matrix{plan.layout.cell.width * static_cast<double>(map.columns),
                    plan.layout.cell.height * static_cast<double>(map.rows)};
  const bool captions =
      std::any_of(map.panels.begin(), map.panels.end(), [](auto& p) { return !p.caption.empty(); });
  const double gap = map.panel_columns.empty() ? 18 : 10;
  const Size labels = plan.labels_each ? Size{plan.rows.longest, column_label_height(plan)} : Size{0, 0};
  const Size pitch{matrix.width + std::max(gap + labels.width, overhang(plan) + kLabelGap),
                   matrix.height + gap + (captions ? 8 : 0) + labels.height};
  for (std::size_t i = 0; i < map.panels.size(); ++i) {
    plan.layout.matrices.push_back({plan.left + pitch.width * static_cast<double>(i % plan.panels_per_row),
                                    plan.top + pitch.height * static_cast<double>(i / plan.panels_per_row),
                                    matrix.width, matrix.height});
  }
}

void place_bar_and_edges(const Heatmap& map, Plan& plan) {
  const Rect last = plan.layout.matrices.back();
  const Rect corner = plan.layout.matrices[std::min(plan.panels_per_row, map.panels.size()) - 1];
  const double right = corner.x + corner.width;
  const double bottom = last.y + last.height;
  plan.layout.bar = {right + 22, plan.top, kBarWidth, std::clamp(bottom - plan.top, 96.0, 260.0)};
  double tick_width = 0;
  for (const auto& tick : plan.ticks) tick_width = std::max(tick_width, text_width(tick.text, kTick));
  const double bar_right =
      plan.layout.bar.x + kBarWidth + kTickLength + 4 + tick_width + (map.quantity.empty() ? 0 : 18);
  plan.layout.quantity = {std::ceil(bar_right) - 5, plan.layout.bar.y + plan.layout.bar.height / 2};
  const double heading = heading_size(map.title, map.subtitle).width;
  const bool captions = !map.panels.front().caption.empty();
  plan.layout.size = {
      std::ceil(std::max({bar_right, right + overhang(plan), kMargin + heading}) + kMargin),
      std::ceil(std::max(bottom + (captions ? 16 : 0), plan.layout.bar.y + plan.layout.bar.height) +
                kMargin)};
}

Plan plan_of(const Heatmap& map) {
  check(map);
  Plan plan;
  const bool grid = !map.panel_columns.empty();
  plan.panels_per_row = grid ? map.panel_columns.size() : panels_per_row(map.panels.size());
  const double room = map.panels.size() == 1
                          ? 448
                          : std::max(grid ? 72.0 : 150.0, 640 / static_cast<double>(plan.panels_per_row));
  plan.layout.cell =
      with_words_inside(map, with_room_for_words(map, cell_size(map, room), plan.panels_per_row));
  const Size cell = plan.layout.cell;
  const double side = std::min(cell.width, cell.height);
  plan.layout.gap = side >= 20 ? 1 : side >= 8 ? 0.5 : 0;
  plan.labels_each = !grid;
  // In a grid of small maps words would overlap; the grid is an overview.
  if (!grid || side >= kWordSide) {
    plan.rows = axis_labels(map.row_labels, map.rows, map.first_row, cell.height, 14, 0.72);
    plan.columns = axis_labels(map.column_labels, map.columns, map.first_column, cell.width, 24, 0.62);
  }
  plan.layout.label_turn = turn_of(plan.columns, map.column_labels.empty(), cell.width);
  plan.ticks = ticks_of(map.range);
  plan.left = std::round(kMargin + (map.row_axis.empty() ? 0 : 20) + plan.rows.longest + kLabelGap);
  plan.top = std::round(kMargin + heading_size(map.title, map.subtitle).height +
                        (map.title.empty() && map.subtitle.empty() ? 0 : 6) +
                        (map.column_axis.empty() ? 0 : 18) + column_label_height(plan) + kLabelGap);
  place_matrices(map, plan);
  place_bar_and_edges(map, plan);
  return plan;
}

// ---- drawing ----

void draw_axis_names(const Heatmap& map, const Plan& plan, Painter& painter) {
  const Rect& first = plan.layout.matrices.front();
  const Rect& last = plan.layout.matrices.back();
  const double y = plan.top - kLabelGap - column_label_height(plan) - 10;
  for (std::size_t i = 0; i < map.panel_columns.size(); ++i) {
    const Rect& matrix = plan.layout.matrices[i];
    painter.text(printable(map.panel_columns[i]), matrix.x + matrix.width / 2, y, kAxis, Anchor::middle);
  }
  for (std::size_t i = 0; i < map.panel_rows.size(); ++i) {
    const Rect& matrix = plan.layout.matrices[i * map.panel_columns.size()];
    painter.text(printable(map.panel_rows[i]), kMargin + 6, matrix.y + matrix.height / 2, kAxis,
                 Anchor::middle, 90);
  }
  if (!map.panel_columns.empty()) return;
  painter.text(printable(map.column_axis), first.x, y, kAxis);
  painter.text(printable(map.row_axis), kMargin + 6, (first.y + last.y + last.height) / 2, kAxis,
               Anchor::middle, 90);
}

void draw_row_labels(const Plan& plan, const Rect& matrix, Painter& painter) {
  for (std::size_t i = 0; i < plan.rows.texts.size(); ++i) {
    const double y = matrix.y + (static_cast<double>(i) + 0.5) * plan.layout.cell.height;
    painter.text(plan.rows.texts[i], matrix.x - kLabelGap, y, plan.rows.style, Anchor::end);
  }
}

void draw_column_labels(const Plan& plan, const Rect& matrix, Painter& painter) {
  const double turn = plan.layout.label_turn;
  const double lift = turn == 0 ? plan.columns.style.size / 2 : turn == 45 ? 3 : 0;
  for (std::size_t i = 0; i < plan.columns.texts.size(); ++i) {
    const double x = matrix.x + (static_cast<double>(i) + 0.5) * plan.layout.cell.width;
    painter.text(plan.columns.texts[i], x, matrix.y - kLabelGap - lift, plan.columns.style,
                 turn == 0 ? Anchor::middle : Anchor::start, turn);
  }
}

Rgb color_of(const Heatmap& map, double value) {
  return map.colors->at(map.range.position(value));
}

void draw_cells(const Heatmap& map, const HeatmapLayout& layout, std::size_t panel, Painter& painter) {
  for (std::int64_t row = 0; row < map.rows; ++row) {
    for (std::int64_t column = 0; column < map.columns; ++column) {
      const double value = map.value(panel, row, column);
      const Rect cell = layout.cell_at(panel, row, column);
      const Rgb color = color_of(map, value);
      painter.fill(cell, color);
      const double x = cell.x + cell.width / 2, y = cell.y + cell.height / 2;
      if (!map.words.empty())
        painter.text(cell_word(map, row, column), x, y, {kCellWord.size, ink_on(color)}, Anchor::middle);
      else if (map.write_values)
        painter.text(cell_text(value), x, y, {9, ink_on(color)}, Anchor::middle);
    }
  }
}

void draw_matrix(const Heatmap& map, const HeatmapLayout& layout, std::size_t panel, Painter& painter) {
  const Rect& matrix = layout.matrices[panel];
  if (layout.gap > 0) {
    draw_cells(map, layout, panel, painter);
  } else {
    std::vector<Rgb> colors;
    colors.reserve(map.panels[panel].values.size());
    for (double value : map.panels[panel].values) colors.push_back(color_of(map, value));
    painter.image(matrix, map.columns, colors);
  }
  painter.outline(
      {matrix.x - 0.5, matrix.y - 0.5, matrix.width + 1 - layout.gap, matrix.height + 1 - layout.gap},
      kHairline, 0.5);
  painter.text(printable(map.panels[panel].caption), matrix.x + matrix.width / 2,
               matrix.y + matrix.height + 9, kSubtitle, Anchor::middle);
}

void draw_bar(const Heatmap& map, const Plan& plan, Painter& painter) {
  const Rect& bar = plan.layout.bar;
  std::vector<Rgb> colors;
  for (int i = 0; i <= 64; ++i) colors.push_back(map.colors->at(1 - i / 64.0));
  painter.gradient(bar, colors);
  painter.outline(bar, kHairline, 0.5);
  const double right = bar.x + bar.width;
  for (const auto& tick : plan.ticks) {
    const double y = bar.y + bar.height * (1 - map.range.position(tick.value));
    painter.line(right, y, right + kTickLength, y, kQuiet, 0.75);
    painter.text(tick.text, right + kTickLength + 3, y, kTick);
  }
  const Point& beside = plan.layout.quantity;
  painter.text(printable(map.quantity), beside.x, beside.y, kAxis, Anchor::middle, 90);
}

}  // namespace

std::string Heatmap::row_name(std::int64_t row, std::size_t longest) const {
  return row_labels.empty() ? std::to_string(first_row + row)
                            : printable(row_labels[static_cast<std::size_t>(row)], longest);
}

std::string Heatmap::column_name(std::int64_t column, std::size_t longest) const {
  return column_labels.empty() ? std::to_string(first_column + column)
                               : printable(column_labels[static_cast<std::size_t>(column)], longest);
}

std::string cell_text(double value) {
  return rounded(std::round(value * 100) / 100, 2);
}

void check(const Heatmap& map) {
  if (map.rows < 1 || map.columns < 1 || map.panels.empty()) {
    fail("there is nothing to draw: the slice has no values");
  }
  if (map.rows > kMostCells || map.columns > kMostCells) {
    fail("a heat map of ", map.rows, " x ", map.columns, " is too large (at most ", kMostCells,
         " a side): draw a part, for example --slice dim=0:", kMostCells);
  }
  const auto fits = [](const auto& labels, std::int64_t count) {
    return labels.empty() || static_cast<std::int64_t>(labels.size()) == count;
  };
  if (!map.panel_columns.empty() && map.panels.size() != map.panel_rows.size() * map.panel_columns.size()) {
    fail("a grid of ", map.panel_rows.size(), " x ", map.panel_columns.size(), " has ", map.panels.size(),
         " maps");
  }
  if (!fits(map.row_labels, map.rows) || !fits(map.column_labels, map.columns)) {
    fail("a heat map of ", map.rows, " x ", map.columns, " has ", map.row_labels.size(), " row labels and ",
         map.column_labels.size(), " column labels");
  }
  for (const auto& panel : map.panels) {
    if (static_cast<std::int64_t>(panel.values.size()) != map.rows * map.columns) {
      fail("a heat map of ", map.rows, " x ", map.columns, " has ", panel.values.size(), " values");
    }
  }
}

Rect HeatmapLayout::cell_at(std::size_t panel, std::int64_t row, std::int64_t column) const {
  const Rect& matrix = matrices[panel];
  return {matrix.x + cell.width * static_cast<double>(column),
          matrix.y + cell.height * static_cast<double>(row), cell.width - gap, cell.height - gap};
}

HeatmapLayout lay_out(const Heatmap& map) {
  return plan_of(map).layout;
}

std::string missing_labels(const Heatmap& map) {
  const Plan plan = plan_of(map);
  std::string text;
  const auto add = [&](const std::vector<std::string>& words, const AxisLabels& shown,
                       const std::string& axis) {
    if (words.empty() || (!shown.texts.empty() && shown.step == 1)) return;
    text += concat(text.empty() ? "" : " and ", shown.texts.empty() ? "none" : concat("1 in ", shown.step),
                   " of the ", words.size(), " words", axis.empty() ? "" : " of ", printable(axis));
  };
  add(map.row_labels, plan.rows, map.row_axis);
  add(map.column_labels, plan.columns, map.column_axis);
  return text;
}

std::string draw_heatmap(const Heatmap& map, PictureFormat format) {
  const Plan plan = plan_of(map);
  return paint(format, plan.layout.size, [&](Painter& painter) {
    draw_heading(map.title, map.subtitle, kMargin, painter);
    draw_axis_names(map, plan, painter);
    for (std::size_t i = 0; i < map.panels.size(); ++i) {
      const bool left = i % plan.panels_per_row == 0, top = i < plan.panels_per_row;
      if (top || plan.labels_each) draw_column_labels(plan, plan.layout.matrices[i], painter);
      if (left || plan.labels_each) draw_row_labels(plan, plan.layout.matrices[i], painter);
      draw_matrix(map, plan.layout, i, painter);
    }
    draw_bar(map, plan, painter);
  });
}

}  // namespace heed::draw
