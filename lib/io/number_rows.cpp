#include "io/number_rows.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/number.h"
#include "io/superblock.h"

namespace heed::io {
namespace {

constexpr std::string_view kSpaces = " \t\r", kMark = "\xEF\xBB\xBF";

std::string_view without_mark(std::span<const std::byte> bytes) {
  std::string_view text = text_of(bytes);
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

/// Removes the text up to and including `stop` and returns the part before `stop`.
std::string_view take_until(std::string_view& text, char stop) {
  const std::size_t end = std::min(text.find(stop), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

/// The fields of a line: between commas or, if there are none, tabs, where one may be empty; else between spaces.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (const char separator : {',', '\t'}) {
    if (line.find(separator) == std::string_view::npos) continue;
    for (bool more = true; more;) {
      more = line.find(separator) != std::string_view::npos;
      fields.push_back(trimmed(take_until(line, separator)));
    }
    return fields;
  }
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(kSpaces), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return fields;
}

}  // namespace

bool begins_number_rows(std::span<const std::byte> head) {
  std::string_view text = without_mark(head);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return !text.empty();
  text.remove_prefix(first);
  if (text.front() == '#') return true;
  const std::string_view number = text.substr(0, std::min(text.find_first_of(", \t\r\n"), text.size()));
  double value = 0;
  const bool is_word = number.find_first_of("0123456789") == std::string_view::npos;  // "inf", "nan"
  return !is_word && parse(without_plus(number), value);
}

Tensor parse_number_rows(std::span<const std::byte> bytes, const std::string& name) {
  std::vector<double> values;
  std::int64_t rows = 0, line_number = 0;
  std::size_t columns = 0;
  for (std::string_view text = without_mark(bytes); !text.empty();) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    ++line_number;
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> fields = fields_of(line);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!parse(without_plus(fields[i]), values.emplace_back()))
        fail(name, ":", line_number, ": field ", i + 1, " is '", escaped(std::string(fields[i]), 40),
             "', not a number: wanted rows of numbers separated by tabs, spaces or commas, or tensors in "
             "HDF5");
    }
    if (++rows == 1) columns = fields.size();
    if (fields.size() != columns)
      fail(name, ":", line_number, ": ", count_of(std::ssize(fields), "number"), ", wanted ", columns,
           " as in the first row");
  }
  if (rows == 0) fail(name, ": no numbers: did the command that should write them fail?");
  return Tensor::of<double>(std::move(values), {rows, static_cast<std::int64_t>(columns)});
}

}  // namespace heed::io
