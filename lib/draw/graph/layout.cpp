#include "draw/graph/graph.h"

#include <gvc.h>
#include <gvplugin.h>

#include <memory>

#include "base/error.h"

extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;

namespace heed::draw {
namespace {

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

}  // namespace

GraphLayout lay_out(const Graph& graph, const std::vector<Size>& boxes) {
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
    if (!drawn || !ED_spl(drawn)) fail("Graphviz found no way for an arrow");
    const bezier& curve = ED_spl(drawn)->list[0];
    GraphLayout::Curve& points = layout.curves.emplace_back();
    for (int i = 0; i < static_cast<int>(curve.size); ++i) points.points.push_back(place(curve.list[i]));
    points.tip = curve.eflag ? place(curve.ep) : points.points.back();
  }
  gvFreeLayout(context(), laid.get());
  return layout;
}

}  // namespace heed::draw
