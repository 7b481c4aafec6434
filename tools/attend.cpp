// Attention: of a model's layer, or over any tensors.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "cli/tool.h"
#include "stages/attend.h"

using namespace heed;

namespace {

std::string option_name(std::string field) {
  std::ranges::replace(field, '_', '-');
  return field;
}

const std::string kDescription =
    "With --layer, the attention that this layer of the model computes. Without, attention over the given "
    "tensors: scores, capped by --softcap, plus --bias, divided by --temperature, -infinity where --mask "
    "hides a key, softmax. Head h of the query uses head h / (heads / kv-heads) of key and value. With n "
    "queries and m keys, mask causal lets query i attend to keys up to i + m - n, so that the last attends "
    "to all; causal-start to keys up to i. Outside the window of --local nothing is computed: scores are "
    "-infinity there.\n\nContents of --parameters (a: width of a query head, or of the score's inner "
    "network; c: of a value head; q, k: of the query and key head as the score receives them; parameters of "
    "the score may have the head as first dimension):\n  query/weight [d_q, heads a], key/weight [d_k, "
    "kv-heads a], value/weight [d_v, kv-heads c], or qkv/weight with all three side by side; output/weight "
    "[heads c, d_out]; each with an optional bias [width]\n  --local local-p: position/query/weight [d_q, "
    "a], position/score/weight [a]\n";

/// Options of attention without a model do not affect a model's layer: refuse them.
void check_options(const cli::Tool& tool, const AttendPaths& paths, bool grid) {
  if (paths.layer.empty()) {
    if (grid && (tool.given("query") || tool.given("parameters") || tool.given("bias")))
      fail<UsageError>("--grid uses random tensors: --query, --parameters and --bias do not apply");
    if (tool.given("target")) fail<UsageError>("--target goes with --layer decoder/...");
    if (tool.given("window") && !tool.given("local")) fail<UsageError>("--window goes with --local");
    return;
  }
  if (tool.given("bench") || grid) fail<UsageError>("--bench does not work with --layer");
  if (paths.model.empty()) fail<UsageError>("--layer needs --model (or HEED_MODEL)");
  AttendConfig fields;
  for (const Field& field : fields_of(fields)) {
    if (field.name != "steps" && field.name != "allow_nonfinite" && tool.given(field.name))
      fail<UsageError>("--layer uses the model's settings: --", option_name(field.name), " does not apply");
  }
}

}  // namespace

int main(int argc, char** argv) {
  AttendConfig config;
  AttendPaths paths;
  bool bench = false, grid = false;
  InspectionConfig inspect;
  return cli::run_tool(
      "attend", "Attend from queries to keys; write scores, weights and context.", argc, argv,
      [&](cli::Tool& tool) {
        tool.inputs(paths.input, "embeddings, encoder states or any tensors", {"--grid", "--trace-list"});
        tool.output(paths.output);
        tool.tensors(paths.write);
        tool.keep(paths.keep);
        tool.model(paths.model, cli::Need::optional);
        tool.option("--layer PATH", paths.layer,
                    "attention layer of the model, for example encoder/layer_0/self_attention");
        tool.option("--target FILE", paths.target,
                    "translations to be read by a decoder layer, one per line");
        tool.beside_input({"target"});
        tool.bind(config);
        tool.joined({"mask"});
        tool.addresses({"query", "key", "value", "past-key", "past-value", "parameters", "bias", "mask"});
        inspect.declare(tool);
        tool.option("--batch", paths.batch, "sentences per frame when INPUT is a file", up_to(1'000'000));
        tool.option("--bench", bench,
                    "instead of the results, write the time of the attention, including its projections, and "
                    "of dot attention without projections");
        tool.option(
            "--grid", grid,
            "with --bench: random tensors, n = m = 16 .. 1024, d = 64 .. 512; the default score is additive");
        tool.describe(kDescription + score_function_help());
        tool.example(
            "tokenize -m model.h5 < one.en | embed -m model.h5 | attend -m model.h5 --layer "
            "encoder/layer_0/self_attention | viz-dump --heatmap");
        tool.example("attend --query vectors.tsv --score dot -o attention.h5");
        tool.example("attend --query vectors.h5:/x --score dot --mask causal --steps -o attention.h5");
        tool.example(
            "attend --query a.h5:/q --key a.h5:/k --score additive --parameters a.h5:/align -o attention.h5");
        tool.example("attend --bench --grid");
        tool.on_run([&] {
          if (grid && !bench) fail<UsageError>("--grid goes with --bench");
          check_options(tool, paths, grid);
          if ((paths.layer.empty() || bench) && (inspect.active() || inspect.list))
            fail<UsageError>("--trace, --patch and other edits apply to a model: they need --layer");
          paths.seed = tool.common().seed;
          const int threads = static_cast<int>(tool.common().threads);
          if (grid) {
            if (!tool.given("score")) config.score = "additive";
            bench_grid(config, paths, threads);
          } else if (bench) {
            bench_tensors(config, paths, threads);
          } else {
            run_attend(config, paths, inspect, threads);
          }
        });
      });
}
