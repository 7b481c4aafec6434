// viz-dump: lists, prints and draws the tensors of any file, and writes interactive pages.
#include "base/log.h"
#include "cli/tool.h"
#include "draw/dump/forms.h"
#include "models/foreign/export.h"
#include "models/foreign/import.h"

namespace {

void export_folder(const std::string& model, const std::string& folder, const std::string& dtype) {
  heed::logging::note(
      "exported " + heed::foreign::export_model(heed::load_model(model), folder, heed::io::kFloatsAs(dtype)));
}

std::optional<heed::draw::ModelShapes> foreign_model(const std::string& path) {
  if (!heed::foreign::is_foreign_model(path)) return std::nullopt;
  const heed::foreign::Outline outline = heed::foreign::outline(path);
  return heed::draw::ModelShapes(outline.config, outline.shapes);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace heed;
  draw::DumpOptions options;
  std::string export_to;
  return cli::run_tool("viz-dump", "List, print and draw tensors.", argc, argv, [&](cli::Tool& tool) {
    tool.inputs(options.inputs,
                "an HDF5 file, or a pipe from another tool; a file of arrays: .safetensors (or a folder with "
                "shards), .npz, .npy; rows of numbers as text; a table for --curves and --bars");
    tool.output(options.output,
                "output file, - for stdout; .png, .svg, .pdf, .html, .tsv, .json, .npy, .safetensors "
                "and .h5 select the form");
    tool.option(
        "--list", options.list,
        "list all tensors with shapes and statistics (the default, except for a model, which shows a card "
        "with its settings and history); for arrays of other programs, only what their headers state");
    tool.option("--tsv", options.tsv, "a slice as tab-separated values (with --list: the list)");
    tool.option("--json", options.json, "a slice as JSON, one line per sentence (with --list: the list)");
    for (const draw::Form& form : draw::kForms) tool.option(form.option, options.*form.given, form.help);
    tool.option(
        "--top K", options.top,
        "the K largest values along the last dimension, as a table (place 0: the largest), or with --bars or "
        "--arcs",
        between(0, 1'000'000));
    tool.option("--table", options.table,
                "a heat map of a table: one row per line, named by its first field");
    tool.option("--png FILE", options.png, "write a slice as a heat map to this PNG file");
    tool.option("--svg FILE", options.svg, "write it as SVG");
    tool.option("--pdf FILE", options.pdf, "write it as PDF");
    tool.option("--html FILE", options.html,
                "write an interactive page of all sentences, layers and heads, and of the steps recorded by "
                "attend --steps; works offline");
    tool.writes({"png", "svg", "pdf", "html"});
    tool.option("--name PATH", options.name,
                "the tensor: its path, the end of its path, its group, or a glob (** crosses levels)");
    tool.option("--sentence N", options.sentence, "sentence number, counted from 0 over the whole input");
    tool.option("--layer N", options.layer, "layer number (-1: the last), mean, max or all");
    tool.option("--head N", options.head,
                "head number, mean, max, or all: one map per head (with --layer all: a grid)");
    tool.option("--slice DIM=WHICH", options.slices,
                "selection along any dimension: INDEX, FIRST:END, LABEL, mean, max or all; repeatable");
    tool.option("--export FOLDER", export_to,
                "write a model as a folder that transformers can load: config.json, model.safetensors and, "
                "if possible, tokenizer.json; a model in Marian's own form as model.npz and decoder.yml");
    tool.option("--dtype", options.dtype,
                "type of float32 tensors in a safetensors file; f16 and bf16 are rounded to nearest",
                cli::one_of(io::kFloatsAs.words));
    tool.option("--title", options.figure.title, "title of the picture");
    tool.option("--quantity TEXT", options.figure.quantity,
                "what the numbers of a table measure, shown beside the colour bar");
    tool.option("--range LOW:HIGH", options.figure.range, "ends of the colour scale, or of the y axis");
    tool.option("--colormap", options.figure.colormap, "colour map",
                cli::one_of({"auto", "viridis", "magma", "blue-red", "gray"}));
    tool.option("--values", options.figure.write_values,
                "print each number in its cell, or above its bar (always done for small tables of counts)");
    tool.option("--words", options.words,
                "merge pieces into words: sums over the pieces of a key, means over those of a query");
    tool.option(
        "--over PICTURE", options.over,
        "draw the attention to an image's places over the image, one map for each row of the slice; PNG, "
        "JPEG, or an array of images, from which the sentence's is taken");
    tool.option("--columns", options.columns, "arcs between two columns of words instead of within one line");
    tool.option("--pin WORD", options.pins,
                "draw only the arcs of this query, a word or position; repeatable");
    tool.option("--threshold X", options.threshold,
                "smallest weight drawn as an arc; negative: 1/20 of the scale");
    tool.option("--bins N", options.bins, "number of bins of a histogram", cli::between(1, 2000));
    tool.option("--x COLUMN", options.chart.x,
                "column on the x axis of a chart (default: the first; for curves step, if there is one)");
    tool.option("--y COLUMN", options.chart.y, "column to draw (default: losses, or else all); repeatable");
    tool.option("--overlay FILE", options.chart.overlays, "another table in the same chart; repeatable");
    tool.option("--label TEXT", options.chart.labels,
                "name of a table in the legend, INPUT first; repeatable");
    tool.option("--x-title TEXT", options.chart.x_title, "title of the x axis");
    tool.option("--y-title TEXT", options.chart.y_title, "title of the y axis");
    tool.option("--log-x", options.chart.log_x, "logarithmic x axis");
    tool.option("--log-y", options.chart.log_y, "logarithmic y axis");
    tool.option("--size WIDTHxHEIGHT", options.chart.size, "size of a chart inside its axes, in points");
    tool.option("--follow", options.follow,
                "redraw the curves as INPUT grows, until training ends or Ctrl-C");
    tool.option("--color", options.color, "colours in the terminal",
                cli::one_of({"auto", "always", "never"}));
    tool.example("tokenize < one.en | embed | attend | viz-dump --heatmap --sentence 0");
    tool.example("viz-dump attention.h5 --name cross_attention --layer 3 --head mean -o alignment.png");
    tool.example("viz-dump model.h5; viz-dump model.h5 -o curves.png");
    tool.example("viz-dump model.h5 --graph -o model.svg");
    tool.example("viz-dump attention.h5 --html attention.html");
    tool.example("viz-dump attention.h5 --over cat.png -o caption.png");
    tool.example("viz-dump model.safetensors --list --name 'encoder.layer.3.*'");
    tool.example("viz-dump encoded-0.h5 encoded-1.h5 -o encoded.h5");
    tool.example("viz-dump --bars bleu_by_length.tsv --y-title BLEU --values -o bleu.pdf");
    tool.example("viz-dump model.h5 --export folder/");
    tool.on_run([&] {
      if (!export_to.empty()) {
        tool.allow_only("--export", {"--dtype"});
        return export_folder(options.input(), export_to, options.dtype);
      }
      if (options.follow) options.stop = [&stop = tool.stop_flag()] { return stop.load(); };
      options.foreign_model = foreign_model;
      draw::dump(options);
    });
  });
}
