#include <cctype>
#include <cstdio>
#include <string_view>

#include "base/error.h"
#include "cli/tool.h"

namespace heed::cli {
namespace {

bool is_plain(std::string_view word) {
  for (unsigned char c : word) {
    if (!std::isalnum(c) &&
        std::string_view("_@%+=:,./-").find(static_cast<char>(c)) == std::string_view::npos)
      return false;
  }
  return !word.empty();
}

std::string quoted(const std::string& word) {
  if (is_plain(word)) return word;
  bool printable = escaped(word, std::string::npos) == word;
  std::string out = printable ? "'" : "$'";
  for (unsigned char c : word) {
    if (c == '\'') {
      out += printable ? "'\\''" : "\\'";
    } else if (!printable && (c < 0x20 || c >= 0x7f || c == '\\')) {
      char code[8];
      std::snprintf(code, sizeof code, "\\%03o", c);  // octal, because hex would swallow a digit that follows
      out += code;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "'";
}

}  // namespace

std::string shell_quoted(const std::vector<std::string>& words) {
  std::vector<std::string> list;
  for (const std::string& word : words) list.push_back(quoted(word));
  return joined(list, " ");
}

}  // namespace heed::cli
