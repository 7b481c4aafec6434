#include "stages/score.h"

#include <limits>
#include <memory>

#include "base/choice.h"
#include "base/fields.h"
#include "base/number.h"
#include "io/frame_stream.h"
#include "io/text_writer.h"
#include "stages/nbest_lists.h"
#include "text/alignment_error.h"
#include "text/line_reader.h"
#include "text/minimum_risk.h"
#include "text/perplexity.h"
#include "text/unicode.h"

namespace heed {
namespace {

using text::LineReader;

enum class Metric { bleu, chrf, ter, all };

/// Removes trailing white space, as sacreBLEU's command does.
void trim_end(std::string& line) {
  std::vector<std::string_view> words = text::split_white_space(line);
  line.resize(
      words.empty() ? 0 : static_cast<std::size_t>(words.back().data() + words.back().size() - line.data()));
}

[[noreturn]] void fail_without_lines(const std::string& name) {
  fail(escaped(name), ": no lines: did the previous command fail?");
}

/// Several texts, line by line: hypotheses and what they are compared with.
class ParallelText {
 public:
  ParallelText(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
               text::ByteOrderMark mark = text::ByteOrderMark::drop)
      : hypotheses_(hypotheses.size()) {
    for (const auto* paths : {&hypotheses, &references}) {
      for (const std::string& path : *paths)
        readers_.push_back(std::make_unique<LineReader>(path, false, LineReader::kMostBytes, mark));
    }
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
  std::span<const std::string> hypotheses() const { return std::span(lines_).first(hypotheses_); }
  std::span<const std::string> references() const { return std::span(lines_).subspan(hypotheses_); }
  const std::string& name(std::size_t text) const { return readers_[text]->name(); }
  /// File and line of a text: hypotheses count from 0, references from there.
  std::string place(std::size_t text) const {
    return concat(escaped(name(text)), ":", readers_[text]->line_number());
  }
  void refuse_empty() const {
    const LineReader& reader = *readers_[0];
    if (reader.line_number() == 0) fail_without_lines(reader.name());
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

  std::size_t hypotheses_;
  std::vector<std::unique_ptr<LineReader>> readers_;
  std::vector<std::string> lines_;
};

/// The statistics of a system in one metric.
struct Counted {
  text::Statistics sum;
  std::vector<text::Statistics> sentences;  ///< kept for resampling only
};

/// The scores of the translations of a sentence, all 0 if none has one.
std::vector<double> scores_of(const std::vector<NBestLine>& list) {
  std::vector<double> scores(list.size(), 0.0);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const NBestLine& line = list[i];
    if (line.score.empty() != list.front().score.empty())
      fail(line.place, ": some translations of the sentence have a score, others have none");
    if (line.score.empty()) continue;
    if (!parse(line.score, scores[i]) || !std::isfinite(scores[i]))
      fail(line.place, ": got the score '", escaped(line.score),
           "' after the last |||, wanted a finite number");
  }
  return scores;
}

ScoreResult alignment_result(const text::AlignmentError& error, std::int64_t width) {
  text::AlignmentScore score;
  if (error.empty()) {  // of a sentence
    score.error = std::numeric_limits<double>::quiet_NaN();
  } else {
    score = error.score();
  }
  ScoreResult result{"AER", score.error};
  result.details =
      concat("(precision = ", fixed(score.precision, width), " recall = ", fixed(score.recall, width),
             " links = ", score.links, " sure = ", score.sure, " possible = ", score.possible, ")");
  result.numbers = {{"precision", score.precision}, {"recall", score.recall}};
  return result;
}

ScoreResult perplexity_result(const text::PerplexityScore& score, std::int64_t width) {
  ScoreResult result{"PPL", score.perplexity};
  result.details = concat("(without </s> = ", fixed(score.without_end, width),
                          " per word = ", fixed(score.per_word, width), " pieces = ", score.pieces,
                          " words = ", score.words, " lines = ", score.lines, ")");
  result.numbers = {{"without_end", score.without_end}, {"per_word", score.per_word}};
  return result;
}

std::string label_at(const std::string& line, const std::string& place) {
  std::string label = text::label_of(line);
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

}  // namespace

void ScoreCommand::check_usage() const {
  if (choose) {
    if (!alignments.empty() || !labels.empty() || perplexity || !systems.empty() || resampling.samples > 0 ||
        sentence_level || report.json || report.score_only)
      fail<UsageError>(
          "--choose writes translations, not a report, and compares with nothing but --reference");
    if (chosen<Metric>("--metric", kMetrics, metric) == Metric::all)
      fail<UsageError>("--choose: wanted one metric, got --metric all");
    return;
  }
  const int given = !references.empty() + !alignments.empty() + !labels.empty() + perplexity;
  if (given == 0) fail<UsageError>("no reference: give --reference FILE");
  if (given > 1) fail<UsageError>("references, --alignments, --labels and --perplexity exclude each other");
  if (references.empty() && (!systems.empty() || resampling.samples > 0))
    fail<UsageError>(systems.empty() ? "--bootstrap" : "--systems",
                     " is for translations: give --reference FILE");
  if (!sentence_level) return;
  if (!labels.empty()) fail<UsageError>("--sentence-level: a label alone has no score");
  if (!systems.empty() || resampling.samples > 0)
    fail<UsageError>("--sentence-level excludes --systems and --bootstrap");
}

void ScoreCommand::run() const {
  check_usage();
  io::TextWriter out(writes_matrix() ? "-" : output);
  const Write write_text = [&](const std::string& text) { out.write(text); };
  if (choose) {
    choose_translations(write_text);
  } else if (perplexity) {
    compute_perplexity(write_text);
  } else if (!labels.empty()) {
    compare_labels(write_text);
  } else if (!alignments.empty()) {
    compare_alignments(write_text);
  } else {
    compare_translations(write_text);
  }
  out.finish();
}

std::vector<std::unique_ptr<text::Metric>> ScoreCommand::metrics() const {
  text::BleuOptions bleu_options = bleu;
  bleu_options.effective_order |= sentence_level || choose;  // most sentences have no 4-gram right
  text::ChrfOptions chrf_options = chrf;
  chrf_options.lowercase = bleu.lowercase;
  const Metric wanted = chosen<Metric>("--metric", kMetrics, metric);
  auto want = [&](Metric one) { return wanted == one || wanted == Metric::all; };
  std::vector<std::unique_ptr<text::Metric>> list;
  if (want(Metric::bleu)) list.push_back(std::make_unique<text::Bleu>(bleu_options));
  if (want(Metric::chrf)) list.push_back(std::make_unique<text::Chrf>(chrf_options));
  if (want(Metric::ter)) list.push_back(std::make_unique<text::Ter>(ter));
  return list;
}

void ScoreCommand::compare_translations(const Write& out) const {
  const std::vector<std::unique_ptr<text::Metric>> wanted = metrics();
  std::vector<std::string> paths{hypothesis};
  paths.insert(paths.end(), systems.begin(), systems.end());
  ParallelText texts(paths, references, text::ByteOrderMark::keep);
  const std::optional<text::Resampling> samples =
      resampling.samples > 0 ? std::optional(resampling) : std::nullopt;
  auto result_of = [&](const text::Metric& one, std::span<const double> sum) {
    const text::MetricScore score = one.score(sum);
    return ScoreResult{one.name(), score.score, signature(one, references.size(), samples), score.details};
  };

  std::vector<std::vector<Counted>> counted(paths.size(), std::vector<Counted>(wanted.size()));
  while (texts.next()) {
    std::vector<ScoreResult> of_sentence;
    for (std::size_t system = 0; system < paths.size(); ++system) {
      for (std::size_t m = 0; m < wanted.size(); ++m) {
        text::Statistics found = wanted[m]->compare(texts.hypotheses()[system], texts.references());
        Counted& all = counted[system][m];
        text::add_to(all.sum, found);
        if (sentence_level) of_sentence.push_back(result_of(*wanted[m], found));
        if (samples) all.sentences.push_back(std::move(found));
      }
    }
    if (sentence_level) out(report.of_sentence(of_sentence));
  }
  texts.refuse_empty();
  if (sentence_level) return;

  std::vector<SystemScores> scores(paths.size());
  for (std::size_t system = 0; system < paths.size(); ++system) scores[system].name = texts.name(system);
  for (std::size_t m = 0; m < wanted.size(); ++m) {
    std::vector<double> of_baseline;  // its samples' scores
    for (std::size_t system = 0; system < paths.size(); ++system) {
      const Counted& all = counted[system][m];
      ScoreResult& result = scores[system].results.emplace_back(result_of(*wanted[m], all.sum));
      if (!samples) continue;
      const std::vector<double> of_samples = resampled_scores(*wanted[m], all.sentences, *samples);
      result.interval = text::interval_of(of_samples);
      if (system == 0) {
        of_baseline = of_samples;
      } else {
        result.p_value =
            text::p_value(of_baseline, of_samples, result.score - scores.front().results.back().score);
      }
    }
  }
  out(systems.empty() ? report.of_text(scores.front().results) : report.of_systems(scores));
}

void ScoreCommand::choose_translations(const Write& out) const {
  const std::unique_ptr<text::Metric> wanted = std::move(metrics().front());
  NBestReader lists(hypothesis);
  if (lists.at_end()) fail_without_lines(lists.name());
  ParallelText texts({}, references);
  std::int64_t sentence = 0;
  for (; references.empty() ? !lists.at_end() : texts.next(); ++sentence) {
    const std::vector<NBestLine> list = lists.next(sentence);
    std::vector<std::string> translations;
    for (const NBestLine& line : list) trim_end(translations.emplace_back(line.translation));
    const std::size_t best = references.empty() ? text::least_risk(*wanted, translations, scores_of(list))
                                                : text::nearest(*wanted, translations, texts.references());
    out(list[best].translation + "\n");
  }
  if (lists.at_end()) return;
  texts.refuse_empty();
  fail(escaped(texts.name(0)), ": ends after line ", sentence, ", but ", lists.next(sentence).front().place,
       " translates another sentence: do they correspond?");
}

void ScoreCommand::compare_alignments(const Write& out) const {
  ParallelText texts({hypothesis}, {alignments});
  text::AlignmentError all;
  while (texts.next()) {
    const text::Links links = text::parse_links(texts.hypotheses()[0], texts.place(0)),
                      gold = text::parse_links(texts.references()[0], texts.place(1));
    if (sentence_level) {
      text::AlignmentError one;
      one.add(links, gold);
      out(report.of_sentence({alignment_result(one, report.width)}));
    } else {
      all.add(links, gold);
    }
  }
  texts.refuse_empty();
  if (sentence_level) return;
  if (all.empty()) fail("the alignments have no link and the gold alignments no sure link");
  out(report.of_text({alignment_result(all, report.width)}));
}

void ScoreCommand::compare_labels(const Write& out) const {
  ParallelText texts({hypothesis}, {labels});
  text::Confusion confusion;
  while (texts.next())
    confusion.add(label_at(texts.references()[0], texts.place(1)),
                  label_at(texts.hypotheses()[0], texts.place(0)));
  texts.refuse_empty();
  const text::ConfusionScore score = confusion.score();
  if (writes_matrix()) io::write_map(output, matrix_of(confusion), write);
  ScoreResult result{"accuracy", score.accuracy};
  result.details = concat("(macro-F1 = ", fixed(score.macro_f1, report.width), " lines = ", score.lines, ")");
  result.numbers = {{"macro_f1", score.macro_f1}};
  result.labels = score.labels;
  out(report.of_text({result}));
}

void ScoreCommand::compute_perplexity(const Write& out) const {
  ParallelText texts({hypothesis}, {});
  text::Perplexity all;
  while (texts.next()) {
    if (sentence_level) {
      text::Perplexity one;
      one.add(texts.hypotheses()[0], texts.place(0));
      out(report.of_sentence({perplexity_result(one.score(), report.width)}));
    } else {
      all.add(texts.hypotheses()[0], texts.place(0));
    }
  }
  texts.refuse_empty();
  if (!sentence_level) out(report.of_text({perplexity_result(all.score(), report.width)}));
}

}  // namespace heed
