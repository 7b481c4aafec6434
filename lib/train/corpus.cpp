#include "train/corpus.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "text/confusion.h"
#include "text/line_reader.h"

namespace heed {

namespace {

std::string digest_of(const std::vector<std::string>& lines) {
  Sha256 all;
  for (const std::string& line : lines) all.add_line(line);
  return all.hex();
}

void check_same_number(const Lines& a, const Lines& b) {
  if (a.lines.size() == b.lines.size()) return;
  fail(escaped(a.path), ": ", a.lines.size(), " ", a.unit, ", but ", escaped(b.path), " has ", b.lines.size(),
       ": line n of one must belong to line n of the other");
}

std::int32_t number_of(const std::string& label, const std::vector<std::string>& classes, const Lines& labels,
                       std::size_t line) {
  const auto found = std::find(classes.begin(), classes.end(), label);
  if (found == classes.end())
    fail(escaped(labels.path), ":", line + 1, ": the label ", escaped(label), " is not one of the ",
         classes.size(), " learned classes");
  return static_cast<std::int32_t>(found - classes.begin());
}

}  // namespace

Lines::Lines(const std::string& path) : path(path), there(!path.empty()) {
  if (!there) return;
  lines = text::read_lines(path);
  digest = digest_of(lines);
}

Lines::Lines(const std::string& path, const Pictures& pictures)
    : path(path),
      unit("images"),
      there(true),
      lines(static_cast<std::size_t>(pictures.count())),
      digest(pictures.digest()) {}

std::int64_t Sentences::line(std::int64_t i) const {
  // The line is preceded by i sentences and by those skipped lines that have at most i sentences before them.
  const std::vector<std::uint32_t>& out = *left_out_;
  std::size_t low = 0, high = out.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (static_cast<std::int64_t>(out[middle]) - static_cast<std::int64_t>(middle) <= i)
      low = middle + 1;
    else
      high = middle;
  }
  return i + static_cast<std::int64_t>(low);
}

std::int64_t Corpus::length(std::int64_t i) const {
  return (target.empty() ? source : target).length(i);
}

std::int64_t Corpus::tokens() const {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < size(); ++i) sum += length(i);
  return sum;
}

std::string describe(const LongestSides& longest) {
  if (longest.source == longest.target) return concat("more than ", longest.source, " tokens");
  std::string sides;
  for (const auto& [side, most] :
       {std::pair("source", longest.source), std::pair("target", longest.target)}) {
    if (most > 0) sides += concat(sides.empty() ? "" : " or ", most, " ", side);
  }
  return "more than " + sides + " tokens";
}

std::vector<std::string> classes_of(const Lines& labels) {
  if (!labels.there) return {};
  std::set<std::string> names;
  for (std::size_t i = 0; i < labels.lines.size(); ++i) {
    const std::string label = text::label_of(labels.lines[i]);
    if (label.empty()) fail(escaped(labels.path), ":", i + 1, ": an empty line where a label is wanted");
    names.insert(label);
  }
  if (names.size() < 2)
    fail(escaped(labels.path), ": ", count_of(std::ssize(names), "different label"), ", wanted at least two");
  return {names.begin(), names.end()};
}

namespace {

void expect_some(const Corpus& corpus, const std::string& name, const char* of_two, std::int64_t lines,
                 const LongestSides& longest) {
  if (corpus.size() > 0) return;
  fail(name, ": no sentence", of_two, " to use: ", lines, " lines, ", corpus.skipped_empty,
       " with an empty side",
       corpus.skipped_long > 0 ? concat(", ", corpus.skipped_long, " of ", describe(longest)) : "");
}

}  // namespace

Corpus read_corpus(const CorpusLines& text, const LineEncoder& encode_source,
                   const LineEncoder& encode_target, const LongestSides& longest,
                   const std::vector<std::string>& classes) {
  const Lines &sources = text.source, &targets = text.target, &labels = text.labels;
  const Lines& first = sources.there ? sources : targets;
  for (const Lines* other : {&targets, &labels})
    if (other->there) check_same_number(first, *other);

  Corpus corpus;
  corpus.source_digest = sources.digest;
  corpus.target_digest = targets.digest;
  corpus.label_digest = labels.digest;
  corpus.pictures = text.pictures;
  const bool reads_text = sources.there && text.pictures.count() == 0;
  const std::size_t empty_source = reads_text ? encode_source("").size() : 0,
                    empty_target = targets.there ? encode_target("").size() : 0;
  for (std::size_t i = 0; i < first.lines.size(); ++i) {
    bool empty = false, too_long = false;
    auto encode = [&](const Lines& side, const LineEncoder& encoder, std::size_t of_empty,
                      std::int64_t most) -> TokenIds {
      if (!side.there) return {};
      TokenIds ids = at_place([&] { return concat(escaped(side.path), ':', i + 1); },
                              [&] { return encoder(side.lines[i]); });
      empty = empty || ids.size() == of_empty;
      too_long = too_long || (most > 0 && static_cast<std::int64_t>(ids.size()) > most);
      return ids;
    };
    TokenIds source = encode(sources, encode_source, empty_source, longest.source);
    TokenIds target = encode(targets, encode_target, empty_target, longest.target);
    if (empty) {
      ++corpus.skipped_empty;
      continue;
    }
    if (too_long) {
      ++corpus.skipped_long;
      continue;
    }
    if (sources.there) corpus.source.push_back(std::move(source));
    corpus.line_of.push_back(static_cast<std::int64_t>(i));
    if (targets.there) {
      corpus.target.push_back(std::move(target));
      corpus.reference.push_back(targets.lines[i]);
    }
    if (labels.there) corpus.labels.push_back(number_of(text::label_of(labels.lines[i]), classes, labels, i));
  }
  expect_some(corpus, escaped(first.path), sources.there && targets.there ? " pair" : "",
              std::ssize(first.lines), longest);
  return corpus;
}

Corpus mapped_corpus(std::shared_ptr<const PairFile> pairs, const LongestSides& empty,
                     const LongestSides& longest) {
  Corpus corpus;
  corpus.source_digest = pairs->info().source_digest;
  corpus.target_digest = pairs->info().target_digest;
  auto left_out = std::make_shared<std::vector<std::uint32_t>>();
  for (std::int64_t i = 0; i < pairs->size(); ++i) {
    const std::int64_t source = pairs->length(Side::source, i), target = pairs->length(Side::target, i);
    const bool is_empty = source == empty.source || target == empty.target;
    const bool is_long =
        (longest.source > 0 && source > longest.source) || (longest.target > 0 && target > longest.target);
    if (!is_empty && !is_long) continue;
    ++(is_empty ? corpus.skipped_empty : corpus.skipped_long);
    left_out->push_back(static_cast<std::uint32_t>(i));
  }
  corpus.source = {pairs, Side::source, left_out};
  corpus.target = {pairs, Side::target, left_out};
  expect_some(corpus, pairs->name(), " pair", pairs->size(), longest);
  return corpus;
}

}  // namespace heed
