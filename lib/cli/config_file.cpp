#include "cli/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/edit_distance.h"
#include "base/utf8.h"
#include "base/version.h"

namespace heed::cli {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

/// The text of --config, and its name for messages.
struct ConfigText {
  std::string name, text;

  template <class... Args>
  [[noreturn]] void refuse(std::int64_t line, const Args&... why) const {
    fail<UsageError>(name, ':', line, ": ", why...);
  }
  template <class... Args>
  [[noreturn]] void refuse(const toml::source_region& at, const Args&... why) const {
    refuse(std::int64_t{at.begin.line}, why...);
  }

  /// A line that there is, counted from 1.
  std::string_view line(std::size_t number) const {
    std::string_view rest = text;
    for (; number > 1; --number) rest.remove_prefix(rest.find('\n') + 1);
    return rest.substr(0, rest.find('\n'));
  }
};

[[noreturn]] void refuse_section(const ConfigText& file, const toml::key& section) {
  std::string near;
  for (const char* known : tools())
    if (edit_distance(std::string(section.str()), known) <= 2) near = known;
  file.refuse(section.source(), "section [", escaped(section.str()), "] does not name a tool",
              near.empty() ? ", wanted [decode] and the like" : "; did you mean [" + near + "]?");
}

/// toml++ calls itself for every level of a key, of which a line could have more than the stack holds.
void refuse_deep_keys(const ConfigText& file) {
  constexpr std::ptrdiff_t most_levels = 1000;
  std::istringstream lines(file.text);
  std::int64_t number = 1;
  for (std::string line; std::getline(lines, line); ++number)
    if (std::ranges::count(line, '.') > most_levels)
      file.refuse(number, "more than ", most_levels, " dots, wanted KEY = VALUE or [TOOL]");
}

/// A number as it stands in the file, so that equal commands are recorded, however they were given.
std::string as_written(const toml::node& number, const ConfigText& file) {
  const toml::source_region& at = number.source();
  std::string_view line = file.line(at.begin.line);
  for (auto column = at.begin.column; column > 1; --column) line.remove_prefix(utf8_length(line));
  std::string word(line.substr(0, at.end.column - at.begin.column));  // digits are one byte each
  std::erase(word, '_');
  return word;
}

/// As it would be typed on the command line.
std::string word_of(const toml::node& value, const std::string& key, const ConfigText& file) {
  if (const auto* const text = value.as_string()) return text->get();
  if (const auto* const number = value.as_integer()) return std::to_string(number->get());
  if (const auto* const flag = value.as_boolean()) return flag->get() ? "true" : "false";
  if (value.is_floating_point()) return as_written(value, file);
  file.refuse(value.source(), key, ": wanted text, a number, true or false, or a list of them");
}

std::vector<std::string> words_of(const toml::node& value, const std::string& key, const ConfigText& file) {
  const toml::array* const list = value.as_array();
  if (!list) return {word_of(value, key, file)};
  if (list->empty()) file.refuse(value.source(), key, ": got an empty list, wanted one value or more");
  std::vector<std::string> words;
  for (const toml::node& each : *list) words.push_back(word_of(each, key, file));
  return words;
}

}  // namespace

void check_config_file(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::character || type == std::filesystem::file_type::block)
    fail<UsageError>("--config: ", escaped(path), ": is a device, wanted a file or a pipe");
  if (type == std::filesystem::file_type::directory)
    fail<UsageError>("--config: ", escaped(path), ": is a folder, wanted a file or a pipe");
}

std::vector<CLI::ConfigItem> ConfigReader::from_config(std::istream& stream) const {
  ConfigText file{parser_.config_file(), std::string(kMostBytes + 1, '\0')};
  stream.read(file.text.data(), static_cast<std::streamsize>(file.text.size()));
  file.text.resize(static_cast<std::size_t>(stream.gcount()));
  if (file.text.size() > kMostBytes)
    fail<UsageError>(file.name, ": longer than ", kMostBytes, " bytes, wanted options");
  refuse_deep_keys(file);
  toml::table table;
  try {
    table = toml::parse(file.text);
  } catch (const toml::parse_error& error) {
    std::string_view what = error.description();
    if (constexpr std::string_view beginning = "Error while parsing "; what.starts_with(beginning))
      what.remove_prefix(beginning.size());
    file.refuse(error.source(), escaped(what, 200),
                "; wanted TOML: KEY = VALUE, with \"\" around text, or [TOOL]");
  }

  std::vector<CLI::ConfigItem> items;
  const auto add = [&](const toml::key& at, const toml::node& value) {
    const std::string key = escaped(at.str()),
                      typed = (at.str().size() == 1 ? "-" : "--") + std::string(at.str());
    const CLI::Option* const option = parser_.app.get_option_no_throw(typed);
    if (!option || !option->get_configurable()) {
      const std::string near = option ? "" : parser_.nearest_option("--" + std::string(at.str()));
      file.refuse(at.source(), option ? "not a key for a file: " : "unknown key ", key,
                  near.empty() ? "" : "; did you mean " + near.substr(2) + "?");
    }
    const bool is_flag = option->get_expected_min() == 0;
    if (is_flag && !value.is_boolean()) file.refuse(at.source(), key, ": wanted true or false");
    if (value.is_array() && option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast)
      file.refuse(at.source(), key, ": got a list, wanted one value");
    if (std::ranges::any_of(items, [&](const CLI::ConfigItem& item) { return item.name == at.str(); }))
      return;
    items.push_back({{}, std::string(at.str()), words_of(value, key, file)});
  };
  for (const auto& [section, keys] : table) {  // first, so that its values count
    if (keys.is_array_of_tables())
      file.refuse(section.source(), "a list of sections [[", escaped(section.str()),
                  "]], wanted one, [TOOL]");
    if (!keys.is_table()) continue;
    const bool is_own = section.str() == parser_.app.get_name();
    if (!is_own && std::ranges::count(tools(), section.str()) == 0) refuse_section(file, section);
    for (const auto& [key, value] : *keys.as_table()) {
      if (value.is_table())
        file.refuse(key.source(), "section ", escaped(key.str()), " within [", escaped(section.str()),
                    "], wanted keys");
      if (is_own) add(key, value);
    }
  }
  for (const auto& [key, value] : table)
    if (!value.is_table()) add(key, value);
  return items;
}

}  // namespace heed::cli
