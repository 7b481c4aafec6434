// The file of --config. Only files of lib/cli include this.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "cli/parser.h"

namespace heed::cli {

/// Reads TOML of at most 1 MiB. Keys before any section apply to every tool that reads the file, those in
/// [decode] to decode alone, and they take precedence. Throws UsageError, which names file and line, for what
/// is not TOML, a section that is no tool's, and a key or a value that the tool's options do not have.
class ConfigReader : public CLI::ConfigTOML {
 public:
  explicit ConfigReader(const Tool::Parser& parser) : parser_(parser) {}
  std::vector<CLI::ConfigItem> from_config(std::istream& stream) const override;

 private:
  const Tool::Parser& parser_;
};

/// Throws UsageError for a device, which may never end, and for a folder.
void check_config_file(const std::string& path);

}  // namespace heed::cli
