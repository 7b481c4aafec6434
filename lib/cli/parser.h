// The state of a Tool: CLI11's parser and what CLI11 lacks. Only files of lib/cli include this.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/tool.h"

namespace heed::cli {

/// The heading of these options in --help.
inline constexpr char kCommonOptions[] = "Common options";

struct Tool::Parser {
  Parser(const std::string& name, const std::string& purpose, std::vector<std::string> words);

  /// Parses the words. Throws UsageError, CLI::CallForHelp, CLI::CallForVersion or PrintCompletion.
  void parse();
  /// Whether the tool has an INPUT and reads it.
  bool reads_input();
  /// What messages call an option with a value, by where it is from: "--threads", "HEED_THREADS",
  /// "--config: FILE: threads".
  std::string source_of(const std::string& name) const;
  /// "--config: FILE"
  std::string config_file() const;
  /// The option that was meant by one that does not exist, with a value where only one will do; "": none is near.
  std::string nearest_option(std::string unknown) const;

  CLI::App app;
  Common common;
  std::vector<std::string> words;                   ///< the command as typed, the tool's name first
  std::set<std::string> places;                     ///< options for locations, which do not affect the result
  std::set<std::string> written{"output", "keep"};  ///< the like, for files that the tool writes
  std::set<std::string> addresses;                  ///< options whose values name a file and what is in it
  std::set<std::string> beside_input;               ///< options whose files correspond to INPUT line by line
  io::WriteOptions* write = nullptr;  ///< set before the work begins; null: the tool writes no tensors
  std::string description;
  std::vector<std::string> examples;
  std::set<std::string> bound;                                     ///< names of config fields
  std::map<const CLI::Option*, std::vector<std::string>> choices;  ///< allowed words, for completion
  std::function<bool()> reads_stdin;             ///< whether INPUT is stdin; null: the tool has no INPUT
  std::vector<std::string> input_not_read_with;  ///< options with which the tool does not read INPUT
  std::function<bool()> lacks_model;             ///< whether a required model is missing
  std::function<void()> work;

 private:
  void add_common_options();
  /// The files that an option may name; of FILE:PATH, which may be the name of a file, both.
  std::vector<std::string> files_of(const CLI::Option& option) const;
  void refuse_empty_names();
  void refuse_unread_input();
  void refuse_shared_stdin();
  void refuse_replaced_input();
  [[noreturn]] void explain(const CLI::ParseError& error) const;

  std::string progress = "auto";
};

/// Thrown by the hidden option --print-completion.
struct PrintCompletion {};

/// Formats --help so that help2man understands it.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const Tool::Parser& parser) : parser_(parser) {}
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;

 private:
  const Tool::Parser& parser_;
};

/// "-o, --output", "--tied, --no-tied"; for a positional argument its name.
std::string option_names(const CLI::Option& option);

/// A bash script that completes the tool's options and their values.
std::string bash_completion(const Tool::Parser& parser);

}  // namespace heed::cli
