// Encoder states -> translations.
#include "base/error.h"
#include "cli/tool.h"
#include "pipeline/decode_job.h"

using namespace heed;

int main(int argc, char** argv) {
  DecodeConfig config;
  DecodePaths paths;
  return cli::run_tool(
      "decode", "Translate encoded sentences, or score given translations.", argc, argv,
      [&](cli::Tool& tool) {
        tool.input(paths.input, "encoder states: frames of encode");
        tool.output(paths.output);
        tool.model(paths.model);
        tool.option("--force FILE", paths.force,
                    "score these translations instead, a line for each sentence");
        tool.option("--attention FILE", paths.attention,
                    "also write the attention of every layer and head to this file");
        tool.bind(config);
        tool.example(
            "tokenize -m model.h5 < a.en | embed -m model.h5 | encode -m model.h5 | decode -m model.h5 > "
            "a.fr");
        tool.example("decode -m model.h5 encoded.h5 --beam 5 --n-best 3 --attention attention.h5");
        tool.on_run([&] {
          for (const char* option : {"temperature", "top-k", "top-p"}) {
            if (tool.given(option) && !config.sample) fail<UsageError>("--", option, " needs --sample");
          }
          if (tool.given("beam") && (config.sample || !paths.force.empty())) {
            fail<UsageError>("--beam does not go with ", config.sample ? "--sample" : "--force");
          }
          paths.command = tool.command_line();
          run_decode(config, paths, static_cast<std::uint64_t>(tool.common().seed),
                     static_cast<int>(tool.common().threads));
        });
      });
}
