#include "cli/parser.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/choice.h"
#include "base/edit_distance.h"
#include "base/parallel.h"
#include "base/paths.h"
#include "base/version.h"
#include "cli/config_file.h"

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

bool is_stdout(const std::string& file) {
  return file == "-" || file == "/dev/stdout" || file == "/dev/fd/1";
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
  app.config_formatter(std::make_shared<ConfigReader>(*this));
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
  } catch (const std::invalid_argument&) {  // by CLI11's conversion of --quiet=maybe
    fail<UsageError>("a flag's value is neither true nor false");
  }
  common.progress = chosen<logging::When>("--progress", kWhen, progress);
  if (lacks_model && lacks_model()) {
    fail<UsageError>("no model: give -m FILE or set HEED_MODEL");
  }
  refuse_empty_names();
  refuse_unread_input();
  refuse_shared_stdin();
  refuse_replaced_input();
}

std::vector<std::string> Tool::Parser::files_of(const CLI::Option& option) const {
  if (names_file(option)) return option.results();
  const std::string name = option.get_single_name();
  if (!addresses.contains(name)) return {};
  std::vector<std::string> files;
  for (const std::string& text : option.results()) {
    const bool is_edit = name == "patch";                                      // NAME=FILE:PATH@2
    if (!is_edit && text.find_first_of("./:") == std::string::npos) continue;  // of a tensor, or a word
    const std::string address = is_edit ? text.substr(text.find('=') + 1) : text;
    for (const std::string& whole :
         {address, address.substr(0, is_edit ? address.rfind('@') : std::string::npos)})
      files.insert(files.end(), {whole, whole.substr(0, whole.rfind(':'))});
  }
  return files;
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

/// A model, or another file that is read, would be lost if an output went to it. INPUT may be replaced by what
/// is made of it, and by --overwrite a model, also one whose vocabulary the new one has.
void Tool::Parser::refuse_replaced_input() {
  const bool replaces_models = Tool(*this).given("overwrite");
  const auto is_read_for = [&](const CLI::Option& from, const CLI::Option& to) {
    const std::string name = from.get_single_name();
    if (name == "INPUT") return to.get_single_name() != "output" && reads_input();
    // HEED_MODEL names a model also for a command that reads none, such as tokenize --train.
    if (name == "model") return !reads_stdin || reads_input();
    return !(replaces_models && (from.get_type_name() == "MODEL" || name.ends_with("vocab")));
  };
  const auto targets_of = [&](const CLI::Option& option) -> std::vector<std::string> {
    if (option.count() > 0) return option.reduced_results();
    // A tool that writes tensors writes to stdout beside its side outputs; viz-dump does one or the other.
    return option.get_single_name() == "output" && write ? std::vector<std::string>{"-"}
                                                         : std::vector<std::string>{};
  };
  for (const CLI::Option* to : app.get_options()) {
    if (!written.contains(to->get_single_name())) continue;
    for (const std::string& output : targets_of(*to)) {
      std::error_code error;
      const auto type =  // a file that is called - is written ./-
          output == "-" ? std::filesystem::file_type::none : std::filesystem::status(output, error).type();
      if (!is_stdout(output) && type == std::filesystem::file_type::character)
        continue;  // /dev/null takes all
      const auto is_same = [&](const std::string& file) {
        return (is_stdout(output) && is_stdout(file)) || same_place(output, file);
      };
      for (const CLI::Option* other : app.get_options()) {
        if (other == to) continue;
        if (written.contains(other->get_single_name())) {
          if (std::ranges::any_of(targets_of(*other), is_same))
            fail<UsageError>(shown_name(*other), " and ", shown_name(*to), " name the same file, ",
                             escaped(output), ": two outputs cannot share it");
        } else if (type == std::filesystem::file_type::regular && is_read_for(*other, *to)) {
          if (std::ranges::any_of(files_of(*other), is_same))
            fail<UsageError>(shown_name(*to), " and ", shown_name(*other), " name the same file, ",
                             escaped(output), ": what is read would be replaced");
        }
      }
    }
  }
}

/// An option that ends up without a file, as from "$unset", would be ignored.
void Tool::Parser::refuse_empty_names() {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    const bool is_named = written.contains(name) || names_file(*option) || name == "config" ||
                          option->get_type_name() == "FOLDER";
    // One empty model is none, as HEED_MODEL= is; -o says so itself.
    if (!is_named || name == "output" || (name == "model" && option->count() == 1)) continue;
    if (std::ranges::count(option->results(), "") == 0) continue;
    const bool is_positional = option->get_positional();
    fail<UsageError>(is_positional ? name : source_of("--" + name), ": the file name is empty");
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
