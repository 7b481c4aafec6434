#include "io/foreign/npy.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "base/utf8.h"
#include "io/foreign/elements.h"
#include "io/foreign/zip_file.h"
#include "io/superblock.h"

namespace heed::io {
namespace {

constexpr std::size_t kMostNpyHeaderBytes = 1 << 16, kMostNpyDimensions = 64;
constexpr std::int64_t kMostCharacters = 1 << 20;
constexpr std::string_view kNpy = ".npy";

struct NpyHeader {
  const ElementKind* kind = nullptr;  ///< null: text, or unknown to heed
  std::int64_t characters = -1;       ///< of each text, in UTF-32; -1: not text
  std::string descr;
  bool swapped = false;        ///< big endian
  bool fortran_order = false;  ///< the first index varies fastest
  Shape shape;
  std::uint64_t bytes = 0;  ///< of the header
};

/// The dictionary of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class DictionaryScanner {
 public:
  DictionaryScanner(std::string_view text, std::string where) : rest_(text), where_(std::move(where)) {}

  NpyHeader scan() {
    NpyHeader header;
    std::set<std::string> given;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (!given.insert(key).second) fail(where_, ": header gives ", escaped(key), " twice");
      if (key == "descr") {
        header.descr = descr();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        fail(where_, ": header has an unknown entry \"", escaped(key), "\"");
      }
      if (accept('}')) break;
      expect(',');
    }
    skip_space();
    if (!rest_.empty()) bad("nothing more");
    if (given.size() != 3) fail(where_, ": header lacks one of descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void bad(const std::string& wanted) const {
    fail(where_, ": header has \"", escaped(rest_, 20), "\" where ", wanted, " was wanted");
  }
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool accept(char wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) bad(concat("'", wanted, "'"));
  }
  std::string string() {
    skip_space();
    const char quote = rest_.empty() ? ' ' : rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) bad("a string");
    const std::string text(rest_.substr(1, end - 1));
    if (text.find('\\') != std::string::npos) bad("a string without escapes");
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string descr() {
    skip_space();
    if (rest_.starts_with('['))
      fail(where_, ": a structured array, which is not supported: save each of its fields");
    return string();
  }
  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    bad("True or False");
  }
  Shape shape() {
    Shape sizes;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (parsed.ec != std::errc() || size < 0) bad("a size");
      rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
      accept('L');  // of Python 2
      if (sizes.size() == kMostNpyDimensions) fail(where_, ": more than ", kMostNpyDimensions, " dimensions");
      sizes.push_back(size);
      if (accept(')')) break;
      expect(',');
    }
    return sizes;
  }

  std::string_view rest_;
  std::string where_;
};

void set_kind(NpyHeader& header, const std::string& where) {
  const std::string_view descr = header.descr;
  if (descr.size() < 2 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    fail(where, ": unknown type \"", escaped(descr), "\"");
  header.swapped = descr[0] == '>';
  header.kind = element_kind_of_numpy(descr.substr(1));
  if (descr[1] != 'U') return;
  const auto parsed = std::from_chars(descr.data() + 2, descr.data() + descr.size(), header.characters);
  if (parsed.ec != std::errc() || parsed.ptr != descr.data() + descr.size() || header.characters < 0 ||
      header.characters > kMostCharacters)
    fail(where, ": texts of type \"", escaped(descr), "\", wanted at most ", kMostCharacters, " characters");
  // Texts without characters take no bytes of the file, but memory here.
  if (header.characters == 0 && std::ranges::count(header.shape, 0) == 0)
    fail(where, ": shape ", to_string(header.shape), " of texts of type \"", escaped(descr),
         "\", wanted at least 1 character each");
}

std::string name_of_type(const NpyHeader& header) {
  return header.kind              ? header.kind->name
         : header.characters >= 0 ? name_of(DType::string)
                                  : escaped(header.descr);
}

/// Reads the header of an array stored in `total` bytes and checks that its data fill exactly the rest.
NpyHeader read_header(const NextBytes& next, std::uint64_t total, const std::string& where) {
  constexpr std::uint64_t kMagicBytes = 8;
  std::vector<std::byte> start(kMagicBytes);
  if (total < kMagicBytes + 2) fail(where, ": ", total, " bytes are too short for a NumPy array: cut off?");
  next(start);
  if (std::string_view(reinterpret_cast<const char*>(start.data()), 6) != "\x93NUMPY")
    fail(where, ": not a NumPy array");
  const int version = static_cast<int>(start[6]);
  if (version < 1 || version > 3 || start[7] != std::byte{0})
    fail(where, ": .npy version ", version, ".", static_cast<int>(start[7]),
         " is unknown, wanted 1.0 to 3.0");
  std::vector<std::byte> size_bytes(version == 1 ? 2 : 4);
  if (total < kMagicBytes + size_bytes.size()) fail(where, ": cut short in its header");
  next(size_bytes);
  const std::uint64_t size = little_endian(size_bytes);
  const std::uint64_t left = total - kMagicBytes - size_bytes.size();
  if (size > left) fail(where, ": cut short: its header needs ", size, " bytes, but only ", left, " follow");
  if (size > kMostNpyHeaderBytes)
    fail(where, ": a header of ", size, " bytes, wanted at most ", kMostNpyHeaderBytes);
  std::string text(static_cast<std::size_t>(size), '\0');
  next(std::as_writable_bytes(std::span(text)));
  NpyHeader header = DictionaryScanner(text, where).scan();
  header.bytes = kMagicBytes + size_bytes.size() + size;
  set_kind(header, where);
  std::uint64_t bits = 0;
  if (!header.kind && header.characters < 0) return header;
  if (!count_bits(header.shape, header.kind ? header.kind->bits : static_cast<int>(32 * header.characters),
                  bits))
    fail(where, ": shape ", to_string(header.shape), " of ", name_of_type(header), " is too large to count");
  if (bits / 8 != left - size)
    fail(where, ": shape ", to_string(header.shape), " of ", name_of_type(header), " needs ", bits / 8,
         " bytes, but ", left - size, " follow the header");
  return header;
}

/// Texts of `characters` UTF-32 characters each, padded with NULs.
Tensor read_texts(const NpyHeader& header, const NextBytes& next, const std::string& where) {
  if (header.characters == 0) return Tensor::zeros<std::string>(header.shape);
  std::vector<std::string> texts(static_cast<std::size_t>(element_count(header.shape)));
  std::vector<std::uint32_t> characters(static_cast<std::size_t>(header.characters));
  for (std::string& text : texts) {
    next(std::as_writable_bytes(std::span(characters)));
    for (std::uint32_t& c : characters)
      if (header.swapped) c = __builtin_bswap32(c);
    const auto end =
        std::find_if(characters.rbegin(), characters.rend(), [](std::uint32_t c) { return c != 0; });
    for (auto c = characters.begin(); c != end.base(); ++c) {
      if (!is_character(*c)) fail(where, ": holds ", *c, ", which is not a character");
      append_utf8(text, *c);
    }
  }
  return Tensor::of(std::move(texts), header.shape);
}

/// The array whose bytes `next` gives, header included.
Tensor read_array(const NextBytes& next, std::uint64_t total, const std::string& where) {
  const NpyHeader header = read_header(next, total, where);
  if (!header.kind && header.characters < 0) {
    const char what = header.descr[1];
    fail(where, ": elements of NumPy's type ", escaped(header.descr), " are not supported",
         what == 'O'   ? ": Python objects, which only Python can load"
         : what == 'S' ? ": bytes: save them as text"
                       : "");
  }
  const Tensor tensor = header.kind ? read_elements(*header.kind, header.shape, header.swapped, next, where)
                                    : read_texts(header, next, where);
  return header.fortran_order && header.shape.size() > 1 ? in_c_order(tensor, header.shape) : tensor;
}

ArrayInfo info_of(std::string name, const NpyHeader& header) {
  return {std::move(name), name_of_type(header), header.shape};
}

class NpyFile : public ArrayFile {
 public:
  explicit NpyFile(const std::string& path) : file_(path) {
    arrays_.push_back(info_of("array", read_header(file_.from(0), file_.size(), file_.name())));
  }
  Tensor read(std::size_t) const override { return read_array(file_.from(0), file_.size(), file_.name()); }

 private:
  SeekableFile file_;
};

class NpzFile : public ArrayFile {
 public:
  NpzFile(SeekableFile file, std::vector<ZipMember> members)
      : file_(std::move(file)), members_(std::move(members)) {
    std::erase_if(members_,
                  [](const ZipMember& m) { return m.name.size() <= kNpy.size() || !m.name.ends_with(kNpy); });
    if (members_.empty())
      fail(file_.name(), ": a zip archive without .npy arrays, and no checkpoint of PyTorch");
    for (const ZipMember& member : members_) {
      ZipReader reader(file_, member);
      arrays_.push_back(
          info_of(member.name.substr(0, member.name.size() - kNpy.size()),
                  read_header([&](auto bytes) { reader.read(bytes); }, member.size, where(member))));
    }
  }
  Tensor read(std::size_t index) const override {
    const ZipMember& member = members_.at(index);
    ZipReader reader(file_, member);
    return read_array([&](auto bytes) { reader.read(bytes); }, member.size, where(member));
  }

 private:
  std::string where(const ZipMember& member) const {
    return concat(file_.name(), ":/", escaped(member.name));
  }

  SeekableFile file_;
  std::vector<ZipMember> members_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_npy(const std::string& path) {
  return std::make_unique<NpyFile>(path);
}

std::unique_ptr<ArrayFile> open_npz(SeekableFile file, std::vector<ZipMember> members) {
  return std::make_unique<NpzFile>(std::move(file), std::move(members));
}

}  // namespace heed::io
