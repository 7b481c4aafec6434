#include "stages/score.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "base/choice.h"
#include "base/fields.h"
#include "base/number.h"
#include "io/frame_stream.h"
#include "io/text_writer.h"
#include "text/alignment_error.h"
#include "text/line_reader.h"
#include "text/perplexity.h"
#include "text/unicode.h"

namespace heed {
namespace {

using text::LineReader;

enum class Metric { bleu, chrf, all };

/// Removes trailing white space, as sacreBLEU's command does.
void trim_end(std::string& line) {
  std::vector<std::string_view> words = text::split_white_space(line);
  line.resize(
      words.empty() ? 0 : static_cast<std::size_t>(words.back().data() + words.back().size() - line.data()));
}

/// A hypothesis and its references, line by line.
class ParallelText {
 public:
  ParallelText(const std::string& hypothesis, const std::vector<std::string>& references) {
    readers_.push_back(std::make_unique<LineReader>(hypothesis));
    for (const std::string& path : references) readers_.push_back(std::make_unique<LineReader>(path));
    lines_.resize(readers_.size());
  }

  bool next() {
    std::size_t read = 0;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (!readers_[i]->next(lines_[i])) continue;
      trim_end(lines_[i]);
      ++read;
    }
    if (read != 0 && read != readers_.size()) fail_by_count();
    return read != 0;
  }
  const std::string& hypothesis() const { return lines_[0]; }
  std::span<const std::string> references() const { return std::span(lines_).subspan(1); }
  /// File and line of the hypothesis (0) or a reference (from 1).
  std::string place(std::size_t text) const {
    return concat(escaped(readers_[text]->name()), ":", readers_[text]->line_number());
  }
  void refuse_empty() const {
    const LineReader& reader = *readers_[0];
    if (reader.line_number() == 0) fail(reader.name(), ": no lines: did the previous command fail?");
  }

 private:
  [[noreturn]] void fail_by_count() {
    refuse_empty();
    std::vector<std::string> counts;
    for (auto& reader : readers_) {
      for (std::string line; reader->next(line);) {
      }
      counts.push_back(concat(escaped(reader->name()), " has ", reader->line_number(), " lines"));
    }
    fail(joined(counts), ": do their lines correspond?");
  }

  std::vector<std::unique_ptr<LineReader>> readers_;
  std::vector<std::string> lines_;
};

double rounded(double value, std::int64_t width) {
  return std::stod(fixed(value, width));
}

/// The label of a line: what stands before its first tab.
std::string label_of(const std::string& line, const std::string& place) {
  std::string label = line.substr(0, line.find('\t'));
  if (label.empty()) fail(place, ": no label");
  return label;
}

TensorMap matrix_of(const text::Confusion& confusion) {
  const std::vector<std::string> labels = confusion.labels();
  const auto n = static_cast<std::int64_t>(labels.size());
  TensorMap map;
  map.add("confusion/counts", Tensor::of<std::int32_t>(confusion.counts(), {n, n}, {"truth", "prediction"}));
  map.add("confusion/truth_label", Tensor::of<std::string>(labels, {n}, {"truth"}));
  map.add("confusion/prediction_label", Tensor::of<std::string>(labels, {n}, {"prediction"}));
  map.groups["confusion"] = {"counts", "Lines by true and predicted label", {}, {}};
  return map;
}

/// One object with the keys of sacreBLEU's JSON.
nlohmann::ordered_json as_json(const ScoreCommand::Result& result, std::int64_t width) {
  nlohmann::ordered_json object;
  object["name"] = result.name;
  object["score"] = rounded(result.score, width);
  if (!result.signature.empty()) object["signature"] = result.signature;
  if (!result.details.empty()) object["verbose_score"] = result.details;
  for (const auto& [name, number] : result.numbers) object[name] = rounded(number, width);
  for (const text::LabelScore& label : result.labels) {
    object["labels"].push_back({{"label", label.label},
                                {"precision", rounded(label.precision, width)},
                                {"recall", rounded(label.recall, width)},
                                {"f1", rounded(label.f1, width)},
                                {"count", label.count}});
  }
  for (std::string_view part : text::split_any(result.signature, "|")) {
    std::size_t colon = part.find(':');
    object[std::string(part.substr(0, colon))] = std::string(part.substr(colon + 1));
  }
  return object;
}

/// One object, or a list of several, laid out as sacreBLEU does.
std::string json_report(const std::vector<ScoreCommand::Result>& results, std::int64_t width) {
  std::vector<std::string> objects;
  for (const auto& result : results) objects.push_back(as_json(result, width).dump(1));
  const std::string list = joined(objects, ",\n");
  return (results.size() == 1 ? list : "[\n" + list + "\n]") + "\n";
}

}  // namespace

void ScoreCommand::run() const {
  const int given = !references.empty() + !alignments.empty() + !labels.empty() + perplexity;
  if (given == 0) fail<UsageError>("no reference: give --reference FILE");
  if (given > 1) fail<UsageError>("references, --alignments, --labels and --perplexity exclude each other");
  io::TextWriter out(writes_matrix() ? "-" : output);
  out.write(report(perplexity            ? compute_perplexity()
                   : !labels.empty()     ? compare_labels()
                   : !alignments.empty() ? compare_alignments()
                                         : compute()));
  out.finish();
}

std::vector<ScoreCommand::Result> ScoreCommand::compute() const {
  text::ChrfOptions chrf_options = chrf;
  chrf_options.lowercase = bleu.lowercase;
  text::Bleu bleu_metric(bleu);
  text::Chrf chrf_metric(chrf_options);
  const Metric wanted = chosen<Metric>("--metric", kMetrics, metric);
  const bool want_bleu = wanted != Metric::chrf, want_chrf = wanted != Metric::bleu;
  ParallelText texts(hypothesis, references);
  while (texts.next()) {
    if (want_bleu) bleu_metric.add(texts.hypothesis(), texts.references());
    if (want_chrf) chrf_metric.add(texts.hypothesis(), texts.references());
  }
  texts.refuse_empty();
  std::vector<Result> results;
  if (want_bleu) {
    text::BleuScore score = bleu_metric.score();
    results.push_back({"BLEU", score.score, score.signature, score.details()});
  }
  if (want_chrf) {
    text::ChrfScore score = chrf_metric.score();
    results.push_back({score.name, score.score, score.signature, ""});
  }
  return results;
}

std::vector<ScoreCommand::Result> ScoreCommand::compare_alignments() const {
  ParallelText texts(hypothesis, {alignments});
  text::AlignmentError error;
  while (texts.next()) {
    error.add(text::parse_links(texts.hypothesis(), texts.place(0)),
              text::parse_links(texts.references()[0], texts.place(1)));
  }
  texts.refuse_empty();
  const text::AlignmentScore score = error.score();
  Result result{"AER", score.error, "", ""};
  result.details =
      concat("(precision = ", fixed(score.precision, width), " recall = ", fixed(score.recall, width),
             " links = ", score.links, " sure = ", score.sure, " possible = ", score.possible, ")");
  result.numbers = {{"precision", score.precision}, {"recall", score.recall}};
  return {result};
}

std::vector<ScoreCommand::Result> ScoreCommand::compare_labels() const {
  ParallelText texts(hypothesis, {labels});
  text::Confusion confusion;
  while (texts.next())
    confusion.add(label_of(texts.references()[0], texts.place(1)),
                  label_of(texts.hypothesis(), texts.place(0)));
  texts.refuse_empty();
  const text::ConfusionScore score = confusion.score();
  if (writes_matrix()) io::write_map(output, matrix_of(confusion), write);
  return {{"accuracy",
           score.accuracy,
           "",
           concat("(macro-F1 = ", fixed(score.macro_f1, width), " lines = ", score.lines, ")"),
           {{"macro_f1", score.macro_f1}},
           score.labels}};
}

std::vector<ScoreCommand::Result> ScoreCommand::compute_perplexity() const {
  ParallelText texts(hypothesis, {});
  text::Perplexity sum;
  while (texts.next()) sum.add(texts.hypothesis(), texts.place(0));
  texts.refuse_empty();
  const text::PerplexityScore score = sum.score();
  return {{"PPL",
           score.perplexity,
           "",
           concat("(without </s> = ", fixed(score.without_end, width),
                  " per word = ", fixed(score.per_word, width), " pieces = ", score.pieces,
                  " words = ", score.words, " lines = ", score.lines, ")"),
           {{"without_end", score.without_end}, {"per_word", score.per_word}}}};
}

std::string ScoreCommand::report(const std::vector<Result>& results) const {
  if (json) return json_report(results, width);
  std::string text;
  for (const Result& result : results) {
    std::string score = fixed(result.score, width);
    text += score_only ? score
                       : concat(result.name, result.signature.empty() ? "" : "|", result.signature, " = ",
                                score, result.details.empty() ? "" : " ", result.details);
    text += '\n';
    if (score_only || result.labels.empty()) continue;
    text += "label\tprecision\trecall\tF1\tcount\n";
    for (const text::LabelScore& label : result.labels) {
      text += concat(label.label, '\t', fixed(label.precision, width), '\t', fixed(label.recall, width), '\t',
                     fixed(label.f1, width), '\t', label.count, '\n');
    }
  }
  return text;
}

}  // namespace heed
