#include "draw/dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <span>

#include "base/error.h"
#include "draw/listing.h"
#include "draw/table.h"
#include "draw/terminal.h"
#include "draw/walk.h"
#include "io/atomic_file.h"
#include "io/byte_stream.h"

namespace heed::draw {
namespace {

/// Text that leaves piece by piece: to stdout or a pipe at once, to a file whole or not at all.
class TextOutput {
 public:
  explicit TextOutput(const std::string& path) : name_(path == "-" ? "<stdout>" : escaped(path)) {
    if (path == "-") {
      stream_.emplace(STDOUT_FILENO, false);
    } else if (io::is_special_file(path)) {
      stream_.emplace(open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (stream_->get() < 0) io::fail_errno(name_, "cannot open");
    } else {
      file_.emplace(path);
    }
  }
  void write(const std::string& text) {
    if (file_) {
      file_->write(text);
    } else {
      io::write_bytes(stream_->get(), std::as_bytes(std::span(text)), name_);
    }
  }
  void finish() {
    if (file_) file_->commit();
  }

 private:
  std::string name_;
  std::optional<io::Descriptor> stream_;
  std::optional<io::AtomicFile> file_;
};

/// -o picture.png means --png picture.png; -o table.tsv means --tsv.
void apply_suffix(DumpOptions& options) {
  const std::string& path = options.output;
  if (path.ends_with(".png")) options.png = path;
  if (path.ends_with(".svg")) options.svg = path;
  if (path.ends_with(".pdf")) options.pdf = path;
  const bool has_form = options.list || options.heatmap || options.tsv || options.json;
  if (!has_form && path.ends_with(".tsv")) options.tsv = true;
  if (!has_form && path.ends_with(".json")) options.json = true;
  for (const char* picture : {".bmp", ".gif", ".jpg", ".jpeg", ".webp", ".eps"}) {
    if (path.ends_with(picture)) fail<UsageError>("-o ", escaped(path), ": draws .png, .svg and .pdf only");
  }
}

bool wants_pictures(const DumpOptions& o) {
  return !o.png.empty() || !o.svg.empty() || !o.pdf.empty();
}

bool is_picture(const std::string& path) {
  return path.ends_with(".png") || path.ends_with(".svg") || path.ends_with(".pdf");
}

void check(const DumpOptions& options) {
  const bool looks = options.heatmap || wants_pictures(options);
  if (options.tsv && options.json) fail<UsageError>("--tsv and --json exclude each other");
  if (wants_pictures(options) && !options.heatmap && options.output != "-" && !is_picture(options.output)) {
    fail<UsageError>("-o ", escaped(options.output),
                     ": nothing is left to write there; the picture goes elsewhere");
  }
  if (looks && (options.list || options.tsv || options.json)) {
    fail<UsageError>("a picture and a table cannot be written at once: call viz-dump twice");
  }
}

std::vector<Choice> choices_of(const DumpOptions& options) {
  std::vector<Choice> choices;
  if (!options.sentence.empty()) choices.push_back(parse_choice("sentence", options.sentence));
  if (!options.layer.empty()) choices.push_back(parse_choice("layer", options.layer));
  if (!options.head.empty()) choices.push_back(parse_choice("head", options.head));
  for (const auto& text : options.slices) choices.push_back(parse_choice(text));
  return choices;
}

void dump_list(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  TextOutput output(options.output);
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
  TextOutput output(options.output);
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

void write_picture(const Heatmap& figure, const std::string& path, PictureFormat format) {
  if (path.empty()) return;
  if (path == "-" && isatty(STDOUT_FILENO) == 1) {
    fail<UsageError>("a picture is binary and stdout is a terminal: redirect it, or use --heatmap");
  }
  io::write_file_atomically(path, draw_heatmap(figure, format));
}

void dump_figure(const DumpOptions& options) {
  const Terminal terminal = detect_terminal(options.color);
  io::FrameReader reader(options.input);
  std::optional<Heatmap> figure;
  visit_slices(reader, options.name, choices_of(options), complete_for_picture,
               [&](const TensorMap& frame, const Slice& slice, std::int64_t) {
                 if (figure) fail<UsageError>("a picture shows one sentence: choose it by --sentence");
                 figure = heatmap_of(frame, slice, options.figure);
               });
  if (!figure) fail(escaped(reader.name()), ": there is no sentence in it");
  write_picture(*figure, options.png, PictureFormat::png);
  write_picture(*figure, options.svg, PictureFormat::svg);
  write_picture(*figure, options.pdf, PictureFormat::pdf);
  if (options.heatmap) {
    TextOutput output(is_picture(options.output) ? "-" : options.output);
    output.write(draw_on_terminal(*figure, terminal));
    output.finish();
  }
}

}  // namespace

void dump(DumpOptions options) {
  apply_suffix(options);
  check(options);
  if (options.heatmap || wants_pictures(options)) {
    dump_figure(options);
  } else if (!options.list && (options.tsv || options.json)) {
    dump_table(options);
  } else {
    dump_list(options);
  }
}

}  // namespace heed::draw
