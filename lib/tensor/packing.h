// Packed sentences: the rows of all sentences of a batch one after the other, without padding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed {

/// The rows of each sentence: sentence i has rows offset(i) .. offset(i) + length(i) - 1.
class Packing {
 public:
  Packing() = default;
  explicit Packing(std::span<const std::int32_t> lengths) {
    for (std::int32_t n : lengths) append(n);
  }
  /// Sentences of one length.
  static Packing uniform(std::int64_t sentences, std::int64_t length) {
    Packing packing;
    for (std::int64_t s = 0; s < sentences; ++s) packing.append(length);
    return packing;
  }
  void append(std::int64_t length) { offsets_.push_back(offsets_.back() + length); }

  std::int64_t sentences() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  std::int64_t rows() const { return offsets_.back(); }
  std::int64_t offset(std::int64_t sentence) const { return offsets_[static_cast<std::size_t>(sentence)]; }
  std::int64_t length(std::int64_t sentence) const { return offset(sentence + 1) - offset(sentence); }
  std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < sentences(); ++i) most = most < length(i) ? length(i) : most;
    return most;
  }
  bool operator==(const Packing&) const = default;

 private:
  std::vector<std::int64_t> offsets_{0};
};

/// Sentences in segments: a document is a line of text, and so a sentence of a frame, whose segments are its
/// sentences. Segment i of all has rows.length(i) rows; sentence s has the next of_sentence.length(s) of
/// them.
struct Segments {
  Packing rows, of_sentence;
};

/// The token ids of several sentences, packed.
struct PackedTokens {
  std::vector<std::int32_t> ids;
  Packing rows;
  std::vector<std::int32_t>
      types{};  ///< which segment of its sentence a token is of; empty: all of the first, 0

  void append(std::span<const std::int32_t> sentence) {
    ids.insert(ids.end(), sentence.begin(), sentence.end());
    rows.append(static_cast<std::int64_t>(sentence.size()));
  }
};

}  // namespace heed
