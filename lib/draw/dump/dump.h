// What viz-dump does: prints or draws one input in one form.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "draw/chart/chart.h"
#include "draw/graph/model_graph.h"
#include "draw/picture/slice_heatmap.h"

namespace heed::draw {

struct DumpOptions {
  std::vector<std::string> inputs{"-"};  ///< read one after the other
  /// For a form that shows one file: throws UsageError if there are several.
  const std::string& input() const;
  std::string output =
      "-";  ///< a suffix .png, .svg, .pdf, .html, .tsv, .json, .npy, .safetensors or .h5 selects the form

  // Which tensor, and which part of it.
  std::string name;
  std::string sentence, layer, head;  ///< shorthands for --slice sentence=..., layer=..., head=...
  std::vector<std::string> slices;

  // The form; default: a listing. --list combines with --tsv or --json, pictures with a form and each other.
  bool list = false, tsv = false, json = false, heatmap = false;
  bool npy = false, safetensors = false, h5 = false, stats = false, histogram = false;
  std::string dtype = "f32";  ///< how a safetensors file holds float32: f32, f16 or bf16
  bool curves = false,
       bars = false;   ///< of a table (select/column_table.h); with `top`: of the largest values
  bool table = false;  ///< the input of the heat map is a table
  bool arcs = false;
  bool document = false;   ///< the words of a document, shaded by the attention to them
  bool graph = false;      ///< of a model file, or of the steps of an attention; DOT if written as text
  std::int64_t top = 0;    ///< largest values along the last dimension, or arcs per query; 0: all
  std::int64_t bins = 40;  ///< of a histogram
  bool words = false;      ///< pieces merged into words (select/merge_words.h)
  bool columns = false;    ///< arcs between two columns of words
  double threshold = -1;   ///< smallest weight drawn as an arc; negative: a twentieth of the scale
  std::vector<std::string> pins;  ///< arcs of these queries only
  std::string over;               ///< draw a heat map over this picture, row by row
  std::string png, svg, pdf;
  std::string html;  ///< an interactive page of the selected sentences, or of all
  FigureOptions figure;
  ChartOptions chart;
  bool follow = false;                                ///< redraw the curves as their table grows
  std::function<bool()> stop = [] { return false; };  ///< ends --follow
  std::string color = "auto";                         ///< on the terminal: auto, always, never
  /// The model of another program at `path`, if there is one.
  std::function<std::optional<ModelShapes>(const std::string& path)> foreign_model = [](const std::string&) {
    return std::nullopt;
  };
};

/// Throws Error for bad input and UsageError for options that contradict each other.
void dump(DumpOptions options);

}  // namespace heed::draw
