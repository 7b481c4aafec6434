// The forms of viz-dump's output, one function each, of which dump() calls one; and what they share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "draw/dump/dump.h"
#include "draw/select/sentences.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {

// Pictures (pictures.cpp).
void dump_figure(const DumpOptions& options);     ///< --heatmap, and pictures without another form
void dump_chart(const DumpOptions& options);      ///< --curves, --bars
void dump_top_bars(const DumpOptions& options);   ///< --top with --bars
void dump_histogram(const DumpOptions& options);  ///< --histogram
void dump_arcs(const DumpOptions& options);       ///< --arcs
void dump_graph(const DumpOptions& options);      ///< --graph
void dump_page(const DumpOptions& options);       ///< --html

// Text and numbers (numbers.cpp).
void dump_list(const DumpOptions& options);   ///< --list
void dump_table(const DumpOptions& options);  ///< --tsv, --json
void dump_top(const DumpOptions& options);    ///< --top
void dump_stats(const DumpOptions& options);  ///< --stats
void dump_npy(const DumpOptions& options);    ///< --npy

/// --sentence, --layer, --head and --slice.
std::vector<Selection> selections_of(const DumpOptions& options);
bool is_one_sentence(const std::vector<Selection>& selections);

/// A CompleteSelections that adds none: every other dimension is kept whole.
void keep_all(const TensorMap& frame, const std::string& path, std::vector<Selection>& selections);

/// visit_slices() of what the options select, with pieces merged into words if they say so.
void visit_chosen(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const VisitSlice& visit);
/// The same for a form (`what`) that shows one sentence: throws UsageError when several are selected.
void visit_single(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const std::string& what,
                  const std::function<void(const TensorMap& frame, const Slice& slice)>& visit);

/// The name of a tensor and the values of all slices that are chosen of it.
struct Gathered {
  std::string name;
  std::vector<double> values;
};
Gathered gather(const DumpOptions& options);

bool wants_pictures(const DumpOptions& options);
bool is_picture(const std::string& path);

/// Writes a whole file; - is stdout.
void write_text(const std::string& path, const std::string& text);

}  // namespace heed::draw
