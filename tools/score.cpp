// score: BLEU and chrF of a translation, error rate of word alignments, perplexity, accuracy of labels.
#include "stages/score.h"
#include "cli/tool.h"

int main(int argc, char** argv) {
  heed::ScoreCommand command;
  std::string reference;
  return heed::cli::run_tool(
      "score",
      "Compare a translation with references (BLEU and chrF, equal to sacreBLEU), alignments or labels with "
      "gold ones, or compute the perplexity of a text.",
      argc, argv, [&](heed::cli::Tool& tool) {
        tool.input(command.hypothesis,
                   "the translation, one sentence a line; or links, labels, log-probabilities");
        tool.argument("REFERENCE", reference, "the reference translation, instead of --reference",
                      heed::cli::Need::optional);
        tool.output(command.output);
        tool.tensors(command.write);
        tool.option("-r,--reference FILE", command.references, "a reference translation; repeat for several");
        tool.option("--alignments GOLD", command.alignments,
                    "compare INPUT, links as `decode --align` prints them, with these: error rate, "
                    "precision, recall; 0-0 is a sure link, 0p0 or 0?0 a possible one, words counted from 0");
        tool.option("--perplexity", command.perplexity,
                    "compute the perplexity of INPUT, lines as `decode --force` prints them: of all pieces, "
                    "without </s>, and per word");
        tool.option(
            "--labels TRUTH", command.labels,
            "compare INPUT, a label a line (text after a tab is ignored), with these: accuracy, macro-F1, "
            "precision and recall of each; an OUTPUT *.h5 gets the confusion matrix, stdout the report");
        tool.option("--metric NAME", command.metric, "what to compute", heed::cli::one_of(heed::kMetrics));
        tool.bind(command.bleu);
        tool.bind(command.chrf);
        tool.option("--json", command.json, "write JSON, as sacreBLEU does");
        tool.option("--score-only", command.score_only, "write the number alone");
        tool.option("--width N", command.width, "decimal places of the score", heed::cli::between(0, 15));
        tool.example("decode encoded.h5 | score --reference test.fr");
        tool.example("score translation.de --tokenize none --lowercase --metric all -r test.de");
        tool.example("decode encoded.h5 --align --force test.fr | score --alignments gold.links");
        tool.example("decode encoded.h5 --force test.fr | score --perplexity");
        tool.example("score --labels test.labels predicted.tsv -o confusion.h5");
        tool.on_run([&] {
          if (!reference.empty()) command.references.push_back(reference);
          command.run();
        });
      });
}
