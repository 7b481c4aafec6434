#include "cli/parser.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/choice.h"
#include "base/edit_distance.h"
#include "base/parallel.h"
#include "base/paths.h"
#include "base/version.h"

namespace heed::cli {
namespace {

const std::vector<std::string> kWhen{"auto", "always", "never"};  // as logging::When

/// What other programs call an option; of several meanings the tool's own is taken.
constexpr std::pair<std::string_view, const char*> kSynonyms[] = {{"--alpha", "--length-penalty"},
                                                                  {"--amp", "--precision bfloat16"},
                                                                  {"--arch", "--preset"},
                                                                  {"--architecture", "--preset"},
                                                                  {"--batch-size", "--batch-tokens"},
                                                                  {"--batch-size", "--batch"},
                                                                  {"--beam-size", "--beam"},
                                                                  {"--beam-width", "--beam"},
                                                                  {"--beams", "--beam"},
                                                                  {"--bf16", "--precision bfloat16"},
                                                                  {"--bf16", "--dtype bf16"},
                                                                  {"--causal", "--mask causal"},
                                                                  {"--compute-type", "--precision"},
                                                                  {"--confidence", "--bootstrap 1000"},
                                                                  {"--dropout-rate", "--dropout"},
                                                                  {"--dtype", "--precision"},
                                                                  {"--epochs", "--max-epochs"},
                                                                  {"--format", "--output"},
                                                                  {"--fp16", "--precision bfloat16"},
                                                                  {"--fp16", "--dtype f16"},
                                                                  {"--greedy", "--beam 1"},
                                                                  {"--heads", "--n-heads"},
                                                                  {"--hidden", "--d-model"},
                                                                  {"--hidden-size", "--d-model"},
                                                                  {"--import-spm", "--import-vocab"},
                                                                  {"--int8", "--precision int8"},
                                                                  {"--jobs", "--threads"},
                                                                  {"--lc", "--lowercase"},
                                                                  {"--lr", "--learning-rate"},
                                                                  {"--max-len", "--max-length"},
                                                                  {"--max-new-tokens", "--max-length"},
                                                                  {"--max-steps", "--max-updates"},
                                                                  {"--mixed-precision", "--precision"},
                                                                  {"--model", "--preset"},
                                                                  {"--model-type", "--type"},
                                                                  {"--nbest", "--n-best"},
                                                                  {"--num-beams", "--beam"},
                                                                  {"--num-heads", "--heads"},
                                                                  {"--num-heads", "--n-heads"},
                                                                  {"--num-layers", "--n-encoder-layers"},
                                                                  {"--out", "--output"},
                                                                  {"--output-dir", "--output"},
                                                                  {"--output-file", "--output"},
                                                                  {"--paired-bs", "--bootstrap 1000"},
                                                                  {"--past", "--past-key"},
                                                                  {"--resume-from", "--resume"},
                                                                  {"--rope", "--positions rotary"},
                                                                  {"--rope", "--rotary"},
                                                                  {"--save-dir", "--output"},
                                                                  {"--sentence", "--sentence-level"},
                                                                  {"--src", "--source"},
                                                                  {"--steps", "--max-updates"},
                                                                  {"--tgt", "--target"},
                                                                  {"--tok", "--tokenize"},
                                                                  {"--train", "--source"},
                                                                  {"--updates", "--max-updates"},
                                                                  {"--valid-freq", "--validate-every"},
                                                                  {"--vocab-size", "--vocab"},
                                                                  {"--warmup-steps", "--warmup"},
                                                                  {"--workers", "--threads"}};
constexpr std::string_view kInput[] = {"-i", "--in", "--input"};
constexpr std::string_view kGpu[] = {"--gpu", "--gpus", "--cuda", "--device", "--devices"};

/// Whether --precision is meant, by whatever name.
bool is_precision(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name == "--precision" || std::ranges::any_of(kSynonyms, [&](const auto& synonym) {
           return synonym.first == name && std::string_view(synonym.second).starts_with("--precision");
         });
}

/// Not --config, in which - is a file of that name.
bool names_file(const CLI::Option& option) {
  constexpr std::string_view kFiles[] = {"FILE",  "CORPUS",  "MODEL",        "GOLD",
                                         "TRUTH", "PICTURE", "SOURCE TARGET"};
  return option.get_positional() || (option.get_group() != kCommonOptions &&
                                     std::ranges::find(kFiles, option.get_type_name()) != std::end(kFiles));
}

/// As messages call it: "INPUT", "--model".
std::string shown_name(const CLI::Option& option) {
  return (option.get_positional() ? "" : "--") + option.get_single_name();
}

bool is_stdin(const std::string& file) {
  return file == "-" || file == "/dev/stdin" || file == "/dev/fd/0";
}

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

namespace {

[[noreturn]] void refuse_section(const std::string& file, const std::string& section) {
  std::string near;
  for (const char* known : tools())
    if (edit_distance(section, known) <= 2) near = known;
  fail<UsageError>(file, ": section [", escaped(section), "] does not name a tool",
                   near.empty() ? ", wanted [decode] and the like" : "; did you mean [" + near + "]?");
}

/// The tool in whose section a key is; "": none.
std::string section_of(const CLI::ConfigItem& item, const std::string& tool, const std::string& file) {
  if (item.parents.empty()) return "";
  const std::string section = joined(item.parents, ".");
  if (section != tool && std::ranges::count(tools(), section) == 0) refuse_section(file, section);
  return section;
}

/// CLI11 takes any line for a key. For nested sections it stores each level with all above it, and it ignores
/// deeply nested keys.
void check_lines(const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  bool in_list = false;
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    CLI::detail::trim(line);
    if (std::exchange(in_list, in_list && !line.ends_with(']'))) continue;
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    const bool is_section = line.starts_with('[') && line.ends_with(']');
    const std::size_t equals = line.find('=');
    if (!is_section && (equals == std::string::npos || line.starts_with('[')))
      fail<UsageError>(file, ':', number, ": \"", escaped(line), "\", wanted KEY = VALUE or [TOOL]");
    const std::string name = is_section ? line.substr(1, line.size() - 2) : line.substr(0, equals);
    if (const auto levels = std::ranges::count(name, '.'); levels > (is_section ? 0 : 100))
      refuse_section(file, name);
    const std::string value = CLI::detail::trim_copy(line.substr(std::min(equals, line.size() - 1) + 1));
    in_list = !is_section && value.starts_with('[') && value.find(']') == std::string::npos;
  }
}

constexpr std::size_t kMostConfigBytes = 1 << 20;

/// A device may never end.
void check_config_file(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::character || type == std::filesystem::file_type::block)
    fail<UsageError>("--config: ", escaped(path), ": is a device, wanted a file or a pipe");
  if (type == std::filesystem::file_type::directory)
    fail<UsageError>("--config: ", escaped(path), ": is a folder, wanted a file or a pipe");
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigReader::from_config(std::istream& file) const {
  std::string text(kMostConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostConfigBytes)
    fail<UsageError>(file_(), ": longer than ", kMostConfigBytes, " bytes, wanted options");
  check_lines(text, file_());
  std::istringstream lines(text);
  std::vector<CLI::ConfigItem> own, common;
  for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(lines)) {
    const std::string section = section_of(item, tool_, file_());
    const bool is_mark = item.name == "++" || item.name == "--";  // where a section begins and ends
    if (is_mark || !(section.empty() || section == tool_)) continue;
    item.parents.clear();
    (section.empty() ? common : own).push_back(std::move(item));
  }
  own.insert(own.end(), common.begin(), common.end());  // of two values the first counts
  return own;
}

Tool::Parser::Parser(const std::string& name, const std::string& purpose, std::vector<std::string> w)
    : app(purpose, name), words(std::move(w)) {
  app.formatter(std::make_shared<HelpFormatter>(*this));
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Tool::Parser::add_common_options() {
  common.threads = usable_cores();
  app.set_help_flag("-h,--help", "show this help and exit")->group(kCommonOptions);
  app.set_version_flag("--version", app.get_name() + " (heed) " + version(), "show the version and exit")
      ->group(kCommonOptions);
  app.add_flag_callback("--print-completion", [] { throw PrintCompletion(); })
      ->group("")
      ->configurable(false);
  app.set_config("--config", "",
                 "read options from a TOML file, such as beam = 5; one file may serve a pipeline, with a "
                 "section for each tool: [decode]")
      ->group(kCommonOptions)
      ->type_name("FILE")
      ->each(check_config_file);
  app.config_formatter(std::make_shared<ConfigReader>(app.get_name(), [this] { return config_file(); }));
  app.allow_config_extras(CLI::config_extras_mode::error);

  Tool tool(*this);
  app.option_defaults()->group(kCommonOptions);
  tool.option("--threads N", common.threads, "threads to use (default: all cores)", between(1, 4096));
  app.get_option("--threads")->envname("HEED_THREADS")->default_str("");  // help must not vary by machine
  tool.option("--seed N", common.seed, "seed of every random choice", at_least(0));
  tool.option("-q,--quiet", common.quiet, "only warnings and errors on stderr");
  tool.option("-v,--verbose", common.verbose, "more messages on stderr");
  app.get_option("--quiet")->excludes("--verbose");
  tool.option("--progress WHEN", progress, "show progress", one_of(kWhen));
}

std::string Tool::Parser::config_file() const {
  const CLI::Option* const option = app.get_config_ptr();
  return "--config" + (option && option->count() > 0 ? ": " + escaped(option->results().back()) : "");
}

std::string Tool::Parser::source_of(const std::string& name) const {
  const CLI::Option& option = *app.get_option(name);
  const CLI::Option* const config = app.get_config_ptr();
  for (auto word = words.begin() + 1; word != words.end() && *word != "--"; ++word) {
    const auto is_long = [&](const std::string& each) {
      return *word == "--" + each || word->starts_with("--" + each + "=");
    };
    const auto is_short = [&](const std::string& each) { return word->starts_with("-" + each); };
    if (std::ranges::any_of(option.get_lnames(), is_long) ||
        std::ranges::any_of(option.get_snames(), is_short))
      return name;
  }
  const std::string variable = option.get_envname();
  const char* const value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  if (value && option.results().back() == value) return variable;
  if (!config || config->count() == 0) return name;
  return concat(config_file(), ": ", name.substr(name.find_first_not_of('-')));
}

void Tool::Parser::parse() {
  add_common_options();  // last, so that --help shows the tool's own options first
  std::vector<std::string> reversed(words.rbegin(), words.rend() - 1);  // the order CLI11 wants
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::CallForVersion&) {
    throw;
  } catch (const CLI::ParseError& error) {
    explain(error);
  } catch (const std::invalid_argument&) {
    // Of the conversion of a flag, which on the command line has no value.
    fail<UsageError>(config_file(), ": a flag's value is neither true nor false");
  }
  common.progress = chosen<logging::When>("--progress", kWhen, progress);
  if (lacks_model && lacks_model()) {
    fail<UsageError>("no model: give -m FILE or set HEED_MODEL");
  }
  refuse_unread_input();
  refuse_shared_stdin();
  refuse_replaced_input();
}

bool Tool::Parser::reads_input() {
  return reads_stdin && std::ranges::none_of(input_not_read_with, [&](const std::string& option) {
           return Tool(*this).given(option);
         });
}

void Tool::Parser::refuse_unread_input() {
  if (input_not_read_with.empty()) return;
  const std::vector<std::string>& given = app.get_option("INPUT")->results();
  const auto named = std::ranges::find_if(given, [](const std::string& path) { return path != "-"; });
  if (named == given.end()) return;
  for (const std::string& option : input_not_read_with)
    if (Tool(*this).given(option))
      fail<UsageError>("INPUT ", escaped(*named), " cannot be combined with ", option, ", which reads none");
}

/// The second of two readers would find nothing, or they would take turns at its buffers.
void Tool::Parser::refuse_shared_stdin() {
  std::vector<std::string> readers;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    const bool is_input = name == "INPUT";
    if (is_input ? !reads_input() : written.contains(name) || !names_file(*option)) continue;
    std::vector<std::string> files = option->reduced_results();  // of a repeated option the last
    if (is_input && files.empty() && reads_stdin()) files = {"-"};
    readers.insert(readers.end(), static_cast<std::size_t>(std::ranges::count_if(files, is_stdin)),
                   shown_name(*option));
  }
  if (readers.size() > 1)
    fail<UsageError>(heed::joined(readers, " and "), ": only one file can be the standard input");
}

/// A model, or another file that an option names, would be lost if the output went to it. INPUT may be replaced by what is
/// made of it.
void Tool::Parser::refuse_replaced_input() {
  if (Tool(*this).given("overwrite")) return;
  const auto is_read = [&](const CLI::Option& option) {
    const std::string name = option.get_single_name();
    if (name == "INPUT" || written.contains(name) || !names_file(option)) return false;
    // HEED_MODEL names a model also for a command that reads none, such as tokenize --train.
    return !(name == "model" && reads_stdin && !reads_input());
  };
  const auto refuse = [&](const CLI::Option& to, const std::string& output) {
    for (const CLI::Option* from : app.get_options())
      if (is_read(*from) && std::ranges::any_of(from->results(), [&](const std::string& input) {
            return same_place(output, input);
          }))
        fail<UsageError>(shown_name(to), " and ", shown_name(*from), " name the same file, ", escaped(output),
                         ": what is read would be replaced");
  };
  for (const CLI::Option* to : app.get_options()) {
    if (!written.contains(to->get_single_name())) continue;
    for (const std::string& output : to->reduced_results())
      if (std::filesystem::is_regular_file(output)) refuse(*to, output);
  }
}

// A misspelt option is a better explanation than the error that CLI11 reports after it.
void Tool::Parser::explain(const CLI::ParseError& error) const {
  for (const std::string& word : app.remaining()) {
    if (word.size() < 2 || word[0] != '-' || word == "--") continue;
    std::string name = word.substr(0, word.find('='));
    if (std::ranges::find(kGpu, name) != std::end(kGpu))
      fail<UsageError>("unknown option ", name, ": heed runs on CPUs; --threads N says on how many cores");
    if (app.get_name() == "embed" && is_precision(name))
      fail<UsageError>("unknown option ", name,
                       ": embed computes in float32; encode, decode and train have --precision");
    if (reads_stdin && std::ranges::find(kInput, name) != std::end(kInput))
      fail<UsageError>("unknown option ", name, ": the input is an argument: ", app.get_name(), " FILE");
    std::string near = nearest_option(name);
    fail<UsageError>("unknown option ", escaped(name), near.empty() ? "" : "; did you mean " + near + "?",
                     " (see ", app.get_name(), " --help)");
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    fail<UsageError>("unexpected argument '", escaped(app.remaining().front()), "' (see ", app.get_name(),
                     " --help)");
  }
  if (dynamic_cast<const CLI::ConfigError*>(&error)) {
    constexpr std::string_view unknown = "INI was not able to parse ";
    const std::string what = error.what();
    if (!what.starts_with(unknown)) fail<UsageError>(config_file(), ": ", escaped(what, 200));
    const std::string key = what.substr(unknown.size()), near = nearest_option("--" + key);
    fail<UsageError>(config_file(), ": unknown key ", escaped(key),
                     near.empty() ? "" : "; did you mean " + near.substr(2) + "?");
  }
  std::string what = error.what();
  if (dynamic_cast<const CLI::FileError*>(&error)) {
    const bool is_missing = !std::filesystem::exists(app.get_config_ptr()->results().back());
    fail<UsageError>(config_file(), ": cannot read: ", std::strerror(is_missing ? ENOENT : EACCES));
  }
  bool no_value = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  if (no_value) what = what.substr(0, what.find(':')) + " needs a value";
  fail<UsageError>(escaped(what, 200), " (see ", app.get_name(), " --help)");
}

std::string Tool::Parser::nearest_option(std::string unknown) const {
  std::ranges::replace(unknown, '_', '-');
  for (const auto& [typed, meant] : kSynonyms) {
    const std::string wanted = meant, option = wanted.substr(0, wanted.find(' '));
    if (typed == unknown && app.get_option_no_throw(option)) return wanted;
  }
  std::string nearest;
  std::size_t best = std::max<std::size_t>(2, unknown.size() / 3) + 1;  // more distant names do not help
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      std::size_t distance = edit_distance(unknown, "--" + name);
      if (distance < best) {
        best = distance;
        nearest = "--" + name;
      }
    }
  }
  return nearest;
}

}  // namespace heed::cli
