// Embeddings -> encoder states.
#include "stages/encode.h"

#include "cli/tool.h"

using namespace heed;

int main(int argc, char** argv) {
  StageFiles files;
  std::string layers;
  EncodeOptions options;
  InspectionConfig inspect;
  return cli::run_tool(
      "encode", "Run the encoder, or the layers of a language model, over embeddings.", argc, argv,
      [&](cli::Tool& tool) {
        tool.inputs(files.input, "embeddings: frames from embed", {"--trace-list"});
        tool.output(files.output);
        tool.tensors(files.write);
        tool.keep(files.keep);
        tool.model(files.model);
        tool.option("--layers FIRST:END", layers,
                    "run only layers FIRST to END - 1; a later range continues from /encoder");
        tool.option("--all-layers", options.all_layers, "keep the output of every layer");
        tool.option("--pool HOW", options.pool,
                    "also write an embedding of each sentence, /sentences: by the model's own pooling, the "
                    "mean of its states, the first or the last, or the first after the model's pooler",
                    cli::one_of(kSentencePools));
        tool.option("--normalize", options.normalise, "scale the sentence embeddings to length 1");
        tool.option("--batch", files.batch, "sentences per frame when INPUT is a file", up_to(1'000'000));
        tool.option("--allow-nonfinite", files.allow_nonfinite, kAllowNonfinite);
        tool.option("--precision WORD", options.precision, kPrecisionHelp, cli::one_of(kPrecisions));
        inspect.declare(tool);
        tool.example(
            "tokenize -m model.h5 < article.en | embed -m model.h5 | encode -m model.h5 -o encoded.h5");
        tool.example(
            "encode -m model.h5 --layers 0:2 embeddings.h5 | encode -m model.h5 --layers 2: -o encoded.h5");
        tool.example("encode -m minilm embeddings.h5 --pool model | viz-dump --name sentences/values --tsv");
        tool.example("encode -m model.h5 embeddings.h5 --trace trace.h5 --trace-filter '**/output'");
        tool.example(
            "encode -m model.h5 embeddings.h5 --patch encoder/layer_0/output=trace.h5@0,2 -o changed.h5");
        tool.example(
            "encode -m gru.h5 embeddings.h5 --patch encoder/layer_0/forward/start=states.npy:array -o "
            "encoded.h5");
        tool.on_run([&] {
          run_encode(files, tool.given("layers") ? layers : ":", options, inspect,
                     static_cast<std::uint64_t>(tool.common().seed), static_cast<int>(tool.common().threads));
        });
      });
}
