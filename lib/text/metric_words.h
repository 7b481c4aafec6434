// The words that BLEU and TER compare, split as by sacreBLEU: metrics are comparable only with the same
// splitting.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

inline const std::vector<std::string> kBleuTokenizations{"13a",  "intl", "zh",  "ja-mecab",
                                                         "char", "spm",  "none"};

/// Splits a line into words in one of these ways:
///   13a   as mteval-v13a, the tokenisation of WMT
///   intl  as mteval-v14: Unicode punctuation and symbols are separate words, except punctuation between
///         digits
///   zh    Chinese characters are separate words, the rest is as 13a
///   ja-mecab  Japanese words by MeCab with IPA's dictionary
///   char  characters
///   spm   pieces of a SentencePiece model
///   none  at white space
class MetricWords {
 public:
  /// `spm_model` is the model file for "spm". Throws UsageError if it is missing, or given but not used;
  /// Error if it cannot be read, or MeCab is missing.
  MetricWords(const std::string& tokenization, const std::string& spm_model);
  /// The words, joined by single spaces.
  std::string of(const std::string& line) const { return split_(line); }
  /// For signatures: "13a"; "spm-" and the first digits of the model's SHA-256; "ja-mecab-" and
  /// Mecab::name().
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::function<std::string(const std::string&)> split_;
};

/// The splitting of 13a, zh and intl.
std::string tokenize_13a(std::string_view line);
std::string tokenize_zh(std::string_view line);
std::string tokenize_intl(std::string_view line);

/// tercom's preprocessing of a line before TER counts its words.
struct TercomRules {
  bool normalized = false;      ///< punctuation and possessives are separate words
  bool no_punctuation = false;  ///< leave out . , ? : ; ! " ( )
  bool asian_support = false;   ///< apply these two to Asian characters and punctuation, too
  bool case_sensitive = false;
};
std::string tokenize_tercom(std::string_view line, const TercomRules& rules);

}  // namespace heed::text
