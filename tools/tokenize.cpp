// tokenize: text lines to piece ids and back; learns and imports vocabularies.
#include "stages/tokenize.h"

#include "base/error.h"
#include "cli/tool.h"
#include "io/provenance.h"

int main(int argc, char** argv) {
  heed::TokenizeCommand command;
  std::vector<std::string> counted_texts;
  return heed::cli::run_tool(
      "tokenize", "Split text into the pieces of a vocabulary, join pieces to text, or learn a vocabulary.",
      argc, argv, [&](heed::cli::Tool& tool) {
        tool.inputs(command.input, "text, one sentence per line; with --detokenize: /tokens or /hypotheses",
                    {"--train", "--count", "--train-counts", "--import-vocab", "--export-spm", "--pairs"});
        tool.output(command.output);
        tool.tensors(command.write);
        tool.keep(command.keep);
        tool.model(command.model, heed::cli::Need::optional);
        tool.option("--vocab FILE", command.vocabulary, "use this vocabulary instead of a model's");
        tool.option("--pair FILE", command.pair,
                    "combine each line with that of this file, as question and text, for models with token "
                    "types (/tokens/types)");
        tool.option("--side SIDE", command.side,
                    "side of the text, which selects the vocabulary of a model with two",
                    heed::cli::one_of({"source", "target"}));
        tool.option("--language CODE", command.language,
                    "language of the text (eng_Latn, en_XX, en), for models of many languages such as "
                    "NLLB-200, mBART and M2M-100; the default is that of the model's folder");
        tool.option("--prompt TEXT", command.prompt,
                    "put TEXT before each sentence, as models of sentence embeddings expect (train --import "
                    "shows their prompts); \\n is a line feed");
        tool.option("--first-sentence N", command.first_sentence,
                    "the input is part of a text and follows N of its lines: sentences, and lines in "
                    "messages, are numbered from there",
                    heed::between(0, heed::io::kMostSentences));
        tool.place({"vocab", "pair", "language", "prompt", "first-sentence"});
        tool.option("--batch N", command.batch, "sentences per frame", heed::up_to(1'000'000));
        tool.option("--flush", command.flush,
                    "send the lines that have arrived instead of waiting for --batch sentences: for a "
                    "terminal, tail -f, or a program that writes a line and reads the answer");
        tool.option("--max-length N", command.max_length,
                    "reject sentences with more pieces, </s> included (0: no limit)",
                    heed::between(0, 1'000'000'000));
        tool.option("--truncate", command.truncate, "truncate sentences longer than --max-length instead");
        tool.option("--max-line BYTES", command.max_line, "reject lines of text that are longer",
                    heed::between(1, 1 << 28));
        tool.option("--replace", command.replace, "replace bytes that are not UTF-8 by U+FFFD");
        tool.option("--special-tokens", command.special_tokens,
                    "let text spell special tokens, such as <|im_start|> or [SEP] (BPE of bytes or "
                    "characters, WordPiece), for prompts of chat models; untrusted text can then pretend to "
                    "be a turn");
        tool.option("--detokenize", command.detokenize, "convert pieces to text");
        tool.option("--pieces", command.pieces, "write pieces as text (with --detokenize: read them)");
        tool.list(
            "--pairs SOURCE TARGET", command.pairs,
            "write two parallel texts as a corpus for train --corpus to the file of -o, in constant memory");
        tool.option("--target-vocab FILE", command.target_vocabulary,
                    "with --pairs: vocabulary of the target, if different");
        tool.list("--parts FILE", command.parts,
                  "with --pairs: corpus files of the parts of the texts (--first-sentence), in order: the "
                  "texts are read, but not tokenized again");
        tool.place({"parts"});
        tool.list("--train CORPUS", command.corpora, "learn a vocabulary from these texts");
        tool.list("--count CORPUS", counted_texts,
                  "count the words of these texts, which may be parts of a corpus, for --train-counts; takes "
                  "the options of the vocabulary (not of type unigram)");
        tool.list("--train-counts FILE", command.counted,
                  "learn a vocabulary from the --count files of all parts: the same as from the whole text");
        tool.place({"train", "train-counts", "count"});
        tool.bind(command.training);
        tool.option("--bpe-codes FILE", command.codes, "use the merges in this subword-nmt file");
        tool.list(
            "--import-vocab FILE", command.word_lists,
            "make a vocabulary from word lists, with --bpe-codes from subword-nmt's vocabulary files, "
            "or from another program's tokenizer, BPE of bytes or characters, WordPiece or SentencePiece: "
            "tokenizer.json, vocab.json beside merges.txt, BERT's vocab.txt, a SentencePiece model, or "
            "their folder (--side if it has two)");
        tool.option("--export-spm", command.export_spm,
                    "write the vocabulary of --vocab or -m as a SentencePiece model; it splits NFC text as "
                    "heed does");
        tool.option("--vocabulary-threshold N", command.threshold,
                    "omit imported pieces with a lower count; shorter pieces replace them",
                    heed::between(0, 1'000'000'000));
        tool.describe(
            "Text is UTF-8. Lines end with LF or CR LF. A byte order mark at the start of a file or pipe is "
            "dropped; elsewhere U+FEFF is a character like any other.");
        tool.example("tokenize --train a.en a.fr --type bpe --vocab-size 8000 -o vocabulary.h5");
        tool.example("tokenize --count a.0.en --type bpe -o counts.0.tsv");
        tool.example(
            "tokenize --train-counts counts.0.tsv counts.1.tsv --type bpe --vocab-size 8000 -o "
            "vocabulary.h5");
        tool.example("tokenize --train a.en --special cls,sep,mask -o masked.h5");
        tool.example("tokenize --import-vocab gpt2/tokenizer.json -o gpt2.h5");
        tool.example("tokenize --vocab vocabulary.h5 --export-spm -o vocabulary.model");
        tool.example("tokenize --vocab vocabulary.h5 < a.en | viz-dump --list");
        tool.example("tokenize -m model.h5 < a.en | tokenize -m model.h5 --detokenize");
        tool.example(
            "tokenize -m nllb/ --language deu_Latn < a.de | embed -m nllb/ | encode -m nllb/ | decode -m "
            "nllb/ "
            "--language fra_Latn");
        tool.example(
            "tokenize -m embeddinggemma/ --prompt 'task: search result | query: ' < a.txt | embed -m "
            "embeddinggemma/ | encode -m embeddinggemma/ --pool model -o vectors.h5");
        tool.example("tokenize --pairs a.en a.fr --vocab vocabulary.h5 -o pairs.h5");
        tool.example("tail -n +129 a.en | tokenize -m model.h5 --first-sentence 128 -o part.h5");
        tool.on_run([&] {
          if (!command.pairs.empty())
            tool.allow_only("--pairs", {"--vocab", "--target-vocab", "--model", "--parts", "--first-sentence",
                                        "--replace", "--max-line", "--output", "--no-scales"});
          command.training.seed = static_cast<std::uint64_t>(tool.common().seed);
          if (!counted_texts.empty()) {
            if (!command.corpora.empty()) throw heed::UsageError("--train and --count exclude each other");
            command.corpora = counted_texts;
            command.count = true;
          }
          // The names of the texts, and whether they were counted in parts, do not belong to the history.
          if (!command.corpora.empty() || !command.counted.empty())
            command.write.command.insert(std::string("tokenize").size(), " --train");
          if (command.pairs.size() == 2)
            command.texts =
                heed::cli::shell_quoted({"--source", command.pairs[0], "--target", command.pairs[1]});
          command.run();
        });
      });
}
