// The forms of viz-dump's output, one function each, called by dump(), and their common helpers. To add a
// form: declare its function here, define it in pictures.cpp or numbers.cpp, and add a line to kForms and a field to
// DumpOptions.
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
void dump_chart(const DumpOptions& options);      ///< --curves, --bars of a table
void dump_bars(const DumpOptions& options);       ///< --bars, with --top those of the greatest values
void dump_histogram(const DumpOptions& options);  ///< --histogram
void dump_arcs(const DumpOptions& options);       ///< --arcs
void dump_over(const DumpOptions& options);       ///< --over
void dump_document(const DumpOptions& options);   ///< --document
void dump_graph(const DumpOptions& options);      ///< --graph
void dump_page(const DumpOptions& options);       ///< --html

// Text and numbers (numbers.cpp).
void dump_list(const DumpOptions& options);         ///< --list
void dump_table(const DumpOptions& options);        ///< --tsv, --json
void dump_top(const DumpOptions& options);          ///< --top
void dump_stats(const DumpOptions& options);        ///< --stats
void dump_npy(const DumpOptions& options);          ///< --npy
void dump_safetensors(const DumpOptions& options);  ///< --safetensors
void dump_h5(const DumpOptions& options);           ///< --h5

/// The options, beside --png, --tsv and the like, that a form uses: others are refused.
enum Takes : unsigned {
  kName = 1u << 0,
  kSentence = 1u << 1,
  kSlice = 1u << 2,  ///< --layer, --head, --slice
  kWords = 1u << 3,
  kTitle = 1u << 4,
  kRange = 1u << 5,
  kQuantity = 1u << 6,
  kColormap = 1u << 7,
  kValues = 1u << 8,
  kPins = 1u << 9,  ///< --columns, --pin, --threshold
  kBins = 1u << 10,
  kDtype = 1u << 11,
  kAxes = 1u << 12,  ///< of charts
};
inline constexpr unsigned kTakesSlice = kName | kSentence | kSlice | kWords,
                          kTakesMap = kTakesSlice | kTitle | kRange | kColormap | kValues;

/// A form with an option of its own; two exclude each other.
struct Form {
  const char* option;
  bool DumpOptions::*given;
  unsigned takes;
  const char* help;
  void (*dump)(const DumpOptions&);
  bool is_picture = false, is_tsv = false,
       is_json = false;  ///< combines with --png and others, --tsv, --json
};
inline constexpr Form kForms[] = {
    {"--heatmap", &DumpOptions::heatmap, kTakesMap, "a slice as a heat map in the terminal", dump_figure,
     true},
    {"--stats", &DumpOptions::stats, kTakesSlice, "mean, deviation, norm and quantiles of a slice",
     dump_stats, false, true, true},
    {"--histogram", &DumpOptions::histogram, kTakesSlice | kTitle | kRange | kBins,
     "a histogram of a slice, or of every tensor of a group (with --tsv: counts)", dump_histogram, true,
     true},
    {"--npy", &DumpOptions::npy, kTakesSlice, "a slice as an array for numpy.load", dump_npy},
    {"--safetensors", &DumpOptions::safetensors, kName | kDtype,
     "all numeric tensors, or those selected by --name, as a safetensors file", dump_safetensors},
    {"--h5", &DumpOptions::h5, kName,
     "all tensors, or those selected by --name, as one HDF5 file with their history: joins parts of a text "
     "into the file that a single run would write",
     dump_h5},
    {"--arcs", &DumpOptions::arcs, kTakesSlice | kTitle | kRange | kPins,
     "attention weights as arcs between words", dump_arcs, true},
    {"--document", &DumpOptions::document, kSentence | kWords | kTitle,
     "a document with the attention to its sentences and to their words (decode --attention, or a trace)",
     dump_document, true},
    {"--graph", &DumpOptions::graph, kName | kTitle,
     "the computation graph of a model, of one layer (--name encoder/layer_0), or of `attend --steps`; as "
     "text in the DOT language",
     dump_graph, true},
    {"--curves", &DumpOptions::curves, kName | kTitle | kRange | kAxes,
     "columns of a table (tab-separated text, or the vectors of an HDF5 group) as curves", dump_chart, true},
    {"--bars", &DumpOptions::bars, kName | kTitle | kRange | kValues | kAxes,
     "columns of a table as bars, grouped by its first column; with --top: the largest values", dump_bars,
     true}};

/// --sentence, --layer, --head and --slice.
std::vector<Selection> selections_of(const DumpOptions& options);
bool is_one_sentence(const std::vector<Selection>& selections);

/// A CompleteSelections that adds none: all other dimensions are kept whole.
void keep_all(const TensorMap& frame, const std::string& path, std::vector<Selection>& selections);

/// visit_slices() of the selected part, with pieces merged into words if the options say so.
void visit_chosen(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const VisitSlice& visit);
/// visit_chosen() for a form (`what`) that shows one sentence: throws UsageError if several are selected.
void visit_single(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const std::string& what, const VisitSlice& visit);

/// Whether a form shows the tensor at a path.
using IsMeant = std::function<bool(const std::string& path)>;
/// The paths selected by --name for a form that shows several tensors: those that contain it as whole
/// components, or match the glob; without --name all.
IsMeant meant_by(const std::string& name);

/// The input; from another program's arrays, which may be very large, only the one that --name selects.
io::FrameReader open_input(const DumpOptions& options);
/// The input as one map; from another program's arrays only the selected ones.
TensorMap read_meant(const std::string& input, const IsMeant& is_meant);

/// The name of a tensor and the values of all its selected slices.
struct Gathered {
  std::string name;
  std::vector<double> values;
};
Gathered gather(const DumpOptions& options);

bool wants_pictures(const DumpOptions& options);
bool is_picture(const std::string& path);

/// The heat map of the selection, reduced to a size that a picture can show.
Heatmap chosen_heatmap(const DumpOptions& options);
/// Writes the requested pictures; writes `text` if there are none, or with --heatmap.
void write_drawing(const DumpOptions& options, const std::function<std::string(PictureFormat)>& picture,
                   const std::function<std::string(const Terminal&)>& text);

}  // namespace heed::draw
