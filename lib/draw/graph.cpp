#include "draw/graph.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "draw/labels.h"

namespace heed::draw {
namespace {

constexpr double kMargin = 20;
constexpr double kRowGap = 20;
constexpr double kLaneGap = 78;
constexpr double kAround = 20;  // how far skips pass beside the boxes
constexpr double kLine = 13;
constexpr Rgb kInk{0x33, 0x33, 0x33};
constexpr Rgb kSkip{0x1f, 0x5a, 0xa6};
constexpr Rgb kEdge{0x55, 0x55, 0x55};
constexpr TextStyle kTitle{14, {0x11, 0x11, 0x11}, true};
constexpr TextStyle kSubtitle{10, {0x6b, 0x6b, 0x6b}};
constexpr TextStyle kName{11, {0x22, 0x22, 0x22}};
constexpr TextStyle kDetail{9, {0x55, 0x55, 0x55}};

struct Look {
  Rgb fill, edge;
};

Look look_of(Graph::Kind kind) {
  switch (kind) {
    case Graph::Kind::data:
      return {{0xf6, 0xf6, 0xf6}, {0x99, 0x99, 0x99}};
    case Graph::Kind::linear:
      return {{0xe3, 0xee, 0xfa}, {0x5b, 0x8c, 0xc4}};
    case Graph::Kind::attention:
      return {{0xff, 0xe9, 0xcf}, {0xd5, 0x8a, 0x2e}};
    case Graph::Kind::norm:
      return {{0xff, 0xfa, 0xd6}, {0xbf, 0xac, 0x3a}};
    case Graph::Kind::recurrent:
      return {{0xe2, 0xf3, 0xe6}, {0x4f, 0x9d, 0x66}};
    default:
      return {{0xf1, 0xe8, 0xf6}, {0x95, 0x6f, 0xb0}};
  }
}

Size box_size(const Graph::Node& node) {
  double width = text_width(printable(node.title, 60), kName);
  for (const auto& line : node.lines) width = std::max(width, text_width(printable(line, 80), kDetail));
  return {std::max(std::ceil(width) + 20, 96.0), 24 + kLine * static_cast<double>(node.lines.size())};
}

Point middle(const Rect& box) {
  return {box.x + box.width / 2, box.y + box.height / 2};
}

void arrow_head(Painter& painter, Point tip, double dx, double dy, Rgb color) {
  const double size = 5;
  const double length = std::hypot(dx, dy), x = dx / length, y = dy / length;
  painter.polygon({tip,
                   {tip.x - size * (x + 0.55 * y), tip.y - size * (y - 0.55 * x)},
                   {tip.x - size * (x - 0.55 * y), tip.y - size * (y + 0.55 * x)}},
                  color);
}

constexpr double kApart = 5;  // of two lines on one side of a box
constexpr double kLevel = 3;  // lines that are nearly level are drawn level

const std::vector<double> kDashes{4, 3};

/// Straight up, or across in one bend between lanes; dashed for what comes from the step before.
/// `is_covered`: a box stands right over the first.
void draw_straight(const Rect& from, const Rect& to, Graph::Way way, bool is_covered, Painter& painter) {
  const bool back = way == Graph::Way::back;
  const Rgb color = back ? kSkip : kEdge;
  const Stroke stroke{color, 1.2, 1, back ? kDashes : std::vector<double>{}};
  const Point a = middle(from), b = middle(to);
  const bool above = to.y + to.height <= from.y, below = to.y >= from.y + from.height;
  const bool same_lane = std::fabs(a.x - b.x) < std::max(from.width, to.width) / 2;
  if (same_lane && (above || below)) {
    const double start = above ? from.y : from.y + from.height, end = above ? to.y + to.height : to.y;
    const double x = std::clamp(a.x, to.x + 8, to.x + to.width - 8);
    painter.polyline({{x, start}, {x, end}}, stroke);
    arrow_head(painter, {x, end}, 0, end - start, color);
    return;
  }
  const bool right = b.x > a.x;
  if (above && !back && !is_covered) {  // up out of the top and in from the side, clear of the boxes between
    const Point up{a.x, from.y}, in{right ? to.x : to.x + to.width, b.y + kApart};
    painter.bezier(up, {up.x, up.y + (in.y - up.y) * 0.6}, {in.x + (up.x - in.x) * 0.6, in.y}, in, stroke);
    arrow_head(painter, in, in.x - up.x, 0, color);
    return;
  }
  Point start{right ? from.x + from.width : from.x, a.y + (back ? 2 * kApart : 0)};
  const Point end{right ? to.x : to.x + to.width, b.y};
  if (std::fabs(start.y - end.y) < kLevel) start.y = end.y;
  const double bend = (end.x - start.x) * 0.5;
  painter.bezier(start, {start.x + bend, start.y}, {end.x - bend, end.y}, end, stroke);
  arrow_head(painter, end, end.x - start.x, 0, color);
}

/// Out of the right side, past what stands between, and back in.
void draw_around(const Rect& from, const Rect& to, double right, Graph::Way way, Painter& painter) {
  const double side = to.y < from.y ? -1 : 1;
  const Point start{from.x + from.width, middle(from).y + side * kApart};
  const Point end{to.x + to.width, middle(to).y - side * kApart};
  const double x = right + kAround, turn = 8;
  const Stroke stroke = way == Graph::Way::back ? Stroke{kSkip, 1.2, 1, kDashes} : Stroke{kSkip, 1.6};
  painter.polyline({start, {x - turn, start.y}}, stroke);
  painter.bezier({x - turn, start.y}, {x, start.y}, {x, start.y}, {x, start.y + side * turn}, stroke);
  painter.polyline({{x, start.y + side * turn}, {x, end.y - side * turn}}, stroke);
  painter.bezier({x, end.y - side * turn}, {x, end.y}, {x, end.y}, {x - turn, end.y}, stroke);
  painter.polyline({{x - turn, end.y}, {end.x, end.y}}, stroke);
  arrow_head(painter, end, -1, 0, kSkip);
}

/// The right end of the boxes that a line around from one row to another must pass.
double right_of(const Graph& graph, const GraphLayout& layout, const Graph::Edge& edge) {
  double right = 0;
  const auto [low, high] = std::minmax(graph.nodes[edge.from].row, graph.nodes[edge.to].row);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    if (node.lane == graph.nodes[edge.from].lane && node.row >= low && node.row <= high) {
      right = std::max(right, layout.boxes[i].x + layout.boxes[i].width);
    }
  }
  return right;
}

void draw_edge(const Graph& graph, const GraphLayout& layout, const Graph::Edge& edge, Painter& painter) {
  const Rect &from = layout.boxes[edge.from], &to = layout.boxes[edge.to];
  const auto& source = graph.nodes[edge.from];
  const bool in_lane = source.lane == graph.nodes[edge.to].lane;
  if (edge.way == Graph::Way::skip || (edge.way == Graph::Way::back && in_lane)) {
    draw_around(from, to, right_of(graph, layout, edge), edge.way, painter);
  } else {
    const bool is_covered = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
      return node.lane == source.lane && node.row == source.row + 1;
    });
    draw_straight(from, to, edge.way, is_covered, painter);
  }
}

void draw_node(const Graph::Node& node, const Rect& box, Painter& painter) {
  const Look look = look_of(node.kind);
  painter.round_box(box, 5, look.fill, look.edge, 1);
  const double x = box.x + box.width / 2;
  painter.text(printable(node.title, 60), x, box.y + 12, kName, Anchor::middle);
  for (std::size_t i = 0; i < node.lines.size(); ++i) {
    painter.text(printable(node.lines[i], 80), x, box.y + 25 + kLine * static_cast<double>(i), kDetail,
                 Anchor::middle);
  }
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : printable(text, 120))
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::size_t Graph::add(int lane, const std::string& text, Kind kind, std::vector<std::string> lines,
                       int row) {
  nodes.push_back({lane, row >= 0 ? row : top(lane), text, std::move(lines), kind});
  return nodes.size() - 1;
}

void Graph::connect(std::size_t from, std::size_t to, Way way) {
  edges.push_back({from, to, way});
}

int Graph::top(int lane) const {
  int row = 0;
  for (const Node& node : nodes) {
    if (node.lane == lane) row = std::max(row, node.row + 1);
  }
  return row;
}

GraphLayout lay_out(const Graph& graph) {
  if (graph.nodes.empty()) fail("there is nothing to draw: the graph has no boxes");
  std::map<int, double> lane_width, row_height;
  for (const auto& node : graph.nodes) {
    const Size size = box_size(node);
    lane_width[node.lane] = std::max(lane_width[node.lane], size.width);
    row_height[node.row] = std::max(row_height[node.row], size.height);
  }
  std::map<int, double> lane_x, row_y;
  double x = kMargin + 12,
         y = kMargin + (graph.title.empty() ? 0 : 22) + (graph.subtitle.empty() ? 0 : 17) + 14;
  for (const auto& [lane, width] : lane_width) {
    lane_x[lane] = x + width / 2;
    x += width + kLaneGap;
  }
  for (auto row = row_height.rbegin(); row != row_height.rend(); ++row) {
    row_y[row->first] = y + row->second / 2;
    y += row->second + kRowGap;
  }
  GraphLayout layout;
  for (const auto& node : graph.nodes) {
    const Size size = box_size(node);
    layout.boxes.push_back({std::round(lane_x[node.lane] - size.width / 2),
                            std::round(row_y[node.row] - size.height / 2), size.width, size.height});
  }
  for (const auto& plate : graph.plates) {
    const double half = lane_width[plate.lane] / 2 + 10;
    const double top = row_y[plate.last_row] - row_height[plate.last_row] / 2 - 9;
    const double bottom = row_y[plate.first_row] + row_height[plate.first_row] / 2 + 9;
    layout.plates.push_back({lane_x[plate.lane] - half, top, 2 * half + kAround + 4, bottom - top});
  }
  const double heading = kMargin * 2 + std::max(text_width(printable(graph.title, 120), kTitle),
                                                text_width(printable(graph.subtitle, 160), kSubtitle));
  layout.size = {std::ceil(std::max(x - kLaneGap + kAround + 34 + kMargin, heading)),
                 std::ceil(y - kRowGap + 10 + kMargin)};
  return layout;
}

std::string draw_graph(const Graph& graph, PictureFormat format) {
  const GraphLayout layout = lay_out(graph);
  return paint(format, layout.size, [&](Painter& painter) {
    painter.text(printable(graph.title, 120), kMargin, kMargin + 7, kTitle);
    painter.text(printable(graph.subtitle, 160), kMargin, kMargin + (graph.title.empty() ? 7 : 28),
                 kSubtitle);
    for (std::size_t i = 0; i < graph.plates.size(); ++i) {
      const Rect& plate = layout.plates[i];
      painter.round_box(plate, 9, {0xfb, 0xfb, 0xfb}, {0xb5, 0xb5, 0xb5}, 0.8);
      painter.text(printable(graph.plates[i].text, 40), plate.x + plate.width + 5, plate.y + 9, kName);
    }
    for (const auto& edge : graph.edges) draw_edge(graph, layout, edge, painter);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) draw_node(graph.nodes[i], layout.boxes[i], painter);
  });
}

std::string dot(const Graph& graph) {
  std::string out = "digraph model {\n  rankdir=BT;\n  node [shape=box, style=rounded];\n";
  if (!graph.title.empty()) out += concat("  label=", quoted(graph.title), ";\n");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::string label = graph.nodes[i].title;
    for (const auto& line : graph.nodes[i].lines) label += "; " + line;
    out += concat("  n", i, " [label=", quoted(label), "];\n");
  }
  for (const auto& edge : graph.edges) {
    out += concat("  n", edge.from, " -> n", edge.to);
    if (edge.way == Graph::Way::skip) out += " [color=blue]";
    if (edge.way == Graph::Way::back) out += " [style=dashed, constraint=false]";
    out += ";\n";
  }
  return out + "}\n";
}

}  // namespace heed::draw
