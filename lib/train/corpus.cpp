#include "train/corpus.h"

#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "text/line_reader.h"
#include "text/vocabulary.h"

namespace heed {

namespace {

std::string digest_of(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  return sha256_hex(all);
}

void check_same_number(const std::string& source_path, std::size_t source, const std::string& target_path,
                       std::size_t target) {
  if (source == target) return;
  fail(escaped(source_path), ": ", source, " lines, but ", escaped(target_path), " has ", target,
       ": line n of one must translate line n of the other");
}

}  // namespace

std::int64_t ParallelCorpus::target_tokens() const {
  std::int64_t sum = 0;
  for (const TokenIds& sentence : target) sum += static_cast<std::int64_t>(sentence.size());
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

ParallelCorpus read_parallel_corpus(const std::string& source_path, const std::string& target_path,
                                    const Encoder& encode_source, const Encoder& encode_target,
                                    const LongestSides& longest) {
  auto too_long = [](const TokenIds& ids, std::int64_t most) {
    return most > 0 && static_cast<std::int64_t>(ids.size()) > most;
  };
  const std::vector<std::string> sources = text::read_lines(source_path);
  const std::vector<std::string> targets = text::read_lines(target_path);
  check_same_number(source_path, sources.size(), target_path, targets.size());

  ParallelCorpus corpus;
  corpus.source_digest = digest_of(sources);
  corpus.target_digest = digest_of(targets);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    TokenIds source = encode_source(sources[i]);
    TokenIds target = encode_target(targets[i]);
    if (source.empty() || target.empty()) {
      ++corpus.skipped_empty;
      continue;
    }
    source.push_back(kEos);
    target.push_back(kEos);
    if (too_long(source, longest.source) || too_long(target, longest.target)) {
      ++corpus.skipped_long;
      continue;
    }
    corpus.source.push_back(std::move(source));
    corpus.target.push_back(std::move(target));
    corpus.reference.push_back(targets[i]);
  }
  if (corpus.size() == 0) {
    fail(escaped(source_path), ": no sentence pair to use: ", sources.size(), " lines, ",
         corpus.skipped_empty, " with an empty side",
         corpus.skipped_long > 0 ? concat(", ", corpus.skipped_long, " of ", describe(longest)) : "");
  }
  return corpus;
}

}  // namespace heed
