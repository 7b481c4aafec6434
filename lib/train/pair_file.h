// Files of sentence pairs as ids, for corpora larger than memory: made once by tokenize --pairs, mapped by
// train --corpus. For each side the ids of all sentences, concatenated, and the length of each
// (lib/io/README.md, /corpus); an average pair of 49 ids takes 102 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/columns.h"
#include "models/model.h"

namespace heed {

/// The metadata of a file of pairs.
struct PairInfo {
  std::string source_vocabulary, target_vocabulary;  ///< their digests
  std::string source_digest, target_digest;  ///< SHA-256 of the lines, as for text corpora (train/corpus.h)
  std::string texts;                         ///< the options of train that name the texts, quoted
  std::int64_t first_sentence = 0;           ///< number of lines of the texts before it
};

class PairFileWriter {
 public:
  /// Longer sentences are refused.
  static constexpr std::int64_t kMostTokens = 65535;

  /// `source_size`, `target_size`: sizes of the vocabularies.
  PairFileWriter(const std::string& path, io::WriteOptions options, std::int64_t source_size,
                 std::int64_t target_size);
  /// At most kMostTokens each.
  void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target);
  void finish(const PairInfo& info);

 private:
  io::ColumnWriter columns_;
};

class PairFile {
 public:
  /// Throws Error if the file is invalid or damaged.
  explicit PairFile(const std::string& path);

  const PairInfo& info() const { return info_; }
  const std::string& name() const { return columns_.name(); }
  std::int64_t size() const { return size_; }
  /// Throws Error unless it was made with these vocabularies; ids must not be trusted before.
  void expect_vocabularies(const std::string& source_digest, std::int64_t source_size,
                           const std::string& target_digest, std::int64_t target_size);

  /// The ids of sentence i of a side.
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
