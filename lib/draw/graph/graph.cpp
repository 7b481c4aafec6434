#include "draw/graph/graph.h"

#include <gvc.h>
#include <gvplugin.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/exhausted.h"
#include "draw/print/printable.h"

extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;

namespace heed::draw {
namespace {

constexpr double kLine = 13;
constexpr Rgb kSkip{0x1f, 0x5a, 0xa6};
constexpr Rgb kEdge{0x55, 0x55, 0x55};
constexpr TextStyle kName{11, {0x22, 0x22, 0x22}};
constexpr TextStyle kDetail{9, {0x55, 0x55, 0x55}};

// ---- Graphviz ----

constexpr double kInch = 72;  // points

struct CloseGraph {
  void operator()(Agraph_t* graph) const { agclose(graph); }
};

/// Graphviz with the dot engine only, which is linked in: no configuration file, no other plugins.
GVC_t* context() {
  static lt_symlist_t plugins[] = {{"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library},
                                   {nullptr, nullptr}};
  static GVC_t* const context = gvContextPlugins(plugins, 0);
  return context;
}

void set(void* object, const char* name, const std::string& value) {
  agsafeset(object, const_cast<char*>(name), const_cast<char*>(value.c_str()), const_cast<char*>(""));
}

Agnode_t* node_of(Agraph_t* graph, std::size_t number) {
  return agnode(graph, concat("n", number).data(), 0);
}

// ---- drawing ----

struct BoxStyle {
  Rgb fill, edge;
};

/// By Graph::Kind.
constexpr BoxStyle kStyles[] = {
    {{0xf6, 0xf6, 0xf6}, {0x99, 0x99, 0x99}},  // data
    {{0xe3, 0xee, 0xfa}, {0x5b, 0x8c, 0xc4}},  // linear
    {{0xff, 0xe9, 0xcf}, {0xd5, 0x8a, 0x2e}},  // attention
    {{0xff, 0xfa, 0xd6}, {0xbf, 0xac, 0x3a}},  // norm
    {{0xe2, 0xf3, 0xe6}, {0x4f, 0x9d, 0x66}},  // recurrent
    {{0xf1, 0xe8, 0xf6}, {0x95, 0x6f, 0xb0}},  // other
};

Size box_size(const Graph::Node& node) {
  double width = text_width(printable(node.title, 60), kName);
  for (const auto& line : node.lines) width = std::max(width, text_width(printable(line, 80), kDetail));
  return {std::max(std::ceil(width) + 20, 96.0), 24 + kLine * static_cast<double>(node.lines.size())};
}

void arrow_head(Painter& painter, Point tip, double dx, double dy, Rgb color) {
  const double size = 5;
  const double length = std::hypot(dx, dy), x = dx / length, y = dy / length;
  painter.polygon({tip,
                   {tip.x - size * (x + 0.55 * y), tip.y - size * (y - 0.55 * x)},
                   {tip.x - size * (x - 0.55 * y), tip.y - size * (y + 0.55 * x)}},
                  color);
}

void draw_edge(Graph::Flow flow, const GraphLayout::Curve& curve, Painter& painter) {
  const Rgb color = flow == Graph::Flow::forward ? kEdge : kSkip;
  const bool dashed = flow == Graph::Flow::recurrent;
  painter.curve(curve.points, {color, flow == Graph::Flow::skip ? 1.6 : 1.2, 1,
                               dashed ? std::vector<double>{4, 3} : std::vector<double>{}});
  const Point base = curve.points.back();
  arrow_head(painter, curve.tip, curve.tip.x - base.x, curve.tip.y - base.y, color);
}

void draw_node(const Graph::Node& node, const Rect& box, Painter& painter) {
  const BoxStyle& style = kStyles[static_cast<std::size_t>(node.kind)];
  painter.round_box(box, 5, style.fill, style.edge, 1);
  const double x = box.x + box.width / 2;
  painter.text(printable(node.title, 60), x, box.y + 12, kName, Anchor::middle);
  for (std::size_t i = 0; i < node.lines.size(); ++i) {
    painter.text(printable(node.lines[i], 80), x, box.y + 25 + kLine * static_cast<double>(i), kDetail,
                 Anchor::middle);
  }
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : printable(text, 240))
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::size_t Graph::add(const std::string& name, Kind kind, std::vector<std::string> lines,
                       const std::vector<std::size_t>& from) {
  std::erase(lines, "");
  nodes.push_back({name, std::move(lines), kind});
  for (const std::size_t source : from) connect(source, nodes.size() - 1);
  return nodes.size() - 1;
}

void Graph::connect(std::size_t from, std::size_t to, Flow flow) {
  edges.push_back({from, to, flow});
}

GraphLayout lay_out(const Graph& graph, const std::vector<Size>& boxes) {
  const Fragile fragile("Graphviz");
  const std::unique_ptr<Agraph_t, CloseGraph> laid(agmemread(dot(graph).c_str()));
  if (!laid) fail("Graphviz cannot read the graph");
  set(laid.get(), "label", "");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Agnode_t* node = node_of(laid.get(), i);
    set(node, "label", "");
    set(node, "fixedsize", "true");
    set(node, "width", std::to_string(boxes[i].width / kInch));
    set(node, "height", std::to_string(boxes[i].height / kInch));
  }
  if (gvLayout(context(), laid.get(), "dot") != 0) fail("Graphviz cannot lay the graph out");

  const boxf sheet = GD_bb(laid.get());
  const auto place = [&](pointf p) { return Point{p.x - sheet.LL.x, sheet.UR.y - p.y}; };
  GraphLayout layout;
  layout.size = {sheet.UR.x - sheet.LL.x, sheet.UR.y - sheet.LL.y};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Point middle = place(ND_coord(node_of(laid.get(), i)));
    layout.boxes.push_back(
        {middle.x - boxes[i].width / 2, middle.y - boxes[i].height / 2, boxes[i].width, boxes[i].height});
  }
  for (std::size_t i = 0; i < graph.plates.size(); ++i) {
    Agraph_t* cluster = agsubg(laid.get(), concat("cluster_", i).data(), 0);
    const boxf box = GD_bb(cluster);
    const Point corner = place({box.LL.x, box.UR.y});
    layout.plates.push_back({corner.x, corner.y, box.UR.x - box.LL.x, box.UR.y - box.LL.y});
    layout.plate_texts.push_back(place(GD_label(cluster)->pos));
  }
  for (const Graph::Edge& edge : graph.edges) {
    Agedge_t* drawn =
        agedge(laid.get(), node_of(laid.get(), edge.from), node_of(laid.get(), edge.to), nullptr, 0);
    if (!drawn || !ED_spl(drawn)) fail("Graphviz found no route for an arrow");
    const bezier& curve = ED_spl(drawn)->list[0];
    GraphLayout::Curve& points = layout.curves.emplace_back();
    for (int i = 0; i < static_cast<int>(curve.size); ++i) points.points.push_back(place(curve.list[i]));
    points.tip = curve.eflag ? place(curve.ep) : points.points.back();
  }
  gvFreeLayout(context(), laid.get());
  return layout;
}

std::string draw_graph(const Graph& graph, PictureFormat format) {
  if (graph.nodes.empty()) fail("there is nothing to draw: the graph has no boxes");
  std::vector<Size> boxes;
  for (const auto& node : graph.nodes) boxes.push_back(box_size(node));
  const GraphLayout layout = lay_out(graph, boxes);
  const Size heading = heading_size(graph.title, graph.subtitle);
  const double top = kMargin + heading.height + 8, width = std::max(layout.size.width, heading.width);
  const Size sheet{std::ceil(width + 2 * kMargin), std::ceil(top + layout.size.height + kMargin)};
  return paint(format, sheet, [&](Painter& painter) {
    draw_heading(graph.title, graph.subtitle, kMargin, painter);
    painter.placed({kMargin + (width - layout.size.width) / 2, top}, 1, [&] {
      for (std::size_t i = 0; i < graph.plates.size(); ++i) {
        painter.round_box(layout.plates[i], 9, {0xfb, 0xfb, 0xfb}, {0xb5, 0xb5, 0xb5}, 0.8);
        const Point at = layout.plate_texts[i];
        painter.text(printable(graph.plates[i].text, 40), at.x, at.y, kName, Anchor::middle);
      }
      for (std::size_t i = 0; i < graph.edges.size(); ++i)
        draw_edge(graph.edges[i].flow, layout.curves[i], painter);
      for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        draw_node(graph.nodes[i], layout.boxes[i], painter);
    });
  });
}

std::string dot(const Graph& graph) {
  std::string out =
      "digraph model {\n  rankdir=BT;\n  ranksep=0.3;\n  mclimit=4;\n  node [shape=box, style=rounded];\n"
      "  edge [arrowsize=0.5];\n";
  if (!graph.title.empty()) out += concat("  label=", quoted(graph.title), ";\n");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::string label = graph.nodes[i].title;
    for (const auto& line : graph.nodes[i].lines) label += "; " + line;
    out += concat("  n", i, " [label=", quoted(label), "];\n");
  }
  if (!graph.inputs.empty()) {
    out += "  { rank=min;";
    for (const std::size_t input : graph.inputs) out += concat(" n", input, ";");
    out += " }\n";
  }
  for (std::size_t i = 0; i < graph.plates.size(); ++i) {
    const Graph::Plate& plate = graph.plates[i];
    out += concat("  subgraph cluster_", i, " { label=", quoted(plate.text),
                  "; labelloc=b; labeljust=r; fontsize=11;");
    for (std::size_t node = plate.first; node < plate.end; ++node) out += concat(" n", node, ";");
    out += " }\n";
  }
  std::vector<bool> has_input(graph.nodes.size());  // the first input is drawn straight, if it can be
  const auto of_inputs =
      [&](const Graph::Edge& edge) {  // those of the bottom row meet in the middle above them
        return std::ranges::count_if(graph.edges, [&](const Graph::Edge& e) { return e.to == edge.to; }) >
                   1 &&
               !graph.inputs.empty();
      };
  for (const auto& edge : graph.edges) {
    out += concat("  n", edge.from, " -> n", edge.to);
    if (edge.flow == Graph::Flow::forward && !has_input[edge.to] && !of_inputs(edge)) out += " [weight=4]";
    has_input[edge.to] = true;
    if (edge.flow == Graph::Flow::skip) out += " [color=blue, weight=0]";
    if (edge.flow == Graph::Flow::recurrent) out += " [style=dashed, constraint=false]";
    out += ";\n";
  }
  return out + "}\n";
}

}  // namespace heed::draw
