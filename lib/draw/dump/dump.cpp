#include "draw/dump/dump.h"

#include "base/error.h"
#include "draw/dump/forms.h"
#include "draw/select/merge_words.h"

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
  for (const char* picture : {".bmp", ".gif", ".jpg", ".jpeg", ".webp", ".eps"}) {
    if (path.ends_with(picture)) fail<UsageError>("-o ", escaped(path), ": wanted .png, .svg, .pdf or .html");
  }
}

/// The forms that exclude each other.
std::vector<Form> given_forms(const DumpOptions& options) {
  std::vector<Form> forms;
  for (const Form& form : kForms) {
    if (options.*form.given) forms.push_back(form);
  }
  if (!options.html.empty()) forms.push_back({"--html", nullptr, "", dump_page});
  if (options.top > 0 && !options.bars && !options.arcs)
    forms.push_back({"--top", nullptr, "", dump_top, false, true});
  return forms;
}

void check(const DumpOptions& options, const std::vector<Form>& forms) {
  if (options.tsv && options.json) fail<UsageError>("--tsv and --json exclude each other");
  const bool draws_map = forms.empty() ? wants_pictures(options) : options.heatmap;
  if (options.table && !draws_map)
    fail<UsageError>("--table is for heat maps: combine it with --heatmap or a picture");
  if (forms.size() > 1) fail<UsageError>(forms[0].option, " and ", forms[1].option, " exclude each other");
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

}  // namespace

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
                  const std::string& what,
                  const std::function<void(const TensorMap& frame, const Slice& slice)>& visit) {
  bool seen = false;
  visit_chosen(options, reader, complete, [&](const TensorMap& frame, const Slice& slice, std::int64_t) {
    if (seen) fail<UsageError>(what, " shows one sentence: choose it by --sentence");
    seen = true;
    visit(frame, slice);
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
  const auto forms = given_forms(options);
  check(options, forms);
  if (!forms.empty()) {
    forms[0].dump(options);
  } else if (wants_pictures(options)) {
    dump_figure(options);
  } else if (!options.list && (options.tsv || options.json)) {
    dump_table(options);
  } else {
    dump_list(options);
  }
}

}  // namespace heed::draw
