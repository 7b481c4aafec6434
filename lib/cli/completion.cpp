#include <algorithm>

#include "cli/parser.h"

namespace heed::cli {
namespace {

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
