#include "draw/dump.h"

#include <optional>

#include "base/error.h"
#include "draw/dump_forms.h"
#include "draw/listing.h"
#include "draw/output.h"
#include "draw/table.h"
#include "draw/table_map.h"
#include "draw/walk.h"
#include "io/text_writer.h"

namespace heed::draw {
namespace {

/// -o picture.png means --png picture.png; -o table.tsv means --tsv; --follow means --curves.
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
  for (const char* picture : {".bmp", ".gif", ".jpg", ".jpeg", ".webp", ".eps"}) {
    if (path.ends_with(picture))
      fail<UsageError>("-o ", escaped(path), ": draws .png, .svg, .pdf and .html only");
  }
}

/// The forms that exclude each other.
std::vector<std::string> forms_of(const DumpOptions& o) {
  std::vector<std::string> forms;
  for (const auto& [name, given] : {std::pair{"--heatmap", o.heatmap},
                                    {"--curves", o.curves},
                                    {"--bars", o.bars},
                                    {"--html", !o.html.empty()}}) {
    if (given) forms.emplace_back(name);
  }
  return forms;
}

void check(const DumpOptions& options) {
  const auto forms = forms_of(options);
  const bool looks = !forms.empty() || wants_pictures(options);
  if (forms.size() > 1) fail<UsageError>(forms[0], " and ", forms[1], " exclude each other");
  if (options.table && ((!options.heatmap && !wants_pictures(options)) || options.curves || options.bars))
    fail<UsageError>("--table says what the heat map is made of: it goes with --heatmap or a picture");
  if (options.tsv && options.json) fail<UsageError>("--tsv and --json exclude each other");
  if (!options.html.empty() &&
      (wants_pictures(options) || (options.output != "-" && options.output != options.html))) {
    fail<UsageError>("--html writes one page and nothing else: call viz-dump twice");
  }
  if (wants_pictures(options) && !options.heatmap && options.output != "-" && !is_picture(options.output)) {
    fail<UsageError>("-o ", escaped(options.output),
                     ": nothing is left to write there; the picture goes elsewhere");
  }
  if (looks && (options.list || options.tsv || options.json)) {
    fail<UsageError>("a picture and a table cannot be written at once: call viz-dump twice");
  }
}

void dump_list(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  io::TextWriter output(options.output);
  Listing listing;
  for (TensorMap frame; reader.next(frame); frame = {}) listing.add(frame);
  output.write(options.tsv ? listing.tsv() : options.json ? listing.json() : listing.text());
  output.finish();
}

bool is_one_sentence(const std::vector<Choice>& choices) {
  for (const auto& choice : choices) {
    if (choice.dim == "sentence") return choice.kind == Choice::Kind::index;
  }
  return false;
}

void dump_table(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  io::TextWriter output(options.output);
  const auto choices = choices_of(options);
  const bool single = is_one_sentence(choices);
  TsvLines lines;
  const auto keep_all = [](const TensorMap&, const std::string&, std::vector<Choice>&) {};
  visit_slices(reader, options.name, choices, keep_all,
               [&](const TensorMap&, const Slice& slice, std::int64_t sentence) {
                 if (options.json) {
                   output.write(json(slice));
                 } else if (single || sentence < 0) {
                   output.write(tsv(slice));
                 } else {
                   output.write(lines.add(slice, {{"sentence", std::to_string(sentence)}}));
                 }
               });
  output.finish();
}

Heatmap figure_of_tensor(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  std::optional<Heatmap> figure;
  visit_slices(reader, options.name, choices_of(options), complete_for_picture,
               [&](const TensorMap& frame, const Slice& slice, std::int64_t) {
                 if (figure) fail<UsageError>("a picture shows one sentence: choose it by --sentence");
                 figure = heatmap_of(frame, slice, options.figure);
               });
  if (!figure) fail(escaped(reader.name()), ": there is no sentence in it");
  return *figure;
}

void dump_figure(const DumpOptions& options) {
  const Heatmap figure = options.table ? heatmap_of_table(read_columns(options.input, ""), options.figure)
                                       : figure_of_tensor(options);
  write_drawing(options, {[&](PictureFormat format) { return draw_heatmap(figure, format); },
                          [&](const Terminal& terminal) { return draw_on_terminal(figure, terminal); }});
}

}  // namespace

std::vector<Choice> choices_of(const DumpOptions& options) {
  std::vector<Choice> choices;
  if (!options.sentence.empty()) choices.push_back(parse_choice("sentence", options.sentence));
  if (!options.layer.empty()) choices.push_back(parse_choice("layer", options.layer));
  if (!options.head.empty()) choices.push_back(parse_choice("head", options.head));
  for (const auto& text : options.slices) choices.push_back(parse_choice(text));
  return choices;
}

void dump(DumpOptions options) {
  apply_shorthands(options);
  check(options);
  if (options.curves || options.bars) {
    dump_chart(options);
  } else if (!options.html.empty()) {
    dump_page(options);
  } else if (options.heatmap || wants_pictures(options)) {
    dump_figure(options);
  } else if (!options.list && (options.tsv || options.json)) {
    dump_table(options);
  } else {
    dump_list(options);
  }
}

}  // namespace heed::draw
