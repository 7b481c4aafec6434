// The training text as token ids, held in memory (29,000 sentence pairs take a few megabytes) or mapped from
// a file (train/pair_file.h). Line n of a source, of its target and of its labels belong together; a model
// reads the sides for which it has parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/pictures.h"
#include "train/pair_file.h"

namespace heed {

using TokenIds = std::vector<std::int32_t>;

/// One side of a corpus.
class Sentences {
 public:
  Sentences() = default;
  Sentences(std::initializer_list<TokenIds> sentences) : held_(sentences) {}
  /// The sentences of a file, without the lines `left_out`, in ascending order.
  Sentences(std::shared_ptr<const PairFile> file, Side side,
            std::shared_ptr<const std::vector<std::uint32_t>> left_out)
      : file_(std::move(file)), side_(side), left_out_(std::move(left_out)) {}

  void push_back(TokenIds ids) { held_.push_back(std::move(ids)); }
  bool empty() const { return size() == 0; }
  std::size_t size() const {
    return file_ ? static_cast<std::size_t>(file_->size()) - left_out_->size() : held_.size();
  }
  std::int64_t length(std::int64_t i) const {
    return file_ ? file_->length(side_, line(i)) : std::ssize(held_[static_cast<std::size_t>(i)]);
  }
  TokenIds operator[](std::size_t i) const {
    return file_ ? file_->ids(side_, line(static_cast<std::int64_t>(i))) : held_[i];
  }
  /// A sentence held in memory, to be changed.
  TokenIds& held(std::size_t i) { return held_[i]; }

 private:
  /// The line in the file.
  std::int64_t line(std::int64_t i) const;

  std::vector<TokenIds> held_;
  std::shared_ptr<const PairFile> file_;  ///< null: held_ has them
  Side side_ = Side::source;
  std::shared_ptr<const std::vector<std::uint32_t>> left_out_;
};

struct Corpus {
  /// Each sentence with its final eos; empty: no such side. If sources are images, an id 0 for each of their
  /// rows.
  Sentences source, target;
  Pictures pictures;                   ///< the sources, if they are images
  std::vector<std::int64_t> line_of;   ///< of each sentence held in memory, from 0; of an image its index
  std::vector<std::int32_t> labels;    ///< class of each source; empty: none
  std::vector<std::string> reference;  ///< the target lines of the pairs kept, as in the file
  std::string source_digest, target_digest, label_digest;  ///< SHA-256 of the lines read; empty: none
  std::int64_t skipped_empty = 0, skipped_long = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(std::max(source.size(), target.size())); }
  /// The number of tokens of sentence i on the side that is learned, the target if there is one.
  std::int64_t length(std::int64_t i) const;
  /// The number of tokens of all sentences.
  std::int64_t tokens() const;
};

/// A line's ids, with eos.
using LineEncoder = std::function<TokenIds(const std::string& line)>;

/// The maximal number of ids (eos counted) of each side; 0: unlimited.
struct LongestSides {
  std::int64_t source = 0, target = 0;
};

/// The lines of a file, and their digest; path "": no file.
struct Lines {
  explicit Lines(const std::string& path);
  /// One empty line per image of that file.
  Lines(const std::string& path, const Pictures& pictures);
  std::string path;
  const char* unit = "lines";
  bool there;
  std::vector<std::string> lines;
  std::string digest;
};

/// Files whose lines belong together, each read once: they may be pipes. Sources that are images
/// (read_pictures) are lines without text.
struct CorpusLines {
  CorpusLines(const std::string& source, const std::string& target, const std::string& labels)
      : source(source), target(target), labels(labels) {}
  Lines source, target, labels;
  Pictures pictures;
};

/// Encodes the lines. Sentences with an empty side (except images), or with a side longer than `longest`, are
/// skipped and counted. Labels are numbered by `classes`. Throws Error if the numbers of lines differ, if no
/// sentence is left, and on an unknown label.
Corpus read_corpus(const CorpusLines& text, const LineEncoder& encode_source,
                   const LineEncoder& encode_target, const LongestSides& longest,
                   const std::vector<std::string>& classes = {});
/// The pairs of a mapped file; skips the same pairs: those with `empty` ids on a side, eos counted, and
/// longer ones.
Corpus mapped_corpus(std::shared_ptr<const PairFile> pairs, const LongestSides& empty,
                     const LongestSides& longest);
/// The classes of labels, one label per line, in the order of their names; none without labels. Throws Error
/// if there are fewer than two, or on an empty line.
std::vector<std::string> classes_of(const Lines& labels);
/// "more than 50 source or 80 target tokens", for messages.
std::string describe(const LongestSides& longest);

}  // namespace heed
