#include "cli/tool.h"

#include <algorithm>

#include "base/error.h"
#include "cli/parser.h"
#include "cli/signals.h"

namespace heed::cli {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// Splits "-n,--n-best K" into names and metavariable.
std::pair<std::string, std::string> split_names(const std::string& text) {
  std::size_t space = text.find(' ');
  if (space == std::string::npos) return {text, ""};
  return {text.substr(0, space), text.substr(space + 1)};
}

/// The name by which messages call the option: the last, long one.
std::string display_name(const std::string& names) {
  return names.substr(names.rfind(',') == std::string::npos ? 0 : names.rfind(',') + 1);
}

void assign(const Tool::Value& value, const Rule& rule, const std::string& name,
            const std::vector<std::string>& words) {
  std::visit(Overloaded{[](bool*) {},
                        [&](std::int64_t* number) {
                          std::int64_t parsed = to_integer(name, words.back());
                          check(rule, name, words.back(), static_cast<double>(parsed));
                          *number = parsed;
                        },
                        [&](double* number) {
                          double parsed = to_real(name, words.back());
                          check(rule, name, words.back(), parsed);
                          *number = parsed;
                        },
                        [&](std::string* text) {
                          check(rule, name, words.back());
                          *text = words.back();
                        },
                        [&](std::vector<std::string>* list) {
                          for (const std::string& word : words) check(rule, name, word);
                          *list = words;
                        }},
             value);
}

std::string default_text(const Tool::Value& value) {
  return std::visit(
      Overloaded{[](bool*) { return std::string(); },
                 [](std::int64_t* number) { return std::to_string(*number); },
                 [](double* number) { return concat(*number); }, [](std::string* text) { return *text; },
                 [](std::vector<std::string>*) { return std::string(); }},
      value);
}

std::string default_metavar(const Tool::Value& value, const Rule& rule) {
  if (!rule.choices.empty()) return "WORD";
  constexpr const char* by_type[] = {"", "N", "X", "TEXT", "TEXT"};
  return by_type[value.index()];
}

std::string option_of_field(const std::string& field) {
  std::string name = "--" + field;
  std::ranges::replace(name, '_', '-');
  return name;
}

CLI::Option* add_positional(CLI::App& app, const std::string& name, std::string& value,
                            const std::string& help) {
  return app.add_option(name, value, help)->type_name("")->configurable(false);
}

/// A flag with a --no- form if `negatable`.
void add_flag(CLI::App& app, std::string names, bool& flag, bool negatable, const std::string& help) {
  if (negatable) names += ",!--no-" + display_name(names).substr(2);
  auto store = [&flag](std::int64_t count) { flag = count > 0; };
  app.add_flag_function(names, store, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void Tool::add_option(const std::string& text, Value value, const std::string& help, Rule rule,
                      Defaults defaults) {
  auto [names, metavar] = split_names(text);
  std::string name = display_name(names);
  if (bool** flag = std::get_if<bool*>(&value)) {
    add_flag(parser_.app, names, **flag, **flag || defaults == Defaults::elsewhere, help);
    if (**flag && defaults == Defaults::shown) parser_.app.get_option(name)->default_str("true");
    return;
  }
  std::string details = help;
  if (!rule.choices.empty()) details += ": " + alternatives(rule.choices);
  if (!rule.range.unlimited()) details += " (" + to_string(rule.range) + ")";
  CLI::callback_t store = [value, rule, name, &parser = parser_](const CLI::results_t& words) {
    assign(value, rule, parser.source_of(name), words);
    return true;
  };
  CLI::Option* option = parser_.app.add_option(names, store, details);
  option->type_name(metavar.empty() ? default_metavar(value, rule) : metavar)
      ->default_str(defaults == Defaults::shown ? default_text(value) : "");
  if (std::holds_alternative<std::vector<std::string>*>(value)) {
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  parser_.choices[option] = rule.choices;
}

void Tool::list(const std::string& text, std::vector<std::string>& values, const std::string& help) {
  add_option(text, &values, help, {});
  CLI::Option* option = parser_.app.get_option(display_name(split_names(text).first));
  option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
}

void Tool::tensors(io::WriteOptions& write) {
  parser_.write = &write;
  parser_.app
      .add_flag_function(
          "--no-scales", [&write](std::int64_t count) { write.scales = count == 0; },
          "do not attach dimension scales: PyTables and ViTables cannot open files that have them, xarray "
          "needs them")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Tool::keep(std::string& path) {
  option("--keep FILE", path,
         "also write the tensors that pass through to this file, as one complete HDF5 file");
}

void Tool::heading(const std::string& text) {
  parser_.app.option_defaults()->group(text);
}

void Tool::bind_fields(const std::vector<Field>& fields, Defaults defaults) {
  for (const Field& field : fields) {
    if (!parser_.bound.insert(field.name).second) continue;
    Rule rule = field.choices.empty() ? Rule{field.range} : one_of(field.choices);
    std::visit(
        [&](auto* value) {
          add_option(option_of_field(field.name), Value(value), field.help, rule, defaults);
        },
        field.value);
  }
}

bool Tool::given(const std::string& name) const {
  std::string option = option_of_field(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  const CLI::Option* found = parser_.app.get_option_no_throw(option);
  return found && found->count() > 0;
}

void Tool::allow_only(const std::string& with, std::initializer_list<const char*> others) const {
  for (const CLI::Option* option : parser_.app.get_options()) {
    if (option->count() == 0 || option->get_positional() || option->get_group() == kCommonOptions) continue;
    const std::string name = "--" + option->get_single_name();
    if (name != with && std::ranges::find(others, name) == others.end())
      fail<UsageError>(name, " does not apply to ", with);
  }
}

void Tool::input(std::string& path, const std::string& help, std::vector<std::string> not_read_with) {
  if (path.empty()) path = "-";
  parser_.reads_stdin = [&path] { return path == "-"; };
  parser_.input_not_read_with = std::move(not_read_with);
  add_positional(parser_.app, "INPUT", path, help + "; - is stdin")->default_str(path);
}

void Tool::inputs(std::vector<std::string>& paths, const std::string& help,
                  std::vector<std::string> not_read_with) {
  if (paths.empty()) paths = {"-"};
  parser_.reads_stdin = [&paths] { return std::ranges::count(paths, "-") > 0; };
  parser_.input_not_read_with = std::move(not_read_with);
  parser_.app
      .add_option("INPUT", paths, help + "; - is stdin. Several files are read as one input, in order")
      ->type_name("")
      ->configurable(false)
      ->default_str("-")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Tool::argument(const std::string& name, std::string& value, const std::string& help, Need need) {
  add_positional(parser_.app, name, value, help)->required(need == Need::required);
}

void Tool::output(std::string& path, const std::string& help) {
  if (path.empty()) path = "-";
  option("-o,--output FILE", path, help);
}

void Tool::model(std::string& path, Need need) {
  option("-m,--model FILE", path, "the model");
  parser_.app.get_option("--model")->envname("HEED_MODEL");
  if (need == Need::required) parser_.lacks_model = [&path] { return path.empty(); };
}

void Tool::models(std::vector<std::string>& paths, const std::string& help) {
  option("-m,--model FILE", paths, help);
  parser_.app.get_option("--model")->envname("HEED_MODEL");
  parser_.lacks_model = [&paths] { return paths.empty() || paths.front().empty(); };
}

void Tool::example(const std::string& command) {
  parser_.examples.push_back(command);
}

void Tool::describe(const std::string& text) {
  parser_.description = text;
}

void Tool::on_run(std::function<void()> work) {
  parser_.work = std::move(work);
}

const Common& Tool::common() const {
  return parser_.common;
}

void Tool::place(std::initializer_list<const char*> options) {
  parser_.places.insert(options.begin(), options.end());
}

void Tool::writes(std::initializer_list<const char*> options) {
  parser_.written.insert(options.begin(), options.end());
}

void Tool::addresses(std::initializer_list<const char*> options) {
  parser_.addresses.insert(options.begin(), options.end());
}

void Tool::joined(std::initializer_list<const char*> options) {
  for (const char* name : options)
    parser_.app.get_option(concat("--", name))
        ->multi_option_policy(CLI::MultiOptionPolicy::Join)
        ->delimiter(',');
}

void Tool::beside_input(std::initializer_list<const char*> options) {
  parser_.beside_input.insert(options.begin(), options.end());
}

namespace {

bool starts_with_dash(const std::string& word) {
  return word.starts_with('-');
}

}  // namespace

std::string Tool::result_command(const std::vector<std::string>& others) const {
  std::vector<std::string> words{parser_.app.get_name()};
  for (const CLI::Option* option : parser_.app.get_options()) {
    const std::string name = option->get_single_name();
    if (option->count() == 0 || option->get_positional()) continue;
    if (parser_.places.contains(name) || parser_.written.contains(name)) continue;
    if (std::ranges::count(others, name) > 0) continue;
    if (option->get_group() == kCommonOptions && name != "seed") continue;
    const bool only_last = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast;
    // Where the model was; which it was, its digest says, but of one only.
    if (name == "model" && (only_last || option->results().size() == 1)) continue;
    if (option->get_allow_extra_args() &&
        std::ranges::none_of(option->results(), starts_with_dash)) {  // --train a b
      words.push_back("--" + name);
      words.insert(words.end(), option->results().begin(), option->results().end());
      continue;
    }
    for (const std::string& value : option->results()) {
      if (only_last && &value != &option->results().back()) continue;
      if (option->get_expected_max() == 0) {  // a flag
        const bool negated = value == "false";
        if (!negated || option->check_lname("no-" + name)) words.push_back((negated ? "--no-" : "--") + name);
      } else if (parser_.beside_input.contains(name) &&
                 !(name == "force" && value == "input")) {  // that word is no file
        words.insert(words.end(), {"--" + name, "FILE"});
      } else if (starts_with_dash(value)) {
        words.push_back("--" + name + "=" + value);
      } else {
        words.insert(words.end(), {"--" + name, value});
      }
    }
  }
  return shell_quoted(words);
}

std::atomic<bool>& Tool::stop_flag() {
  return request_stop_flag();
}

}  // namespace heed::cli
