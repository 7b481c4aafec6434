// Tokens that a user added to another program's tokenizer and that are not special ("<tool_call>"): text that reads like one is
// that one. They are cut from it before it goes through anything else, as the library tokenizers
// (https://github.com/huggingface/tokenizers, AddedVocabulary) does: the leftmost first, of those the longest. Special ones
// ("<|im_start|>") are cut from it likewise for those who ask for it.
#pragma once

#include <cstdint>
#include <functional>
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
  bool normalized = false;   ///< is looked for in normalised text, where no other was found
};

/// The special pieces of a vocabulary, each once.
std::vector<AddedToken> special_pieces(const Vocabulary& vocabulary);

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Text cannot spell those that the vocabulary holds for special, unless `spells_special`. Throws Error, which begins with `where`,
  /// when an id is not the vocabulary's, or a token is longer than any that people write.
  AddedTokens(std::vector<AddedToken> list, const Vocabulary& vocabulary, const std::string& where,
              bool spells_special = false);

  bool empty() const { return list_.empty(); }
  const std::vector<AddedToken>& list() const { return list_; }

  using Normalize = std::function<std::string(const std::string& text)>;
  using Encode = std::function<std::vector<std::int32_t>(const std::string& text)>;
  /// The ids of a line of which `encode` does the normalised text that is no token.
  std::vector<std::int32_t> encode(const std::string& line, const Normalize& normalize,
                                   const Encode& encode) const;

  /// As a scheme's settings have them, under "added"; nothing when there are none.
  void add_to(nlohmann::json& settings) const;
  /// The inverse. Throws Error also when they are damaged.
  static AddedTokens of_settings(const nlohmann::json& settings, const Vocabulary& vocabulary,
                                 const std::string& where);

 private:
  /// Those that are looked for at a time.
  struct Set {
    std::unordered_map<std::string, std::size_t> tokens;  ///< of the list, by their text
    std::vector<std::size_t> lengths;                     ///< of the texts, the longest first
  };
  void add(Set& set, const std::string& text, std::size_t token) const;
  /// Calls found(id) and between(text), in the order of the text.
  void cut(const Set& set, std::string_view text, const std::function<void(std::int32_t)>& found,
           const std::function<void(const std::string&)>& between) const;

  std::vector<AddedToken> list_;
  std::vector<std::string> texts_;  ///< of the list
  std::vector<std::size_t> normalized_;
  Set plain_;
};

}  // namespace heed::text
