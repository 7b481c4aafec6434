// Non-special tokens added to another program's tokenizer by its user ("<tool_call>"): text that reads like
// one becomes that token. They are cut from the text before any other processing, as the Hugging Face library
// tokenizers does (https://github.com/huggingface/tokenizers, AddedVocabulary): the leftmost first, the
// longest of those. Special tokens ("<|im_start|>") are cut from it in the same way on request.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/vocabulary.h"

namespace heed::text {

struct AddedToken {
  std::int32_t id = 0;
  bool single_word = false;  ///< not inside a word
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool normalized = false;   ///< searched in normalised text, after the others
  bool line_ends = false;    ///< "<newline>" in its piece is an end of line in the text
};

/// Tokens as part of a scheme's settings.
nlohmann::json as_json(const std::vector<AddedToken>& tokens);
/// The inverse. Throws Error beginning with `where` if the settings are damaged.
std::vector<AddedToken> tokens_of_json(const nlohmann::json& list, const std::string& where);

/// The special pieces of a vocabulary, each once.
std::vector<AddedToken> special_pieces(const Vocabulary& vocabulary);

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Of the vocabulary's special tokens text spells the mask, and the others if `spells_special`. Throws Error
  /// beginning with `where` if an id is not in the vocabulary, or a token is unreasonably long.
  AddedTokens(std::vector<AddedToken> list, const Vocabulary& vocabulary, const std::string& where,
              bool spells_special = false);

  bool empty() const { return list_.empty(); }
  const std::vector<AddedToken>& list() const { return list_; }

  using Normalize = std::function<std::string(const std::string& text)>;
  using Encode = std::function<std::vector<std::int32_t>(const std::string& text, bool begins)>;
  /// The ids of a line; `encode` handles the normalised text between the tokens, and is told whether it
  /// begins the line. `normalize` must be the same for all lines: the tokens' texts are normalised only once.
  /// Any number of threads may call this.
  std::vector<std::int32_t> encode(const std::string& line, const Normalize& normalize,
                                   const Encode& encode) const;

  /// Writes them to a scheme's settings under "added"; nothing if there are none.
  void add_to(nlohmann::json& settings) const;
  /// The inverse. Also throws Error if the settings are damaged.
  static AddedTokens of_settings(const nlohmann::json& settings, const Vocabulary& vocabulary,
                                 const std::string& where);

 private:
  /// Tokens that are searched together.
  struct Set {
    std::unordered_map<std::string, std::size_t> tokens;  ///< index in the list by text
    std::vector<std::size_t> lengths;                     ///< of the texts, longest first
  };
  void add(Set& set, const std::string& text, std::size_t token) const;
  /// Calls found(id) and between(text, whether it begins there), in the order of the text.
  void cut(const Set& set, std::string_view text, const std::function<void(std::int32_t)>& found,
           const std::function<void(const std::string&, bool)>& between) const;

  std::vector<AddedToken> list_;
  std::vector<std::string> texts_;  ///< texts of the list
  Set plain_;
  std::vector<std::size_t> normalized_;
  struct NormalizedSet {
    std::once_flag needed;
    Set set;  ///< of normalized_, once a line has been encoded
  };
  std::shared_ptr<NormalizedSet> normalized_set_ = std::make_shared<NormalizedSet>();
};

}  // namespace heed::text
