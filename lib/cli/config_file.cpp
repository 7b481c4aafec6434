#include "cli/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/edit_distance.h"
#include "base/version.h"

namespace heed::cli {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

/// A file, as messages name it, and where in it something stands.
class Place {
 public:
  explicit Place(std::string file) : file_(std::move(file)) {}

  template <class... Args>
  [[noreturn]] void refuse(const toml::source_region& at, const Args&... why) const {
    fail<UsageError>(file_, ':', at.begin.line, ": ", why...);
  }

 private:
  std::string file_;
};

[[noreturn]] void refuse_section(const Place& place, const toml::key& section) {
  std::string near;
  for (const char* known : tools())
    if (edit_distance(std::string(section.str()), known) <= 2) near = known;
  place.refuse(section.source(), "section [", escaped(section.str()), "] does not name a tool",
               near.empty() ? ", wanted [decode] and the like" : "; did you mean [" + near + "]?");
}

/// toml++ calls itself for every level of a key, of which a line could have more than the stack holds.
void refuse_deep_keys(const std::string& text, const std::string& file) {
  constexpr std::ptrdiff_t most_levels = 1000;
  std::istringstream lines(text);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number)
    if (std::ranges::count(line, '.') > most_levels)
      fail<UsageError>(file, ':', number, ": more than ", most_levels, " dots, wanted KEY = VALUE or [TOOL]");
}

/// As it would be typed on the command line.
std::string word_of(const toml::node& value, const std::string& key, const Place& place) {
  if (const auto* const text = value.as_string()) return text->get();
  if (const auto* const number = value.as_integer()) return std::to_string(number->get());
  if (const auto* const flag = value.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* const number = value.as_floating_point()) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number->get()).ptr};
  }
  place.refuse(value.source(), key, ": wanted text, a number, true or false, or a list of them");
}

std::vector<std::string> words_of(const toml::node& value, const std::string& key, const Place& place) {
  const toml::array* const list = value.as_array();
  if (!list) return {word_of(value, key, place)};
  std::vector<std::string> words;
  for (const toml::node& each : *list) words.push_back(word_of(each, key, place));
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

std::vector<CLI::ConfigItem> ConfigReader::from_config(std::istream& file) const {
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostBytes)
    fail<UsageError>(parser_.config_file(), ": longer than ", kMostBytes, " bytes, wanted options");
  refuse_deep_keys(text, parser_.config_file());
  const Place place(parser_.config_file());
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    std::string_view what = error.description();
    if (constexpr std::string_view beginning = "Error while parsing "; what.starts_with(beginning))
      what.remove_prefix(beginning.size());
    place.refuse(error.source(), escaped(what, 200),
                 "; wanted TOML: KEY = VALUE, with \"\" around text, or [TOOL]");
  }

  std::vector<CLI::ConfigItem> items;
  const auto add = [&](const toml::key& at, const toml::node& value) {
    const std::string key = escaped(at.str());
    const CLI::Option* const option = parser_.app.get_option_no_throw("--" + std::string(at.str()));
    if (!option || !option->get_configurable()) {
      const std::string near = option ? "" : parser_.nearest_option("--" + std::string(at.str()));
      place.refuse(at.source(), option ? "not a key for a file: " : "unknown key ", key,
                   near.empty() ? "" : "; did you mean " + near.substr(2) + "?");
    }
    const bool is_flag = option->get_expected_min() == 0;
    if (is_flag && !value.is_boolean()) place.refuse(at.source(), key, ": wanted true or false");
    if (value.is_array() && option->get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll)
      place.refuse(at.source(), key, ": got a list, wanted one value");
    if (std::ranges::any_of(items, [&](const CLI::ConfigItem& item) { return item.name == at.str(); }))
      return;
    items.push_back({{}, std::string(at.str()), words_of(value, key, place)});
  };
  for (const auto& [section, keys] : table) {  // first, so that its values count
    if (keys.is_array_of_tables())
      place.refuse(section.source(), "a list of sections [[", escaped(section.str()),
                   "]], wanted one, [TOOL]");
    if (!keys.is_table()) continue;
    const bool is_own = section.str() == parser_.app.get_name();
    if (!is_own && std::ranges::count(tools(), section.str()) == 0) refuse_section(place, section);
    for (const auto& [key, value] : *keys.as_table()) {
      if (value.is_table())
        place.refuse(key.source(), "section ", escaped(key.str()), " within [", escaped(section.str()),
                     "], wanted keys");
      if (is_own) add(key, value);
    }
  }
  for (const auto& [key, value] : table)
    if (!value.is_table()) add(key, value);
  return items;
}

}  // namespace heed::cli
