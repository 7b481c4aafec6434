// Word alignments from attention, in Pharaoh format: "0-0 1-2 2-1", source word - target word, both from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/text_writer.h"
#include "tensor/tensor_map.h"
#include "text/alignment_error.h"
#include "text/line_reader.h"
#include "text/tokenizer.h"

namespace heed {

/// For one sentence: the word number of each piece, without the final </s> or other end (Tokenizer::word_of).
struct WordNumbers {
  std::vector<std::int32_t> source, target;
};

/// The word numbers of the pieces, and of stored attention: those of the best-ranked translations, by
/// /cross_attention/query_token and key_token. Throws Error if these labels are missing or do not fit.
/// `more_ends`: ids that end a translation like </s> (BeamOptions).
WordNumbers word_numbers(const text::Tokenizer& source, const std::vector<std::int32_t>& source_ids,
                         const text::Tokenizer& target, const std::vector<std::int32_t>& target_ids,
                         const std::vector<std::int32_t>& more_ends);
std::vector<WordNumbers> word_numbers(const TensorMap& attention, const text::Tokenizer& source,
                                      const text::Tokenizer& target,
                                      const std::vector<std::int32_t>& more_ends);

/// The heads from which links are read.
struct HeadChoice {
  std::int64_t layer = -1;  ///< -1: the penultimate layer; for the best head all layers
  std::int64_t head = -1;   ///< -1: the mean over the layer's heads
  std::string gold;         ///< file of gold links, a line per sentence, used to choose the best head
};

/// `head`: "mean", "best" (by the gold links) or a number. Throws UsageError on an invalid choice.
HeadChoice head_choice(std::int64_t layer, const std::string& head, const std::string& gold);

/// The links of each sentence, one line each: every target piece is linked to the source piece with the
/// largest weight, or to none if all weights are zero, and pieces stand for their words. `weights` f32
/// (sentence, [rank,] layer, head, query, key) as in /cross_attention; `head` -1: the layer's mean. Throws
/// UsageError if there is no such layer or head.
std::vector<std::string> pharaoh_links(const Tensor& weights, std::int64_t layer, std::int64_t head,
                                       const std::vector<WordNumbers>& words);

/// Writes the links frame by frame; for the best head only at the end, when it is known.
class Aligner {
 public:
  Aligner(const HeadChoice& choice, io::TextWriter& lines);

  void add(const Tensor& weights, const std::vector<WordNumbers>& words);
  /// Throws Error if the gold links belong to another text.
  void finish();

 private:
  struct Candidate {
    std::int64_t layer, head;
    std::string lines;
    text::AlignmentError error;
  };
  void compare(const Tensor& weights, const std::vector<WordNumbers>& words);

  HeadChoice choice_;
  io::TextWriter& lines_;
  std::optional<text::LineReader> gold_;
  std::vector<Candidate> candidates_;
};

}  // namespace heed
