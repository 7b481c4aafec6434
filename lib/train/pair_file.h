// Sentence pairs as ids in a file, for corpora that are larger than memory: made once by tokenize --pairs, mapped by train
// --corpus. Of each side the ids of all sentences one after the other and the length of each (lib/io/README.md, /corpus);
// an average pair of 49 ids takes 102 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/columns.h"
#include "models/model.h"

namespace heed {

/// What a file of pairs says of itself.
struct PairInfo {
  std::string source_vocabulary, target_vocabulary;  ///< their digests
  std::string source_digest, target_digest;  ///< SHA-256 of the lines, as of corpora of text (train/corpus.h)
  std::string texts;                         ///< the options of train that name the texts, quoted
  std::int64_t first_sentence = 0;           ///< lines of the texts before it
};

class PairFileWriter {
 public:
  /// Longer sentences are no sentences.
  static constexpr std::int64_t kMostTokens = 65535;

  /// `source_size`, `target_size`: of the vocabularies.
  PairFileWriter(const std::string& path, io::WriteOptions options, std::int64_t source_size,
                 std::int64_t target_size);
  /// Of at most kMostTokens each.
  void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target);
  void finish(const PairInfo& info);

 private:
  io::ColumnWriter columns_;
};

class PairFile {
 public:
  /// Throws Error when it is none, or is damaged.
  explicit PairFile(const std::string& path);

  const PairInfo& info() const { return info_; }
  const std::string& name() const { return columns_.name(); }
  std::int64_t size() const { return size_; }
  /// Throws Error unless it was made with these vocabularies; before it reads are not to be trusted.
  void expect_vocabularies(const std::string& source_digest, std::int64_t source_size,
                           const std::string& target_digest, std::int64_t target_size);

  /// Ids of sentence i of a side.
  std::int64_t length(Side side, std::int64_t i) const;
  std::vector<std::int32_t> ids(Side side, std::int64_t i) const;

 private:
  struct Half {
    const io::Column* ids;
    const io::Column* lengths;
    std::vector<std::int64_t> begins;  ///< of every 64th sentence
    std::int64_t vocabulary = INT32_MAX;
  };
  Half half(const char* side) const;
  const Half& of(Side side) const { return side == Side::source ? source_ : target_; }
  std::string text(const Attributes& about, const char* attribute) const;

  io::MappedColumns columns_;
  PairInfo info_;
  std::int64_t size_ = 0;
  Half source_, target_;
};

}  // namespace heed
