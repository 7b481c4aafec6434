// Japanese words by MeCab with IPA's dictionary, as in sacreBLEU's ja-mecab.
#pragma once

#include <memory>
#include <string>

namespace heed::text {

/// MeCab is loaded on demand (Debian: libmecab2 and mecab-ipadic-utf8), so that no tool starts more slowly
/// because of it.
class Mecab {
 public:
  /// Throws Error if the library or the expected dictionary is missing.
  Mecab();
  ~Mecab();
  /// The words of a line, with spaces between them.
  std::string words(const std::string& line) const;
  /// Version and dictionary, "0.996-IPA" as in sacreBLEU's signatures; "0.996-IPA-392127" for Debian's
  /// dictionary, which has one more word, the era 令和: lines that contain it may be split differently
  /// elsewhere, too.
  std::string name() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace heed::text
