// What viz-dump does: one input, looked at in one way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "draw/chart_options.h"
#include "draw/figure.h"

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
  bool curves = false, bars = false;  ///< of a table: draw/columns.h
  bool table = false;                 ///< the heat map is that of a table
  std::string png, svg, pdf;
  std::string html;  ///< a page of the chosen sentences, or of all
  FigureOptions figure;
  ChartOptions chart;
  bool follow = false;                                ///< draw curves again as their table grows
  std::function<bool()> stop = [] { return false; };  ///< asks --follow to end
  std::string color = "auto";                         ///< on the terminal: auto, always, never
};

/// Throws Error, and UsageError when the options contradict each other.
void dump(DumpOptions options);

}  // namespace heed::draw
