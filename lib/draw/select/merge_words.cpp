#include "draw/select/merge_words.h"

#include <algorithm>

#include "draw/select/tensors.h"
#include "text/sentencepiece_model.h"
#include "text/vocabulary.h"

namespace heed::draw {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581
constexpr std::string_view kGoesOn = "@@";

enum class Marks { none, begin, goes_on };

Marks marks_of(const std::vector<std::string>& pieces) {
  for (const auto& piece : pieces) {
    if (piece.starts_with(kSpace)) return Marks::begin;
  }
  for (const auto& piece : pieces) {
    if (piece.ends_with(kGoesOn)) return Marks::goes_on;
  }
  return Marks::none;
}

/// The piece without its mark.
std::string text_of(const std::string& piece, Marks marks) {
  if (marks == Marks::begin && piece.size() > kSpace.size() && piece.starts_with(kSpace)) {
    return piece.substr(kSpace.size());
  }
  if (marks == Marks::goes_on && piece.size() > kGoesOn.size() && piece.ends_with(kGoesOn)) {
    return piece.substr(0, piece.size() - kGoesOn.size());
  }
  if (const auto byte = text::byte_of_piece(piece); byte && marks == Marks::begin) return {*byte};
  return piece;
}

bool begins_word(const std::vector<std::string>& pieces, std::size_t i, Marks marks) {
  if (i == 0 || marks == Marks::none || text::is_special_piece(pieces[i]) ||
      text::is_special_piece(pieces[i - 1]))
    return true;
  if (marks == Marks::begin) return pieces[i].starts_with(kSpace);
  return !pieces[i - 1].ends_with(kGoesOn);
}

}  // namespace

std::vector<Word> words_of(const std::vector<std::string>& pieces) {
  const Marks marks = marks_of(pieces);
  std::vector<Word> words;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string text = text_of(pieces[i], marks);
    if (begins_word(pieces, i, marks)) {
      words.push_back({text, {static_cast<std::int64_t>(i), 1}});
    } else {
      // A lone space (character pieces) only begins the word.
      words.back().text = words.back().text == kSpace ? text : words.back().text + text;
      ++words.back().pieces.count;
    }
  }
  return words;
}

Slice merge_words(const Slice& slice) {
  Slice merged = slice;
  if (slice.values.dtype() == DType::string) return merged;
  for (std::size_t axis = 0; axis < merged.axes.size(); ++axis) {
    Axis& of = merged.axes[axis];
    const bool is_key = of.name == "key";
    if (of.labels.empty() || (!is_key && of.name != "query" && of.name != "position")) continue;
    std::vector<Part> parts;
    std::vector<std::string> labels;
    for (const Word& word : words_of(of.labels)) {
      parts.push_back(word.pieces);
      labels.push_back(word.text);
    }
    merged.values = reduce(merged.values, axis, parts, is_key ? Reduction::sum : Reduction::mean);
    of.labels = std::move(labels);
    of.first = 0;
    merged.chosen.push_back(of.name + " in words");
  }
  return merged;
}

}  // namespace heed::draw
