// Embeddings -> encoder states.
#include "stages/encode.h"

#include <iostream>

#include "base/error.h"
#include "cli/tool.h"
#include "stages/frames.h"

using namespace heed;

namespace {

/// "A:B", "A:" or ":B".
EncodeOptions layer_range(const std::string& text) {
  EncodeOptions options;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    fail<UsageError>("--layers: got '", escaped(text), "', wanted FIRST:END, such as 0:2");
  const std::string first = text.substr(0, colon), last = text.substr(colon + 1);
  if (!first.empty()) options.first = cli::to_integer("--layers FIRST:END", first);
  if (!last.empty()) options.last = cli::to_integer("--layers FIRST:END", last);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::string input, output, model_path, layers;
  std::int64_t batch = 64;
  bool all_layers = false;
  io::WriteOptions write;
  InspectionConfig inspect;
  return cli::run_tool("encode", "Run the encoder over embeddings.", argc, argv, [&](cli::Tool& tool) {
    tool.input(input, "embeddings: frames of embed", {"--trace-list"});
    tool.output(output);
    tool.tensors(write);
    tool.model(model_path);
    tool.option("--layers FIRST:END", layers,
                "run layers FIRST to END - 1 only; a later range continues from /encoder");
    tool.option("--all-layers", all_layers, "keep the output of every layer");
    tool.option("--batch", batch, "sentences per frame when INPUT is a file", cli::at_least(1));
    inspect.declare(tool);
    tool.example("tokenize -m model.h5 < article.en | embed -m model.h5 | encode -m model.h5 -o encoded.h5");
    tool.example(
        "encode -m model.h5 --layers 0:2 embeddings.h5 | encode -m model.h5 --layers 2: -o encoded.h5");
    tool.example(
        "encode -m model.h5 embeddings.h5 --trace trace.h5 --trace-filter '*/self_attention/weights'");
    tool.example(
        "encode -m model.h5 embeddings.h5 --patch encoder/layer_0/output=trace.h5@0,2 -o changed.h5");
    tool.on_run([&] {
      EncodeOptions options = tool.given("layers") ? layer_range(layers) : EncodeOptions{};
      options.all_layers = all_layers;
      inspect.check(output);
      const LoadedModel loaded = load_model(model_path);
      const Stages stages = encoder_stages(*loaded.model, options);
      if (inspect.list) {
        std::cout << value_list(inspect, *loaded.model, stages);
        return;
      }
      Inspection inspection(inspect, loaded, stages, write, static_cast<std::uint64_t>(tool.common().seed));
      const auto claim = [&](TensorMap& frame, const std::string& name) {
        claim_for_model(frame, name, loaded, model_path);
      };
      const int threads = static_cast<int>(tool.common().threads);
      run_frames(
          input, output, write, batch, claim,
          [&](TensorMap& frame) { encode_frame(*loaded.model, options, threads, frame, &inspection); },
          [&] { inspection.finish(); });
    });
  });
}
