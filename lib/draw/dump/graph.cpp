// viz-dump --graph.
#include "draw/dump/forms.h"
#include "draw/dump/output.h"
#include "draw/graph/model_graph.h"
#include "io/frame_stream.h"

namespace heed::draw {

void dump_graph(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  TensorMap map, frame;
  reader.next(map);
  while (reader.next(frame)) {  // later frames have the same steps, but a failing producer must be noticed
  }
  Graph graph = model_graph(map, options.name);
  if (!options.figure.title.empty()) graph.title = options.figure.title;
  write_drawing(options, {[&](PictureFormat format) { return draw_graph(graph, format); },
                          [&](const Terminal&) { return dot(graph); }});
}

}  // namespace heed::draw
