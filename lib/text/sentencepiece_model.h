// Serialized models of SentencePiece, which anybody may have written. The library believes what a model says of its trie of
// normalisations and of its scores, so that a damaged one could make it read beyond its memory: those are checked here first.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

/// Throws Error, which begins with `name`, unless it is a model that can be run.
std::unique_ptr<sentencepiece::SentencePieceProcessor> load_sentencepiece(const std::string& model,
                                                                          const std::string& name);

/// A serialized Unigram model of pieces with scores (log probabilities) and a table of normalisations, which may be
/// empty. Special pieces are those that text cannot spell, one of them `unk`.
std::string unigram_model(const std::vector<std::string>& pieces, const std::vector<float>& scores,
                          const std::vector<bool>& special, std::int32_t unk,
                          const std::string& normalisations);

/// The table of normalisations of a model that load_sentencepiece() took; may be empty.
std::string_view normalisation_table(std::string_view model);

/// What such a table has in place of text.
class Normalisations {
 public:
  explicit Normalisations(std::string_view table);
  /// For the shortest beginning of `text` that has one; nothing when none has.
  std::optional<std::string_view> find(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;  ///< of the trie
  std::string texts_;
};

/// The model without the note of the form in which its text was given, which is nothing of the model.
std::string without_input_format(std::string_view model);

/// The byte of the piece "<0xE2>".
char byte_of_piece(const std::string& piece);

}  // namespace heed::text
