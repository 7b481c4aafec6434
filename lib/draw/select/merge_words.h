// Merges a tokenizer's pieces into words.
#pragma once

#include <string>
#include <vector>

#include "draw/select/slice.h"
#include "draw/select/tensors.h"

namespace heed::draw {

struct Word {
  std::string text;
  Part pieces;
};

/// The words of a sentence. U+2581 begins a word (SentencePiece), "@@" at the end of a piece continues it
/// (subword-nmt); without such marks every piece is a word. Special pieces such as </s> are words; byte
/// pieces such as <0xC3> become characters.
std::vector<Word> words_of(const std::vector<std::string>& pieces);

/// `slice` with the labelled axes `query`, `key` and `position` in words: values are summed over the pieces
/// of a key and averaged over those of a query or position, so that attention weights still sum to 1.
Slice merge_words(const Slice& slice);

}  // namespace heed::draw
