#include <algorithm>
#include <sstream>

#include "cli/parser.h"

namespace heed::cli {
namespace {

constexpr std::size_t kPageWidth = 80;
constexpr std::size_t kHelpColumn = 30;

/// `text` with lines of at most `kPageWidth` columns, all but the first indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t column = indent;
  while (words >> word) {
    if (column > indent && column + 1 + word.size() > kPageWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

/// Wraps each line of `text` separately; a line that begins with spaces keeps them, with continuation lines
/// indented by two more.
std::string wrapped_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    out += std::string(indent, ' ') + wrapped(line, indent == 0 ? 0 : indent + 2) + "\n";
  }
  return out;
}

/// "-o|--output" as a pattern of a shell case.
std::string case_pattern(const CLI::Option& option) {
  std::string names = option_names(option), pattern;
  for (char c : names) {
    if (c == ',') c = '|';
    if (c != ' ') pattern += c;
  }
  return pattern;
}

}  // namespace

std::string option_names(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false);
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  return names;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const {
  std::string text = "Usage: " + app->get_name() + " [OPTION]...";
  auto positionals = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  for (const CLI::Option* option : positionals) text += " " + make_option_usage(option);
  text += "\n" + app->get_description() + "\n";
  if (!parser_.description.empty()) text += "\n" + wrapped_lines(parser_.description);
  if (!positionals.empty()) text += "\nArguments:\n";
  for (const CLI::Option* option : positionals) text += make_option(option, true);
  text += CLI::detail::find_and_replace(make_groups(app, mode), "\n\n\n", "\n\n");
  if (text.ends_with("\n\n")) text.pop_back();
  if (!parser_.examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : parser_.examples) text += "  " + example + "\n";
  return text;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool) const {
  std::string left = "  " + option_names(*option);
  if (option->get_type_size() != 0 && !option->get_type_name().empty()) left += " " + option->get_type_name();
  std::string right = option->get_description();
  if (!option->get_envname().empty()) right += " (environment: " + option->get_envname() + ")";
  if (!option->get_default_str().empty()) right += " [" + option->get_default_str() + "]";
  if (left.size() + 2 <= kHelpColumn) {
    left.resize(kHelpColumn, ' ');
  } else {
    left += "\n" + std::string(kHelpColumn, ' ');
  }
  return left + wrapped(right, kHelpColumn) + "\n";
}

std::string bash_completion(const Tool::Parser& parser) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::Option* option : parser.app.get_options()) {
    if (option->get_group().empty() || option->get_positional()) continue;
    std::string all = option_names(*option);
    std::erase(all, ',');
    names.push_back(all);
    if (option->get_items_expected_max() == 0) continue;  // a flag
    auto choices = parser.choices.find(option);
    bool listed = choices != parser.choices.end() && !choices->second.empty();
    std::string words =
        listed ? "COMPREPLY=($(compgen -W '" + joined(choices->second, " ") + "' -- \"$cur\")); " : "";
    cases += "    " + case_pattern(*option) + ") " + words + "return ;;\n";
  }
  const std::string& tool = parser.app.get_name();
  std::string function = "_heed_" + tool;
  std::ranges::replace(function, '-', '_');
  // bash splits "--format=h5" into three words; an empty COMPREPLY falls back to file names.
  return "# bash completion for " + tool + " (heed), generated from its options\n" + function +
         "() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then "
         "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  COMPREPLY=()\n"
         "  case $prev in\n" +
         cases +
         "  esac\n"
         "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '" +
         joined(names, " ") +
         "' -- \"$cur\")); fi\n"
         "}\n"
         "complete -o default -F " +
         function + " " + tool + "\n";
}

}  // namespace heed::cli
