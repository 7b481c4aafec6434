// score: BLEU, chrF and TER of translations, error rate of word alignments, perplexity, accuracy of labels.
#include "stages/score.h"
#include "cli/tool.h"

int main(int argc, char** argv) {
  heed::ScoreCommand command;
  std::string reference;
  return heed::cli::run_tool(
      "score",
      "Compare translations with references (BLEU, chrF and TER, equal to sacreBLEU), alignments or labels "
      "with gold ones, compute the perplexity of a text, or choose among several translations.",
      argc, argv, [&](heed::cli::Tool& tool) {
        tool.input(
            command.hypothesis,
            "the translation, one sentence per line; or links, labels, log-probabilities, an n-best list");
        tool.argument("REFERENCE", reference, "the reference translation, instead of --reference",
                      heed::cli::Need::optional);
        tool.output(command.output);
        tool.tensors(command.write);
        tool.option("-r,--reference FILE", command.references, "a reference translation; repeat for several");
        tool.list("--systems FILE", command.systems,
                  "further translations: writes a table of their scores and those of INPUT, the baseline");
        tool.option("--alignments GOLD", command.alignments,
                    "compare INPUT, links as written by `decode --align`, with these: error rate, precision, "
                    "recall; 0-0 is a sure link, 0p0 or 0?0 a possible one, words counted from 0");
        tool.option("--perplexity", command.perplexity,
                    "compute the perplexity of INPUT, lines as written by `decode --force`: over all pieces, "
                    "without </s>, and per word");
        tool.option("--labels TRUTH", command.labels,
                    "compare INPUT, one label per line (text after a tab is ignored), with these: accuracy, "
                    "macro-F1, precision and recall of each; if OUTPUT is *.h5 it gets the confusion matrix, "
                    "and stdout the report");
        tool.option("--metric NAME", command.metric, "what to compute", heed::cli::one_of(heed::kMetrics));
        tool.option("--sentence-level", command.sentence_level,
                    "one line per sentence: its BLEU (over the n-gram orders it has), chrF, TER, alignment "
                    "error rate or perplexity");
        tool.option("--choose", command.choose,
                    "INPUT is an n-best list as written by `decode --n-best`: write each sentence's "
                    "translation with the best score against the reference or, without one, with the best "
                    "mean score against all translations of the sentence, each weighted by exp(its score), "
                    "or equally if the list has no scores (minimum Bayes risk); BLEU uses only the n-gram "
                    "orders that a sentence has");
        tool.option("--bootstrap N", command.resampling.samples,
                    "draw N bootstrap samples of the sentences (1000 is usual): the mean score and its 95 % "
                    "interval, and for --systems the p-value of the difference from INPUT; with --seed 12345 "
                    "the samples equal sacreBLEU's",
                    heed::cli::between(0, 1'000'000));
        tool.bind(command.bleu);
        tool.bind(command.chrf);
        tool.bind(command.ter);
        tool.option("--json", command.report.json, "write JSON, as sacreBLEU does");
        tool.option("--score-only", command.report.score_only, "write only the number");
        tool.option("--width N", command.report.width, "decimal places of the score",
                    heed::cli::between(0, 15));
        tool.example("decode encoded.h5 | score --reference test.fr");
        tool.example("score translation.de --tokenize none --lowercase --metric all -r test.de");
        tool.example("score a.de -r test.de --systems b.de c.de --metric all --bootstrap 1000");
        tool.example("score translation.de -r test.de --sentence-level --metric ter");
        tool.example("decode encoded.h5 --beam 10 --n-best 10 | score --choose > translation.de");
        tool.example("decode encoded.h5 --align --force test.fr | score --alignments gold.links");
        tool.example("decode encoded.h5 --force test.fr | score --perplexity");
        tool.example("score --labels test.labels predicted.tsv -o confusion.h5");
        tool.on_run([&] {
          if (!reference.empty()) command.references.push_back(reference);
          command.resampling.seed = tool.common().seed;
          command.run();
        });
      });
}
