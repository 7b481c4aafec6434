#include "draw/dump/dump.h"

#include "base/error.h"
#include "base/paths.h"
#include "draw/dump/forms.h"
#include "draw/print/model_card.h"
#include "draw/select/merge_words.h"
#include "io/superblock.h"

namespace heed::draw {
namespace {

/// -o picture.png implies --png picture.png, -o table.tsv --tsv, and --follow --curves.
void apply_shorthands(DumpOptions& options) {
  if (options.follow && !options.bars) options.curves = true;
  const std::string& path = options.output;
  if (path.ends_with(".png")) options.png = path;
  if (path.ends_with(".svg")) options.svg = path;
  if (path.ends_with(".pdf")) options.pdf = path;
  if (path.ends_with(".html")) options.html = path;
  const bool has_form = options.list || options.heatmap || options.tsv || options.json;
  if (!has_form && path.ends_with(".tsv")) options.tsv = true;
  if (!has_form && path.ends_with(".json")) options.json = true;
  if (path.ends_with(".npy")) options.npy = true;
  if (path.ends_with(".h5")) options.h5 = true;
  if (path.ends_with(".safetensors")) options.safetensors = true;
  for (const char* picture : {".bmp", ".gif", ".jpg", ".jpeg", ".webp", ".eps"}) {
    if (path.ends_with(picture))
      fail<UsageError>("-o ", escaped(path),
                       ": wanted .png, .svg, .pdf, .html, .tsv, .json, .npy, .h5 or .safetensors");
  }
}

constexpr unsigned kTakesTableMap = kTitle | kRange | kQuantity | kColormap | kValues;

/// The forms that exclude each other.
std::vector<Form> given_forms(const DumpOptions& options) {
  std::vector<Form> forms;
  for (Form form : kForms) {
    if (!(options.*form.given)) continue;
    if (form.dump == dump_figure && options.table) form.option = "--table", form.takes = kTakesTableMap;
    if (form.dump == dump_bars && options.top > 0) form.takes = kTakesSlice | kTitle | kRange;
    forms.push_back(form);
  }
  if (!options.html.empty())
    forms.push_back({"--html", nullptr, kTakesMap & ~(kWords | kValues), "", dump_page});
  if (!options.over.empty())
    forms.push_back({"--over", nullptr, kTakesSlice | kTitle | kRange, "", dump_over, true});
  if (options.top > 0 && !options.bars && !options.arcs)
    forms.push_back({"--top", nullptr, kTakesSlice, "", dump_top, false, true});
  return forms;
}

/// What is written when no form is given.
Form plain_form(const DumpOptions& o) {
  if (!o.list && wants_pictures(o))
    return {o.table ? "--table" : "a heat map", nullptr, o.table ? kTakesTableMap : kTakesMap, "",
            dump_figure};
  if (!o.list && (o.tsv || o.json)) return {o.tsv ? "--tsv" : "--json", nullptr, kTakesSlice, "", dump_table};
  return {"--list", nullptr, kTakesSlice & ~kWords, "", dump_list};
}

/// An option without effect is a mistake: in the option, or in the choice of the form.
void refuse_unused(const DumpOptions& o, const Form& form) {
  const DumpOptions unset;
  const ChartOptions& chart = o.chart;
  const struct {
    const char* name;
    bool given;
    Takes as;
    const char* wants;
  } options[] = {
      {"--name", !o.name.empty(), kName, "a tensor"},
      {"--sentence", !o.sentence.empty(), kSentence, "a slice of a tensor"},
      {"--layer", !o.layer.empty(), kSlice, "a slice of a tensor"},
      {"--head", !o.head.empty(), kSlice, "a slice of a tensor"},
      {"--slice", !o.slices.empty(), kSlice, "a slice of a tensor"},
      {"--words", o.words, kWords, "a slice of a tensor"},
      {"--title", !o.figure.title.empty(), kTitle, "a picture"},
      {"--quantity", !o.figure.quantity.empty(), kQuantity, "--table"},
      {"--range", !o.figure.range.empty(), kRange, "a picture with a scale"},
      {"--colormap", o.figure.colormap != unset.figure.colormap, kColormap, "a heat map"},
      {"--values", o.figure.write_values, kValues, "a heat map, or bars of a table"},
      {"--columns", o.columns, kPins, "--arcs"},
      {"--pin", !o.pins.empty(), kPins, "--arcs"},
      {"--threshold", o.threshold != unset.threshold, kPins, "--arcs"},
      {"--bins", o.bins != unset.bins, kBins, "--histogram"},
      {"--dtype", o.dtype != unset.dtype, kDtype, "a safetensors file"},
      {"--x", !chart.x.empty(), kAxes, "--curves or --bars"},
      {"--y", !chart.y.empty(), kAxes, "--curves or --bars"},
      {"--overlay", !chart.overlays.empty(), kAxes, "--curves or --bars"},
      {"--label", !chart.labels.empty(), kAxes, "--curves or --bars"},
      {"--x-title", !chart.x_title.empty(), kAxes, "--curves or --bars"},
      {"--y-title", !chart.y_title.empty(), kAxes, "--curves or --bars"},
      {"--log-x", chart.log_x, kAxes, "--curves"},
      {"--log-y", chart.log_y, kAxes, "--curves"},
      {"--size", !chart.size.empty(), kAxes, "--curves or --bars"},
      {"--follow", o.follow, kAxes, "--curves or --bars of a table"},
  };
  for (const auto& option : options) {
    if (option.given && !(option.as & form.takes))
      fail<UsageError>(option.name, " does not apply to ", form.option, ": it needs ", option.wants);
  }
}

void check(const DumpOptions& options, const std::vector<Form>& forms) {
  if (options.tsv && options.json) fail<UsageError>("--tsv and --json exclude each other");
  const bool draws_map = forms.empty() ? wants_pictures(options) : options.heatmap;
  if (options.table && !draws_map)
    fail<UsageError>("--table is for heat maps: combine it with --heatmap or a picture");
  if (forms.size() > 1) fail<UsageError>(forms[0].option, " and ", forms[1].option, " exclude each other");
  if (!options.over.empty() && !wants_pictures(options))
    fail<UsageError>("--over draws a picture: it needs -o FILE.png, FILE.svg or FILE.pdf");
  if (!options.html.empty() &&
      (wants_pictures(options) || (options.output != "-" && options.output != options.html))) {
    fail<UsageError>("--html writes one page and nothing else: call viz-dump twice");
  }
  if (wants_pictures(options) && !options.heatmap && options.output != "-" && !is_picture(options.output)) {
    fail<UsageError>("-o ", escaped(options.output),
                     ": the picture goes to another file and there is nothing else to write");
  }
  const bool draws =
      wants_pictures(options) || !options.html.empty() || (!forms.empty() && forms[0].is_picture);
  const bool has_table = options.list || (options.tsv && !(forms.size() == 1 && forms[0].is_tsv)) ||
                         (options.json && !(forms.size() == 1 && forms[0].is_json));
  if (draws && has_table) {
    fail<UsageError>("a picture and a table cannot be written at once: call viz-dump twice");
  }
  if (forms.empty()) return;
  if (has_table) {
    fail<UsageError>(forms[0].option, " does not go with ",
                     options.list  ? "--list"
                     : options.tsv ? "--tsv"
                                   : "--json");
  }
  if (wants_pictures(options) && !forms[0].is_picture) {
    fail<UsageError>(forms[0].option, " gives numbers, no picture");
  }
}

/// Whether the input is a model file, which is drawn as its training curves. A pipe can be read only once.
bool shows_model(const DumpOptions& options) {
  if (options.inputs.size() > 1 || !io::is_hdf5_file(options.input())) return false;
  TensorMap map;
  return io::FrameReader(options.input(), {.only = {"model/config"}}).next(map) && is_model(map);
}

}  // namespace

const std::string& DumpOptions::input() const {
  if (inputs.size() > 1)
    fail<UsageError>("INPUT ", escaped(inputs[1]),
                     ": this form shows one file; sentences of several go with --tsv, ",
                     "--heatmap and other forms of a slice");
  return inputs.front();
}

std::vector<Selection> selections_of(const DumpOptions& options) {
  std::vector<Selection> selections;
  for (const auto& [dim, text] :
       {std::pair("sentence", options.sentence), {"layer", options.layer}, {"head", options.head}}) {
    if (!text.empty()) selections.push_back(parse_selection(dim, text));
  }
  for (const auto& text : options.slices) selections.push_back(parse_selection(text));
  return selections;
}

bool is_one_sentence(const std::vector<Selection>& selections) {
  for (const auto& selection : selections) {
    if (selection.dim == "sentence") return selection.kind == Selection::Kind::index;
  }
  return false;
}

void keep_all(const TensorMap&, const std::string&, std::vector<Selection>&) {}

void visit_chosen(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const VisitSlice& visit) {
  visit_slices(reader, options.name, selections_of(options), complete,
               [&](const TensorMap& frame, const Slice& slice, std::int64_t sentence) {
                 visit(frame, options.words ? merge_words(slice) : slice, sentence);
               });
}

void visit_single(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const std::string& what, const VisitSlice& visit) {
  bool seen = false;
  visit_chosen(options, reader, complete,
               [&](const TensorMap& frame, const Slice& slice, std::int64_t sentence) {
                 if (seen) fail<UsageError>(what, " shows one sentence: choose it by --sentence");
                 seen = true;
                 visit(frame, slice, sentence);
               });
  if (!seen) fail(escaped(reader.name()), ": there is no sentence in it");
}

bool wants_pictures(const DumpOptions& o) {
  return !o.png.empty() || !o.svg.empty() || !o.pdf.empty();
}

bool is_picture(const std::string& path) {
  return path.ends_with(".png") || path.ends_with(".svg") || path.ends_with(".pdf");
}

void dump(DumpOptions options) {
  apply_shorthands(options);
  auto forms = given_forms(options);
  if (forms.empty() && wants_pictures(options) && !options.table && options.name.empty() &&
      shows_model(options)) {
    options.curves = true;
    if (options.figure.title.empty()) options.figure.title = leaf_of(options.input());
    forms = given_forms(options);
  }
  check(options, forms);
  const Form form = forms.empty() ? plain_form(options) : forms[0];
  refuse_unused(options, form);
  form.dump(options);
}

}  // namespace heed::draw
