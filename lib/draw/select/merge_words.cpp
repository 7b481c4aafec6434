#include "draw/select/merge_words.h"

#include <algorithm>
#include <charconv>

#include "draw/select/values.h"
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
  if (marks == Marks::begin && piece.size() == 6 && piece.starts_with("<0x") && piece.back() == '>') {
    unsigned byte = 0;
    const auto read = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    if (read.ptr == piece.data() + 5) return {static_cast<char>(byte)};
  }
  return piece;
}

bool begins_word(const std::vector<std::string>& pieces, std::size_t i, Marks marks) {
  if (i == 0 || marks == Marks::none || text::is_special_piece(pieces[i]) ||
      text::is_special_piece(pieces[i - 1]))
    return true;
  if (marks == Marks::begin) return pieces[i].starts_with(kSpace);
  return !pieces[i - 1].ends_with(kGoesOn);
}

/// Sums or means of the values over each word along `axis`.
Tensor gather(const Tensor& tensor, std::size_t axis, const std::vector<Word>& words, bool add) {
  Shape shape = tensor.shape();
  const auto [outer, size, inner] = around(shape, axis);
  shape[axis] = std::ssize(words);
  const std::vector<double> from = numbers(tensor);
  std::vector<double> to;
  to.reserve(static_cast<std::size_t>(outer * shape[axis] * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const Word& word : words) {
      for (std::int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (std::int64_t k = word.first; k < word.first + word.count; ++k) {
          sum += from[static_cast<std::size_t>((o * size + k) * inner + i)];
        }
        to.push_back(add ? sum : sum / static_cast<double>(word.count));
      }
    }
  }
  return Tensor::of(std::move(to), shape, tensor.dims());
}

}  // namespace

std::vector<Word> words_of(const std::vector<std::string>& pieces) {
  const Marks marks = marks_of(pieces);
  std::vector<Word> words;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string text = text_of(pieces[i], marks);
    if (begins_word(pieces, i, marks)) {
      words.push_back({text, static_cast<std::int64_t>(i), 1});
    } else {
      // A lone space (character pieces) only begins the word.
      words.back().text = words.back().text == kSpace ? text : words.back().text + text;
      ++words.back().count;
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
    const auto words = words_of(of.labels);
    merged.values = gather(merged.values, axis, words, is_key);
    of.labels.clear();
    for (const Word& word : words) of.labels.push_back(word.text);
    of.first = 0;
    merged.chosen.push_back(of.name + " in words");
  }
  return merged;
}

}  // namespace heed::draw
