// viz-dump: look at any tensor map. Lists its tensors, prints slices and numbers, draws them, writes an
// interactive page.
#include "cli/tool.h"
#include "draw/dump/dump.h"

int main(int argc, char** argv) {
  using namespace heed;
  draw::DumpOptions options;
  return cli::run_tool(
      "viz-dump", "Look at tensors: list them, print them, draw them.", argc, argv, [&](cli::Tool& tool) {
        tool.input(
            options.input,
            "a tensor map: a file of heed or any HDF5 file, or a pipe; a table for --curves and --bars");
        tool.output(options.output,
                    "where to write; .png, .svg, .pdf, .html, .tsv, .json and .npy say what; - is stdout");
        tool.option("--list", options.list, "all tensors with their shapes and statistics (the default)");
        tool.option("--tsv", options.tsv, "a slice as tab-separated values (with --list: the list)");
        tool.option("--json", options.json, "a slice as JSON, one line per sentence (with --list: the list)");
        tool.option("--heatmap", options.heatmap, "a slice as a heat map in the terminal");
        tool.option("--top K", options.top,
                    "the K greatest values along the last dimension, as a table, or as --bars or --arcs",
                    cli::at_least(0));
        tool.option("--stats", options.stats,
                    "mean, deviation, norm, quantiles of a slice, all values together");
        tool.option("--histogram", options.histogram,
                    "how often values occur in a slice, or in every tensor of a group (--tsv: numbers)");
        tool.option("--npy", options.npy, "a slice as an array for numpy.load");
        tool.option("--arcs", options.arcs, "weights as lines between words");
        tool.option(
            "--graph", options.graph,
            "what a model computes, or a layer of it (--name encoder/layer_0), or the stages of `attend "
            "--steps`, as boxes and arrows; as text for Graphviz");
        tool.option("--curves", options.curves,
                    "columns of a table (text with tabs, or vectors of an HDF5 group) as curves");
        tool.option("--table", options.table,
                    "the heat map of a table: a row for each line, named by its first field");
        tool.option(
            "--bars", options.bars,
            "columns of a table as bars, grouped by the names in its first column; with --top: words");
        tool.option("--png FILE", options.png, "a slice as a heat map in this PNG file");
        tool.option("--svg FILE", options.svg, "the same as SVG");
        tool.option("--pdf FILE", options.pdf, "the same as PDF");
        tool.option(
            "--html FILE", options.html,
            "all sentences, layers and heads, and the computation if attend --steps kept it, as one page "
            "for any browser, which works offline");
        tool.option("--name PATH", options.name, "the tensor: its path, the end of its path, or its group");
        tool.option("--sentence N", options.sentence,
                    "number of the sentence, counted from 0 through the whole input");
        tool.option("--layer N", options.layer, "number of the layer (-1: the last), mean, max or all");
        tool.option("--head N", options.head,
                    "number of the head, mean, max, or all: one map per head (with --layer all: a grid)");
        tool.option("--slice DIM=WHICH", options.slices,
                    "DIM=INDEX, FIRST:END, LABEL, mean, max or all, for any dimension; repeatable");
        tool.option("--title", options.figure.title, "title of the picture");
        tool.option("--range LOW:HIGH", options.figure.range,
                    "LOW:HIGH, the values at the ends of the colour scale, or of the y axis");
        tool.option("--colormap", options.figure.colormap, "colours for numbers",
                    cli::one_of({"auto", "viridis", "magma", "blue-red", "gray"}));
        tool.option("--values", options.figure.write_values,
                    "write each number into its cell, or over its bar");
        tool.option("--words", options.words,
                    "put pieces together to words: weights of keys add up, those of queries are averaged");
        tool.option("--columns", options.columns, "arcs from a column of words to another, not in one line");
        tool.option("--pin WORD", options.pins, "arcs of this query only, by word or position; repeatable");
        tool.option("--threshold X", options.threshold,
                    "least weight drawn as an arc; below 0: 1/20 of the scale");
        tool.option("--bins N", options.bins, "bars of a histogram", cli::between(1, 2000));
        tool.option("--x COLUMN", options.chart.x,
                    "of a table: what runs along the x axis (the first column)");
        tool.option("--y COLUMN", options.chart.y, "of a table: what is drawn (losses, or all); repeatable");
        tool.option("--overlay FILE", options.chart.overlays, "another table in the same chart; repeatable");
        tool.option("--label TEXT", options.chart.labels,
                    "name of a table in the legend, INPUT first; repeatable");
        tool.option("--x-title TEXT", options.chart.x_title, "name of the x axis");
        tool.option("--y-title TEXT", options.chart.y_title, "name of the y axis");
        tool.option("--log-x", options.chart.log_x, "logarithmic x axis");
        tool.option("--log-y", options.chart.log_y, "logarithmic y axis");
        tool.option("--size WIDTHxHEIGHT", options.chart.size, "of a chart inside its axes, in points");
        tool.option("--follow", options.follow,
                    "draw curves again whenever INPUT grows; ends with the training, or by Ctrl-C");
        tool.option("--color", options.color, "colours in the terminal",
                    cli::one_of({"auto", "always", "never"}));
        tool.example("tokenize < one.en | embed | attend | viz-dump --heatmap --sentence 0");
        tool.example("viz-dump attention.h5 --name attention_cross --layer 3 --head mean -o alignment.png");
        tool.example("viz-dump attention.h5 --name attention_cross --layer 3 --head all --top 5");
        tool.example("viz-dump model.h5 --graph -o model.svg");
        tool.example("viz-dump attention.h5 --html attention.html");
        tool.example("viz-dump --curves model.h5.metrics.tsv --y train_loss --y valid_loss -o loss.png");
        tool.example("viz-dump --bars bleu_by_length.tsv --y-title BLEU --values -o bleu.pdf");
        tool.on_run([&] {
          if (options.follow) options.stop = [&stop = tool.stop_flag()] { return stop.load(); };
          draw::dump(options);
        });
      });
}
