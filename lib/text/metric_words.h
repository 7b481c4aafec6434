// The words that BLEU and TER compare, as sacreBLEU splits them: metrics are only comparable between equal words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

inline const std::vector<std::string> kBleuTokenizations{"13a",  "intl", "zh",  "ja-mecab",
                                                         "char", "spm",  "none"};

/// The words of a line in one of these ways:
///   13a   those of mteval-v13a, the tokenisation of WMT
///   intl  those of mteval-v14: punctuation and symbols of Unicode stand alone, except punctuation between digits
///   zh    Chinese characters stand alone, the rest is as 13a
///   ja-mecab  Japanese words by MeCab with IPA's dictionary
///   char  characters
///   spm   pieces of a SentencePiece model
///   none  what stands between white space
class MetricWords {
 public:
  /// `spm_model` is the file of "spm". Throws UsageError when it is missing, or given and not wanted, Error when it
  /// cannot be read, or MeCab is missing.
  MetricWords(const std::string& tokenization, const std::string& spm_model);
  /// The words, joined by single spaces.
  std::string of(const std::string& line) const { return split_(line); }
  /// For signatures: "13a"; "spm-" and the first digits of the model's SHA-256; "ja-mecab-" and Mecab::name().
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::function<std::string(const std::string&)> split_;
};

/// Those of 13a, of zh and of intl.
std::string tokenize_13a(std::string_view line);
std::string tokenize_zh(std::string_view line);
std::string tokenize_intl(std::string_view line);

/// What tercom does to a line before TER counts its words.
struct TercomRules {
  bool normalized = false;      ///< punctuation and possessives stand alone
  bool no_punctuation = false;  ///< leave out . , ? : ; ! " ( )
  bool asian_support = false;   ///< do to Asian characters and punctuation what these two do to Western
  bool case_sensitive = false;
};
std::string tokenize_tercom(std::string_view line, const TercomRules& rules);

}  // namespace heed::text
