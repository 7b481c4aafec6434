// Attention: of a model's layer, or over any tensors.
#include "base/error.h"
#include "cli/tool.h"
#include "pipeline/attend_job.h"

using namespace heed;

namespace {

/// Options of attention without a model change nothing in a model's layer: refuse them.
void check_options(const cli::Tool& tool, const AttendPaths& paths) {
  if (paths.layer.empty()) {
    if (tool.given("target")) fail<UsageError>("--target goes with --layer decoder/...");
    return;
  }
  if (paths.model.empty()) fail<UsageError>("--layer needs --model (or HEED_MODEL)");
  for (const char* name : {"query", "key", "value", "score", "heads", "mask", "temperature", "hard",
                           "allow_masked_rows", "allow_nonfinite"}) {
    if (tool.given(name))
      fail<UsageError>("--layer computes what the model computes: --", name, " has no part in it");
  }
}

}  // namespace

int main(int argc, char** argv) {
  AttendConfig config;
  AttendPaths paths;
  return cli::run_tool(
      "attend", "Attend from queries to keys; write scores, weights and context.", argc, argv,
      [&](cli::Tool& tool) {
        tool.input(paths.input, "embeddings, encoder states or any tensors");
        tool.output(paths.output);
        tool.model(paths.model, cli::Need::optional);
        tool.option("--layer PATH", paths.layer,
                    "attention layer of the model, such as encoder/layer_0/self_attention");
        tool.option("--target FILE", paths.target,
                    "the translations that a decoder layer is to read, a line each");
        tool.bind(config);
        tool.option("--batch", paths.batch, "sentences per frame when INPUT is a file", cli::at_least(1));
        tool.example(
            "tokenize -m model.h5 < one.en | embed -m model.h5 | attend -m model.h5 --layer "
            "encoder/layer_0/self_attention | viz-dump --heatmap");
        tool.example("attend --query vectors.h5:/x --score dot --mask causal --steps -o attention.h5");
        tool.on_run([&] {
          check_options(tool, paths);
          paths.command = tool.command_line();
          run_attend(config, paths, static_cast<int>(tool.common().threads));
        });
      });
}
