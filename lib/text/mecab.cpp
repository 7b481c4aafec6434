#include "text/mecab.h"

#include <dlfcn.h>
#include <strings.h>

#include "base/error.h"

namespace heed::text {
namespace {

constexpr const char* kLibrary = "libmecab.so.2";
constexpr unsigned kWordsOfIpa =
    392126;  // as sacreBLEU checks; Debian adds one, the name of the era since 2019

// Of mecab.h.
struct mecab_t;
struct DictionaryInfo {
  const char* filename;
  const char* charset;
  unsigned size;
  int type;
  unsigned left_size, right_size;
  unsigned short version;
  const DictionaryInfo* next;
};

}  // namespace

struct Mecab::Library {
  Library();
  ~Library() {
    if (tagger) destroy(tagger);
    dlclose(handle);
  }
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (!function) fail("MeCab: ", kLibrary, " has no function ", name, ": is it another version?");
  }
  /// ": " and what it says of its last failure, if anything.
  std::string reason() const {
    const char* text = error(tagger);
    return text && *text ? concat(": ", escaped(text, 200)) : "";
  }

  void* handle;
  mecab_t* tagger = nullptr;
  mecab_t* (*create)(const char* arguments);
  void (*destroy)(mecab_t*);
  const char* (*error)(mecab_t*);
  const char* (*parse)(mecab_t*, const char* text, std::size_t bytes);
  const char* (*version)();
  const DictionaryInfo* (*dictionary)(mecab_t*);
};

Mecab::Library::Library() : handle(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (!handle)
    fail("MeCab, which --tokenize ja-mecab needs, is missing (", kLibrary,
         "): install libmecab2 and mecab-ipadic-utf8");
  find(create, "mecab_new2");
  find(destroy, "mecab_destroy");
  find(error, "mecab_strerror");
  find(parse, "mecab_sparse_tostr2");
  find(version, "mecab_version");
  find(dictionary, "mecab_dictionary_info");
}

Mecab::Mecab() : library_(std::make_unique<Library>()) {
  Library& mecab = *library_;
  mecab.tagger = mecab.create("-Owakati");
  if (!mecab.tagger)
    fail("MeCab cannot start", mecab.reason(), ": is its dictionary there (mecab-ipadic-utf8)?");
  const DictionaryInfo* found = mecab.dictionary(mecab.tagger);
  if (!found) fail("MeCab: no dictionary, wanted mecab-ipadic-utf8");
  const bool is_utf8 = strcasecmp(found->charset, "utf-8") == 0 || strcasecmp(found->charset, "utf8") == 0;
  if ((found->size != kWordsOfIpa && found->size != kWordsOfIpa + 1) || found->next || !is_utf8)
    fail("MeCab: ", escaped(found->filename, 200), ": ", found->size, " words in ",
         escaped(found->charset, 40), found->next ? ", and a further dictionary" : "", ", wanted IPA's ",
         kWordsOfIpa, " in UTF-8 alone (mecab-ipadic-utf8): other words give other scores");
}

Mecab::~Mecab() = default;

std::string Mecab::words(const std::string& line) const {
  const char* words = library_->parse(library_->tagger, line.data(), line.size());
  if (!words) fail("MeCab cannot split a line", library_->reason());
  return words;
}

std::string Mecab::name() const {
  const unsigned size = library_->dictionary(library_->tagger)->size;
  return concat(library_->version(), "-IPA", size == kWordsOfIpa ? "" : concat("-", size));
}

}  // namespace heed::text
