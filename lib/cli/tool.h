// The command line common to all tools. A main declares variables, binds them to options in `setup`, and does
// its work in `on_run`; run_tool does what all mains have in common:
//
//   int main(int argc, char** argv) {
//     std::string input, output;
//     std::int64_t beam = 5;
//     return heed::cli::run_tool(
//         "decode", "Translate encoded sentences.", argc, argv, [&](heed::cli::Tool& tool) {
//           tool.input(input, "encoder states");
//           tool.output(output);
//           tool.option("--beam", beam, "hypotheses kept per sentence", heed::cli::at_least(1));
//           tool.example("tokenize < a.en | embed | encode | decode --beam 5");
//           tool.example("decode --format h5 encoded.h5 -o hypotheses.h5");
//           tool.on_run([&] { ... });
//         });
//   }
//
// The variables are locals of main, not of `setup`, because on_run uses them after setup has returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/log.h"
#include "cli/rule.h"
#include "io/options.h"

namespace heed::cli {

/// The options of every tool; set when on_run is called.
struct Common {
  std::int64_t threads = 0;  ///< --threads or HEED_THREADS; by default the cores this process may use
  std::int64_t seed = 1;
  bool quiet = false;
  bool verbose = false;
  logging::When progress = logging::When::automatic;
};

enum class Need { required, optional };

class Tool {
 public:
  using Value = std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::string>*>;

  /// Declares an option. `names` as in "-b,--beam" or "--beam"; the variable's value is the default; a bool
  /// is a flag. A vector takes one value each time the option is given.
  template <class T>
  void option(const std::string& names, T& value, const std::string& help, Rule rule = {}) {
    add_option(names, Value(&value), help, std::move(rule));
  }
  /// An option that takes all words up to the next option: --train a.en b.en -o vocabulary.h5
  void list(const std::string& names, std::vector<std::string>& values, const std::string& help);
  /// Declares one option per field of a config struct (base/fields.h), except for names already bound:
  /// d_model becomes --d-model.
  template <class Config>
  void bind(Config& config) {
    bind_fields(fields_of(config), Defaults::shown);
  }
  /// Declares options for fields whose defaults come from elsewhere, such as a preset: --help shows no
  /// default, and a flag can be given as --tied or --no-tied.
  void bind_over_preset(const std::vector<Field>& fields) { bind_fields(fields, Defaults::elsewhere); }
  /// Options declared after this appear under that heading of --help; under "" they are hidden.
  void heading(const std::string& text);
  /// Whether the option was given on the command line, in --config FILE or by its environment variable.
  /// `name` is a field or a long option: "d_model", "d-model" and "--d-model" are the same.
  bool given(const std::string& name) const;

  /// Throws UsageError if an option was given that is neither `with`, nor one of `others`, nor common to all
  /// tools, because it would have no effect. Call it in on_run.
  void allow_only(const std::string& with, std::initializer_list<const char*> others) const;

  /// The positional INPUT; "-", the default, is stdin. If stdin is a terminal, a hint says that the tool
  /// waits for input, unless one of the options `not_read_with` is given; with these, an INPUT is refused. If a
  /// further file that the tool reads is stdin too, both are refused.
  void input(std::string& path, const std::string& help, std::vector<std::string> not_read_with = {});
  /// Any number of INPUT files, read as one input.
  void inputs(std::vector<std::string>& paths, const std::string& help,
              std::vector<std::string> not_read_with = {});
  /// A further positional, after INPUT.
  void argument(const std::string& name, std::string& value, const std::string& help,
                Need need = Need::required);
  /// -o, --output; "-", the default, is stdout.
  void output(std::string& path, const std::string& help = "where to write; - is stdout");
  /// --no-scales, for tools that write tensors; before on_run, `write` also gets result_command().
  void tensors(io::WriteOptions& write);
  /// --keep, for tools that pass tensors on.
  void keep(std::string& path);
  /// These options, named without --, are locations that do not affect the result: result_command() omits
  /// them, as it does the common options.
  void place(std::initializer_list<const char*> options);
  /// These options name files that the tool writes, as --output and --keep do: result_command() omits them too.
  void writes(std::initializer_list<const char*> options);
  /// These options name something in a file, FILE:PATH, or as in NAME=FILE:PATH@2.
  void addresses(std::initializer_list<const char*> options);
  /// The files of these options have a line for each sentence of INPUT: result_command() writes FILE for
  /// their names, which may differ for each part of a text.
  void beside_input(std::initializer_list<const char*> options);
  /// These text options are lists: the values of repeated options are joined by commas.
  void joined(std::initializer_list<const char*> options);
  /// -m, --model, or the environment variable HEED_MODEL.
  void model(std::string& path, Need need = Need::required);
  /// -m, --model for a tool that accepts several, -m a.h5 -m b.h5, and needs at least one; `help` says how it
  /// combines them.
  void models(std::vector<std::string>& paths, const std::string& help);

  /// An example command line, shown at the end of --help; give two.
  void example(const std::string& command);
  /// A longer explanation, shown in --help before the options; lines that begin with spaces stay indented.
  void describe(const std::string& text);
  /// The work. Throw Error, UsageError or DivergedError to end with status 1, 2 or 3.
  void on_run(std::function<void()> work);

  const Common& common() const;
  /// The command for a file's history, quoted for the shell: "decode --beam 5". It lists the options given on
  /// the command line or by --config, in the order of --help, without INPUT, a single model, place(),
  /// `others` and options that no tool's result depends on (--threads, --quiet, ...): equal results have
  /// equal commands.
  std::string result_command(const std::vector<std::string>& others = {}) const;

  /// Makes the first SIGINT, SIGTERM, SIGHUP or SIGUSR1 only set this flag; a second one ends the program at
  /// once. After on_run has returned, the program ends by that signal (status 128 + n). Call it in on_run.
  std::atomic<bool>& stop_flag();

  struct Parser;  ///< CLI11 and the option list (cli/parser.h)
  explicit Tool(Parser& parser) : parser_(parser) {}

 private:
  enum class Defaults { shown, elsewhere };

  void add_option(const std::string& names, Value value, const std::string& help, Rule rule,
                  Defaults defaults = Defaults::shown);
  void bind_fields(const std::vector<Field>& fields, Defaults defaults);

  Parser& parser_;
};

/// Parses the command line, runs the tool and returns its exit status: 0 success, 1 data, I/O or memory, 2
/// usage, 3 diverged; after a signal the process ends by that signal. Errors are one line on stderr: "decode:
/// ...".
int run_tool(const char* name, const char* purpose, int argc, char** argv,
             const std::function<void(Tool&)>& setup);
/// Passes `setup` by reference: copying its captures could fail for lack of memory.
template <class Setup>
int run_tool(const char* name, const char* purpose, int argc, char** argv, const Setup& setup) {
  return run_tool(name, purpose, argc, argv, std::function<void(Tool&)>(std::cref(setup)));
}

/// The words of a command, each quoted for a POSIX shell where it needs it ($'\n' for control characters).
std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace heed::cli
