// tokenizer_config.json and added_tokens.json, which transformers writes beside a tokenizer's own files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace heed::text {

inline constexpr char kTokenizerConfigFile[] = "tokenizer_config.json";

class TokenizerConfig {
 public:
  /// Of a folder, which may lack both files. Throws Error naming the file and what is not understood.
  explicit TokenizerConfig(const std::filesystem::path& folder);

  /// The added pieces with their ids.
  const std::vector<std::pair<std::string, std::int32_t>>& added() const { return added_; }
  /// For messages.
  const std::string& name() const { return name_; }
  /// The existing files, and these.
  std::vector<std::string> files(const std::vector<std::string>& more) const;
  /// null if it is missing.
  nlohmann::json value(const char* field) const { return json_.value(field, nlohmann::json()); }
  bool flag(const char* field, bool otherwise) const;
  /// The special token that is named eos_token, say.
  std::string token(const char* field, const char* otherwise) const;
  /// Without "Fast".
  std::string tokenizer_class() const;

 private:
  std::string name_;
  std::vector<std::string> files_;
  nlohmann::json json_ = nlohmann::json::object();
  std::vector<std::pair<std::string, std::int32_t>> added_;
};

}  // namespace heed::text
