#include "text/tokenizer_config.h"

#include "base/error.h"
#include "text/foreign_json.h"

namespace heed::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kAddedFile[] = "added_tokens.json";
constexpr std::size_t kLongestId = 20;  // digits

}  // namespace

TokenizerConfig::TokenizerConfig(const fs::path& folder)
    : name_(escaped((folder / kTokenizerConfigFile).string())) {
  std::error_code ignored;
  if (fs::is_regular_file(folder / kTokenizerConfigFile, ignored)) {
    json_ = read_foreign_json((folder / kTokenizerConfigFile).string());
    files_.push_back((folder / kTokenizerConfigFile).string());
  }
  const fs::path added = folder / kAddedFile;
  if (fs::is_regular_file(added, ignored)) {
    const Json tokens = read_foreign_json(added.string());
    files_.push_back(added.string());
    for (const auto& [piece, id] : tokens.items()) {
      if (!is_id(id))
        fail(escaped(added.string()), ": \"", escaped(piece), "\": wanted an id, got ", Object::shown(id));
      added_.emplace_back(piece, id.get<std::int32_t>());
    }
  }
  if (const Json list = value("added_tokens_decoder"); !list.is_null()) {
    if (!list.is_object()) fail(name_, ": added_tokens_decoder: wanted tokens by their ids");
    for (const auto& [id, token] : list.items()) {
      const Json number = id.size() <= kLongestId ? Json::parse(id, nullptr, false) : Json();
      if (!is_id(number)) fail(name_, ": added_tokens_decoder: wanted ids, got \"", escaped(id), '"');
      Object fields(token, name_ + "/added_tokens_decoder");
      added_.emplace_back(fields.text("content"), number.get<std::int32_t>());
    }
  }
}

std::vector<std::string> TokenizerConfig::files(const std::vector<std::string>& more) const {
  std::vector<std::string> all = files_;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool TokenizerConfig::flag(const char* field, bool otherwise) const {
  return Object(json_, name_).flag(field, otherwise);
}

std::string TokenizerConfig::token(const char* field, const char* otherwise) const {
  Json name = value(field);
  if (name.is_object()) name = name.value("content", Json());
  return name.is_string() ? name.get<std::string>() : otherwise;
}

std::string TokenizerConfig::tokenizer_class() const {
  const Json name = value("tokenizer_class");
  if (!name.is_null() && !name.is_string())
    fail(name_, ": tokenizer_class: wanted a name, got ", Object::shown(name));
  std::string text = name.is_string() ? name.get<std::string>() : "";
  if (text.ends_with("Fast")) text.resize(text.size() - 4);
  return text;
}

}  // namespace heed::text
