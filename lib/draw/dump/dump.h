// What viz-dump does: one input, looked at in one way.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "draw/chart/table_chart.h"
#include "draw/picture/slice_heatmap.h"

namespace heed::draw {

struct DumpOptions {
  std::string input = "-";
  std::string output = "-";  ///< a name ending in .png, .svg, .pdf, .html, .tsv or .json also says what

  // What to look at.
  std::string name;
  std::string sentence, layer, head;  ///< shorthands for --slice sentence=..., layer=..., head=...
  std::vector<std::string> slices;

  // How. Listing is the default; --list goes with --tsv or --json, pictures go with a form and each other.
  bool list = false, tsv = false, json = false, heatmap = false;
  bool npy = false, stats = false, histogram = false;
  bool curves = false, bars = false;  ///< of a table (draw/columns.h); bars with `top`: of the strongest
  bool table = false;                 ///< the heat map is that of a table
  bool arcs = false;
  bool graph = false;      ///< of a model file, or of the stages of an attention; as text: for Graphviz
  std::int64_t top = 0;    ///< the strongest along the last dimension, and arcs of each query; 0: all
  std::int64_t bins = 40;  ///< of a histogram
  bool words = false;      ///< pieces put together (draw/words.h)
  bool columns = false;    ///< arcs from a column of words to a column
  double threshold = -1;   ///< least weight drawn as an arc; below 0: a twentieth of the scale
  std::vector<std::string> pins;  ///< arcs of these queries only
  std::string png, svg, pdf;
  std::string html;  ///< a page of the chosen sentences, or of all
  HeatmapOptions figure;
  ChartOptions chart;
  bool follow = false;                                ///< draw curves again as their table grows
  std::function<bool()> stop = [] { return false; };  ///< asks --follow to end
  std::string color = "auto";                         ///< on the terminal: auto, always, never
};

/// Throws Error, and UsageError when the options contradict each other.
void dump(DumpOptions options);

}  // namespace heed::draw
