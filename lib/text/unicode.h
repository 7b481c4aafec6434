// UTF-8 and properties of Unicode characters. Text is a std::string of UTF-8 everywhere; a character is
// a code point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

/// Byte offset of the first byte that is not part of well-formed UTF-8 (overlong forms and surrogates are
/// not), or npos.
std::size_t find_invalid_utf8(std::string_view bytes);

/// `bytes` with U+FFFD in place of every byte that is not part of well-formed UTF-8.
std::string replace_invalid_utf8(std::string_view bytes);

/// Canonical composition (NFC) of valid UTF-8.
std::string nfc(const std::string& text);
/// Canonical decomposition (NFD) of it.
std::string nfd(const std::string& text);

/// The characters of valid UTF-8, as views into `text`.
std::vector<std::string_view> characters(std::string_view text);

/// The grapheme clusters of valid UTF-8, what a reader takes for one character (UAX 29), as views into
/// `text`.
std::vector<std::string_view> graphemes(std::string_view text);

/// The code point of one character as `characters` returns it.
char32_t code_point(std::string_view character);

/// The general category's first letter: L, M, N, P, S, Z or C.
char category(char32_t c);

/// White space as in Python's str.split() and str.isspace(), which includes NBSP and the typographic spaces.
bool is_space(char32_t c);

/// Unicode's property White_Space, which lacks U+001C to U+001F.
bool is_white_space(char32_t c);

/// Valid UTF-8 up to the last character that is no white space in the sense of is_white_space.
std::string_view without_white_space_at_end(std::string_view text);

/// The words of `text` between white space in the sense of is_space, as views.
std::vector<std::string_view> split_white_space(std::string_view text);

/// The words of `text` between ASCII blanks of `separators`, as views. No word is empty.
std::vector<std::string_view> split_any(std::string_view text, std::string_view separators);

/// `text` with every `from` replaced by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

/// `text` with U+FFFD for NUL, which a byte piece may stand for and HDF5's strings cannot hold.
std::string without_nul(std::string_view text);
/// `text` as one line of a text: without NUL, and with spaces for line breaks.
std::string one_line(std::string_view text);

/// Lower case with the two special rules of Unicode that are not per character (as Python's str.lower()):
/// capital I with a dot becomes two characters, a capital sigma at the end of a word becomes the final one.
std::string to_lower(std::string_view text);

}  // namespace heed::text
