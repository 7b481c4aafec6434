// One self-contained HTML page for looking at attention: heat map, lines between two columns of words, a grid
// of layers and heads, and the computation step by step. It loads nothing, so it works offline and can be
// mailed; its content policy forbids the browser to fetch anything.
//
// What the page carries (page.html): its style and scripts, one JSON with tokens and shapes, and behind it
// one block of base64 for each tensor of each sentence: little-endian float32, the elements in row-major
// order. Values of other types are rounded to float32.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "draw/select/selection.h"
#include "io/frame_stream.h"

namespace heed::draw {

struct PageOptions {
  std::string title;              ///< empty: the title of the first group
  std::string range;              ///< "low:high" of the colour scale; empty: natural_range of all sentences
  std::string colormap = "auto";  ///< as in HeatmapOptions
  std::size_t limit = 64u << 20;  ///< bytes of a page, beyond which it would be slow to open
};

/// The page for the chosen parts of all sentences. `name` as in page_tensors_of. An index in `selections` keeps its
/// dimension, so that the page can say "layer 3"; parts without a chosen dimension are taken whole. Throws
/// Error, and UsageError that says what to choose when the page would exceed the limit.
std::string html_page(io::FrameReader& reader, const std::string& name, const std::vector<Selection>& selections,
                      const PageOptions& options);

}  // namespace heed::draw
