// The input of a model's last part -> text, classes or attention.
#include <iostream>

#include "base/error.h"
#include "cli/tool.h"
#include "stages/decode.h"

using namespace heed;

int main(int argc, char** argv) {
  DecodeConfig config;
  DecodePaths paths;
  DecodeInspection inspect;
  return cli::run_tool(
      "decode", "Translate encoded sentences, continue prompts, classify, or score given text.", argc, argv,
      [&](cli::Tool& tool) {
        tool.inputs(
            paths.input,
            "frames from encode, or for a language model from embed; with --align also stored attention",
            {"--trace-list"});
        tool.output(paths.output);
        tool.tensors(paths.write);
        tool.keep(paths.keep);
        tool.models(paths.models,
                    "the model; with several (-m A -m B), which must share vocabularies, a word's "
                    "probability is the mean of theirs: the input comes from A, the others read its /tokens");
        tool.option("--force FILE", paths.force,
                    "score these translations, or continuations of prompts, instead of searching, one line "
                    "per sentence; for a language model `input` scores the input itself; with --n-best N the "
                    "file is an n-best list, and the N best are written with their new scores");
        tool.option("--prefix FILE", paths.prefix,
                    "force each translation to begin with the words on its line; their log-probabilities "
                    "count in the score; for an empty sentence the line is ignored");
        tool.option("--attention FILE", paths.attention,
                    "also write the attention of every layer and head, or of documents to their sentences "
                    "and words, to this file");
        tool.option("--align-gold FILE", paths.align_gold,
                    "gold links, one line per sentence (0-0 1-2 2p1), for --align-head best");
        tool.writes({"attention", "saliency", "lens"});
        tool.beside_input({"force", "prefix", "align-gold"});
        tool.bind(config);
        inspect.values.declare(tool, true);
        tool.option("--saliency FILE", paths.saliency,
                    "also write the contribution of each source word to each target word; needs /embeddings; "
                    "with hard attention (xu) through the most likely word only");
        tool.bind(inspect.saliency);
        tool.option("--lens FILE", paths.lens,
                    "also write the prediction of each layer as if it were the last (the logit lens): "
                    "probability and rank of every token, and the most likely one; for an encoder that fills "
                    "in masked words this needs encode --all-layers");
        tool.describe(
            "--trace, --saliency and --lens apply to the given translation (--force) or to the best one "
            "found, in a separate pass that reads it word by word; --patch and the other edits also act in "
            "the search, up to the length of the patch.\n\nWith hard attention (xu) the decoder attends to "
            "the most likely source word in each step. Scores, including those of --force, are then log "
            "p(translation | these words), not the log-probability over all words that it could attend to. "
            "--sample also draws that word, with the same seed, from the attention weights, independent of "
            "--temperature, --top-k and --top-p; --attention, --align and --trace show the word drawn, "
            "--saliency the most likely one.\n\nFor an imported model the beam, length penalty and maximal "
            "length stated in its folder are the defaults. If it says so, as Marian models do, the scores of "
            "a search are normalised over the words that may be produced; those of --force are always over "
            "all words.\n\n--precision applies to every product with the model's weights (of a Transformer; "
            "LSTM and GRU are float32 only): int8 quantises each weight column and each row multiplied "
            "by it to 255 steps (columns that were int8 in an imported model keep their numbers, unless two "
            "neighbours add up to more than 127), bfloat16 rounds both to 8 bits of mantissa. Use the same "
            "for encode. decode's batch size and threads change no bit of the result; in float32 encode's "
            "batch size may change the last digits of its states. int8 is fastest with AVX-512 VNNI and "
            "also faster than float32 with AVX2; bfloat16 is faster with AVX-512 BF16, and elsewhere at "
            "most for a few rows at a time; without AVX2 and SSE4 both are far slower than float32.");
        tool.example(
            "tokenize -m model.h5 < a.en | embed -m model.h5 | encode -m model.h5 | decode -m model.h5 > "
            "a.fr");
        tool.example("decode -m nllb/ encoded.h5 --language fra_Latn --beam 4 > a.fr");
        tool.example(
            "echo the old man | tokenize -m gpt.h5 | embed -m gpt.h5 | decode -m gpt.h5 --sample --top-k 20");
        tool.example(
            "tokenize -m gpt.h5 < a.en | embed -m gpt.h5 | decode -m gpt.h5 --force input | score "
            "--perplexity");
        tool.example("encode -m classifier.h5 embeddings.h5 | decode -m classifier.h5 > labels");
        tool.example("decode -m model.h5 encoded.h5 --beam 5 --n-best 3 --attention attention.h5");
        tool.example("decode -m a.h5 -m b.h5 encoded.h5 --beam 5 > a.fr");
        tool.example("decode -m model.h5 encoded.h5 --force nbest.txt --n-best 5 > rescored.txt");
        tool.example(
            "encode -m model.h5 embeddings.h5 --precision int8 | decode -m model.h5 --precision int8");
        tool.example("decode -m model.h5 attention.h5 --align --align-layer 2 --align-head 3 > links");
        tool.example("decode -m model.h5 encoded.h5 --ablate decoder/layer_0/cross_attention/context@1");
        tool.example(
            "tokenize -m gpt.h5 < a.en | embed -m gpt.h5 | decode -m gpt.h5 --force input --lens lens.h5; "
            "viz-dump lens.h5 -o lens.png");
        tool.example("decode -m model.h5 encoded.h5 --force a.fr --trace trace.h5 --saliency saliency.h5");
        tool.on_run([&] {
          if (tool.given("beam")) config.check_search();
          if (inspect.values.list) {
            const LoadedModel loaded = load_model(paths.models.front());
            std::cout << value_list(inspect.values, *loaded.model, decoder_stages(*loaded.model));
            return;
          }
          inspect.times_ops = tool.common().verbose;
          run_decode(config, paths, inspect, static_cast<std::uint64_t>(tool.common().seed),
                     static_cast<int>(tool.common().threads),
                     [&](const std::string& option) { return tool.given(option); });
        });
      });
}
