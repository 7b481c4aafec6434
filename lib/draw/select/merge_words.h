// Pieces put together to words: a tokenizer's pieces are right for the model, words for its reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/select/slice.h"

namespace heed::draw {

/// A word and its pieces [first, first + count).
struct Word {
  std::string text;
  std::int64_t first = 0, count = 1;
};

/// The words of a sentence, by the marks of its pieces: U+2581 begins a word (SentencePiece), "@@" at the end
/// of a piece means that the word goes on (subword-nmt); pieces without marks are words. Special pieces stand
/// alone; bytes such as <0xC3> become characters again.
std::vector<Word> words_of(const std::vector<std::string>& pieces);

/// `slice` with the labelled axes `query`, `key` and `position` in words. What is attended to adds up: values
/// are summed over the pieces of a key. What attends is averaged: over the pieces of a query or position.
Slice merge_words(const Slice& slice);

}  // namespace heed::draw
