// one_process: what `tokenize | embed | encode | decode` does, in a single process and without any pipe. The
// script `pipeline` beside it compares the two.
#include <iostream>

#include "cli/tool.h"
#include "models/model_file.h"
#include "stages/encode.h"
#include "stages/translate.h"
#include "text/line_reader.h"
#include "text/token_map.h"

using namespace heed;

int main(int argc, char** argv) {
  std::string input, model_path;
  TranslateOptions options;
  options.beam.beam = 5;
  std::int64_t batch = 64;
  return cli::run_tool("one_process", "Translate text in one process.", argc, argv, [&](cli::Tool& tool) {
    tool.input(input, "text, one sentence per line");
    tool.model(model_path);
    tool.option("--beam", options.beam.beam, "hypotheses kept per sentence", cli::at_least(1));
    tool.option("--batch", batch, "sentences per frame", cli::at_least(1));
    tool.example("one_process -m model.h5 < article.en");
    tool.example("one_process -m model.h5 --beam 1 article.en");
    tool.on_run([&] {
      const LoadedModel loaded = load_model(model_path);
      const PackedWeights<float> weights(loaded.model->parameters.values());
      const int threads = static_cast<int>(tool.common().threads);
      text::LineReader lines(input);
      std::string line;
      for (bool more = true; more;) {
        std::vector<text::Sentence> sentences;
        while (static_cast<std::int64_t>(sentences.size()) < batch && (more = lines.next(line))) {
          sentences.push_back({line, loaded.source.sentence(line)});
        }
        if (sentences.empty()) break;
        TensorMap frame = text::token_map(sentences, loaded.source, "source");
        embed_frame(*loaded.model, Side::source, frame);
        encode_frame(*loaded.model, EncodeOptions{}, threads, frame);
        const PackedStates memory = memory_of(frame, *loaded.model);
        const Member alone{loaded.model.get(), &weights, &memory};
        for (const auto& found : translate({&alone, 1}, options, threads)) {
          std::cout << loaded.target.decode(found.front().ids) << '\n';
        }
      }
    });
  });
}
