// A self-contained interactive HTML page of attention: heat map, lines between two columns of words, a grid
// of layers and heads, and the computation step by step. It works offline; its content security policy
// forbids the browser to load anything.
//
// The page (page.html) contains its style and scripts, one JSON with tokens and shapes (page_data.h), and one
// base64 block for each tensor of each sentence: little-endian float32 in row-major order. Values of other
// types are rounded to float32.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "draw/select/slice.h"
#include "io/frame_stream.h"

namespace heed::draw {

struct PageOptions {
  std::string title;              ///< empty: the title of the first group
  std::string range;              ///< "low:high" of the colour scale; empty: natural_range of all sentences
  std::string colormap = "auto";  ///< as in FigureOptions
  std::size_t limit = 64u << 20;  ///< bytes; larger pages are slow to open
};

// What embed.cmake makes of the files in this folder.
extern const char* const html_template;  ///< page.html
extern const char* const html_style;     ///< page.css
extern const char* const html_script;    ///< the scripts, inside one function

/// The page of the selected parts of all sentences. `name` is that of page_tensors_of. A selected index
/// keeps its dimension, so that the page can say "layer 3"; a tensor without a selected dimension is taken
/// whole. Throws Error, and UsageError that says what to select when the page would exceed the limit.
std::string html_page(io::FrameReader& reader, const std::string& name,
                      const std::vector<Selection>& selections, const PageOptions& options);

}  // namespace heed::draw
