// Japanese words by MeCab with IPA's dictionary, as in sacreBLEU's ja-mecab.
#pragma once

#include <memory>
#include <string>

namespace heed::text {

/// MeCab is loaded when it is wanted (of Debian: libmecab2 and mecab-ipadic-utf8), as no tool should start more slowly for it.
class Mecab {
 public:
  /// Throws Error when the library or its dictionary is missing or another.
  Mecab();
  ~Mecab();
  /// The words of a line, with spaces between them.
  std::string words(const std::string& line) const;
  /// Version and dictionary, "0.996-IPA" as in sacreBLEU's signatures; "0.996-IPA-392127" with Debian's, which knows one word
  /// more, the era 令和: lines that have it may be split elsewhere, too.
  std::string name() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace heed::text
