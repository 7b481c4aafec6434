// Token ids -> scaled embeddings plus positions.
#include "cli/tool.h"
#include "stages/encode.h"

using namespace heed;

int main(int argc, char** argv) {
  EmbedOptions options;
  std::string side = "source";
  InspectionConfig inspect;
  return cli::run_tool(
      "embed", "Turn token ids, or pictures, into embeddings with positions.", argc, argv,
      [&](cli::Tool& tool) {
        tool.inputs(options.input, "tokens: frames from tokenize",
                    {"--positions-only", "--trace-list", "--pixels"});
        tool.output(options.output);
        tool.tensors(options.write);
        tool.keep(options.keep);
        tool.model(options.model, cli::Need::optional);
        tool.list("--pixels FILE", options.pixels,
                  "for a model that reads images: pictures (PNG, JPEG), files of arrays, or lists of either, "
                  "one path per line; f32 (image, channel, row, column) are taken as already scaled");
        tool.option("--side", side,
                    "side whose embeddings and vocabulary are used; for a language model always the target",
                    cli::one_of(kSides));
        tool.option("--batch", options.batch, "sentences per frame when INPUT is a file", up_to(1'000'000));
        tool.option("--positions-only", options.positions_only,
                    "write the first N sinusoidal position vectors instead", between(0, 1'000'000));
        tool.option("--d-model", options.d_model, "width of the position vectors", up_to(65'536));
        inspect.declare(tool);
        tool.place({"pixels"});
        tool.example("tokenize -m model.h5 < article.en | embed -m model.h5 -o embeddings.h5");
        tool.example("embed -m vit --pixels cat.png dog.jpg | encode -m vit | decode -m vit");
        tool.example("embed -m vit --pixels images.npy | encode -m vit | decode -m vit");
        tool.example("embed --positions-only 100 --d-model 100 | viz-dump --heatmap");
        tool.on_run([&] {
          if (tool.given("side")) options.side = side;
          run_embed(options, inspect, static_cast<std::uint64_t>(tool.common().seed),
                    static_cast<int>(tool.common().threads),
                    [&](const std::string& option) { return tool.given(option); });
        });
      });
}
