// Token ids -> scaled embeddings plus positions.
#include <iostream>

#include "base/error.h"
#include "cli/tool.h"
#include "io/provenance.h"
#include "stages/encode.h"
#include "stages/frames.h"

using namespace heed;

int main(int argc, char** argv) {
  std::string input, output, model_path, side = "source";
  std::int64_t batch = 64, positions_only = 0, d_model = 512;
  io::WriteOptions write;
  InspectionConfig inspect;
  return cli::run_tool(
      "embed", "Turn token ids into embeddings with positions.", argc, argv, [&](cli::Tool& tool) {
        tool.input(input, "tokens: frames of tokenize", {"--positions-only", "--trace-list"});
        tool.output(output);
        tool.tensors(write);
        tool.model(model_path, cli::Need::optional);
        tool.option("--side", side,
                    "whose embeddings and vocabulary; of a language model always the target's",
                    cli::one_of({"source", "target"}));
        tool.option("--batch", batch, "sentences per frame when INPUT is a file", cli::at_least(1));
        tool.option("--positions-only", positions_only,
                    "write the first N sinusoidal position vectors and exit", cli::at_least(0));
        tool.option("--d-model", d_model, "their width", cli::at_least(1));
        inspect.declare(tool);
        tool.example("tokenize -m model.h5 < article.en | embed -m model.h5 -o embeddings.h5");
        tool.example("embed --positions-only 100 --d-model 100 | viz-dump --heatmap");
        tool.on_run([&] {
          if (positions_only > 0) {
            io::write_map(output, position_map(positions_only, d_model), write);
            return;
          }
          if (model_path.empty()) fail<UsageError>("--model is needed (or HEED_MODEL)");
          inspect.check(output);
          const LoadedModel loaded = load_model(model_path);
          const Side own = loaded.model->encoder ? Side::source : Side::target;
          const Side which = !tool.given("side") ? own : side == "source" ? Side::source : Side::target;
          Stages stages;
          stages.embed = true;
          stages.side = which;
          if (inspect.list) {
            std::cout << value_list(inspect, *loaded.model, stages);
            return;
          }
          Inspection inspection(inspect, loaded, stages, write,
                                static_cast<std::uint64_t>(tool.common().seed));
          const auto claim = [&](TensorMap& frame, const std::string& name) {
            io::expect_digest(frame, name, io::kVocabularyDigest, loaded.tokenizer(which).digest(),
                              model_path);
            claim_for_model(frame, name, loaded, model_path);
          };
          run_frames(
              input, output, write, batch, claim,
              [&](TensorMap& frame) {
                embed_frame(*loaded.model, which, frame, &inspection);
                if (!loaded.model->encoder) label_read(frame, loaded.target);
              },
              [&] { inspection.finish(); });
        });
      });
}
