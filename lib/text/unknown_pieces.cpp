#include "text/unknown_pieces.h"

#include <algorithm>

#include "base/error.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

/// Punctuation as words of its own, an apostrophe at the end of what it shortens: a rough tokenization, which
/// tells whether a finer one would help.
std::string with_blanks(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (std::string_view(".,;:!?()\"").find(c) != std::string_view::npos) {
      ((text += ' ') += c) += ' ';
    } else {
      text += c;
      if (c == '\'') text += ' ';
    }
  }
  return text;
}

}  // namespace

std::int64_t UnknownPieces::count_unknown(std::span<const std::int32_t> ids) const {
  return std::ranges::count(ids, tokenizer_->special().unk);
}

void UnknownPieces::add(const std::string& line, std::span<const std::int32_t> ids) {
  const SpecialIds& special = tokenizer_->special();
  pieces_ += std::ranges::count_if(ids, [&](auto id) { return id != special.cls && id != special.eos; });
  const std::int64_t unknown = count_unknown(ids);
  unknown_ += unknown;
  if (unknown == 0 || lines_ == kTriedLines) return;
  ++lines_;
  as_given_ += unknown;
  lower_cased_ += count_unknown(tokenizer_->encode(to_lower(line)));
  tokenized_ += count_unknown(tokenizer_->encode(with_blanks(line)));
}

std::string UnknownPieces::complaint() const {
  if (unknown_ * 10 <= pieces_) return {};
  const std::string count = concat(unknown_, " of ", pieces_, " pieces unknown: ");
  const auto guess = [&](const char* text, const char* change, std::int64_t left) {
    return concat(count, "was the vocabulary learned from ", text, " text? ", change, ", ", left, " of ",
                  as_given_, " would be");
  };
  if (std::min(lower_cased_, tokenized_) == as_given_) return count + "is the text in another language?";
  return lower_cased_ <= tokenized_
             ? guess("lower-cased", "Lower-cased", lower_cased_)
             : guess("tokenized (--pretokenized)", "With punctuation apart", tokenized_);
}

}  // namespace heed::text
