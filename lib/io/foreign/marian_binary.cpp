#include "io/foreign/marian_binary.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "io/foreign/elements.h"
#include "io/foreign/seekable_file.h"

namespace heed::io {
namespace {

constexpr std::uint64_t kMarianVersion = 1, kMostMarianArrays = 100'000;
constexpr std::uint64_t kIntgemm = 0x4000, kBytesOfElement = 0xff;

struct MarianHeader {
  std::uint64_t name, type, dimensions, bytes;
};

/// What an element is, apart from intgemm's factor; null: unknown.
const ElementKind* kind_of(std::uint64_t type) {
  const char* letter = "";
  switch (type & ~kBytesOfElement) {
    case 0x100:
      letter = "i";
      break;
    case 0x200:
      letter = "u";
      break;
    case 0x400:
      letter = "f";
      break;
    default:
      return nullptr;
  }
  return element_kind_of_numpy(concat(letter, type & kBytesOfElement));
}

/// The parts of a file one after the other, none of which may reach beyond its end.
class MarianCursor {
 public:
  explicit MarianCursor(const SeekableFile& file) : file_(file) {}

  std::uint64_t at() const { return at_; }
  void skip(std::uint64_t bytes, const char* what) {
    if (bytes > file_.size() - at_)
      fail(file_.name(), ": a binary model of Marian, and ", what, " reach beyond its ", file_.size(),
           " bytes: truncated?");
    at_ += bytes;
  }
  template <class T>
  void read(std::span<T> values, const char* what) {
    const std::uint64_t begin = at_;
    skip(values.size_bytes(), what);
    file_.read_at(begin, std::as_writable_bytes(values));
  }
  std::uint64_t number(const char* what) {
    std::uint64_t value = 0;
    read(std::span(&value, 1), what);
    return value;
  }

 private:
  const SeekableFile& file_;
  std::uint64_t at_ = 0;
};

class MarianBinary : public ArrayFile {
 public:
  explicit MarianBinary(const std::string& path) : file_(path) {
    MarianCursor cursor(file_);
    if (const std::uint64_t version = cursor.number("the header's numbers"); version != kMarianVersion)
      fail(file_.name(), ": version ", version, " of Marian's binary models, wanted ", kMarianVersion);
    const std::uint64_t count = cursor.number("the header's numbers");
    if (count > kMostMarianArrays || count * sizeof(MarianHeader) > file_.size())
      fail(file_.name(), ": ", count, " arrays in ", file_.size(), " bytes: damaged?");
    std::vector<MarianHeader> headers(count);
    cursor.read(std::span(headers), "the headers of arrays");
    read_names(headers, cursor);
    read_shapes(headers, cursor);
    cursor.skip(cursor.number("the arrays' shapes"), "the bytes before the values");
    for (std::size_t i = 0; i < headers.size(); ++i) add_place(i, headers[i], cursor);
    if (cursor.at() != file_.size())
      fail(file_.name(), ": ", file_.size() - cursor.at(), " bytes behind the values: damaged?");
  }

  Tensor read(std::size_t index) const override {
    const Shape& shape = arrays_.at(index).shape;
    Tensor tensor = read_block(index, 0, shape);
    return places_[index].is_transposed ? in_c_order(tensor, shape) : std::move(tensor);
  }

  void read_rows(std::size_t index, const RowSink& take) const override {
    if (places_.at(index).is_transposed) return ArrayFile::read_rows(index, take);
    read_blocks(
        arrays_[index].shape,
        [&](std::int64_t first, const Shape& block) { return read_block(index, first, block); }, take);
  }

 private:
  struct Place {
    const ElementKind* kind = nullptr;
    std::uint64_t begin = 0;
    float unit = 0;  ///< what 1 stands for; 0: the elements are the values
    bool is_transposed = false;
  };

  void read_names(const std::vector<MarianHeader>& headers, MarianCursor& cursor) {
    std::unordered_set<std::string> names;
    for (const MarianHeader& header : headers) {
      if (header.name < 2 || header.name > kMostNameBytes)
        fail(file_.name(), ": a name of ", header.name, " bytes, wanted 2 to ", kMostNameBytes);
      std::string name(header.name, '\0');
      cursor.read(std::span(name), "the names of arrays");
      if (name.find('\0') != name.size() - 1 || !is_utf8(name))
        fail(file_.name(), ": the name \"", escaped(name), "\" is no text ended by NUL");
      name.pop_back();
      if (!names.insert(name).second) fail(file_.name(), ": two arrays are named ", escaped(name));
      arrays_.push_back({std::move(name), "", {}});
    }
  }

  void read_shapes(const std::vector<MarianHeader>& headers, MarianCursor& cursor) {
    for (std::size_t i = 0; i < headers.size(); ++i) {
      if (headers[i].dimensions > kMostDimensions)
        fail(where(i), ": ", headers[i].dimensions, " dimensions, wanted at most ", kMostDimensions);
      std::vector<std::int32_t> sizes(headers[i].dimensions);
      cursor.read(std::span(sizes), "the arrays' shapes");
      for (const std::int32_t size : sizes)
        if (size < 0) fail(where(i), ": a dimension of ", size, ": damaged?");
      arrays_[i].shape.assign(sizes.begin(), sizes.end());
    }
  }

  /// Takes the values of array `index` from the cursor.
  void add_place(std::size_t index, const MarianHeader& header, MarianCursor& cursor) {
    ArrayInfo& info = arrays_[index];
    const bool scaled = (header.type & kIntgemm) != 0;
    Place place{kind_of(header.type & ~kIntgemm), cursor.at()};
    if (!place.kind || (scaled && place.kind->name[0] != 'i'))
      fail(where(index), ": its type, ", header.type,
           ", is unknown or packed for one kind of processor: convert the model again, by marian-conv "
           "--gemm-type intgemm8 or float32");
    std::uint64_t bits = 0;
    if (!count_bits(info.shape, place.kind->bits, bits) ||
        header.bytes < bits / 8 + (scaled ? sizeof(float) : 0))
      fail(where(index), ": ", header.bytes, " bytes for the shape ", to_string(info.shape), " of ",
           place.kind->name, ": damaged?");
    cursor.skip(header.bytes, "the values");
    info.type = scaled ? concat("scaled ", place.kind->name) : place.kind->name;
    if (scaled) {
      float factor = 0;
      file_.read_at(place.begin + bits / 8, std::as_writable_bytes(std::span(&factor, 1)));
      place.unit = 1 / factor;
      if (!(std::isnormal(place.unit) && place.unit > 0))
        fail(where(index), ": integers with the factor ", factor,
             ", wanted a normal number above 0: damaged?");
      place.is_transposed = info.shape.size() == 2 && info.name.find("Wemb") == std::string::npos;
    }
    places_.push_back(place);
  }

  /// Rows of this shape, from number `first` on.
  Tensor read_block(std::size_t index, std::int64_t first, const Shape& shape) const {
    const Place& place = places_[index];
    const std::int64_t skipped =
        first > 0 ? first * (element_count(shape) / shape[0]) * (place.kind->bits / 8) : 0;
    const std::uint64_t at = place.begin + static_cast<std::uint64_t>(skipped);
    Tensor stored = read_elements(*place.kind, shape, false, file_.from(at), where(index));
    if (place.unit == 0) return stored;
    std::vector<float> values(static_cast<std::size_t>(stored.size()));
    with_type(stored.dtype(), [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>)
        std::ranges::transform(stored.values<T>(), values.begin(),
                               [&](T q) { return static_cast<float>(q) * place.unit; });
    });
    return Tensor::of(std::move(values), shape);
  }

  std::string where(std::size_t index) const {
    return concat(file_.name(), ":/", escaped(arrays_[index].name));
  }

  SeekableFile file_;
  std::vector<Place> places_;  ///< of arrays_
};

}  // namespace

bool is_marian_binary(std::string_view head) {
  return head.starts_with(std::string_view("\1\0\0\0\0\0\0\0", 8));
}

std::unique_ptr<ArrayFile> open_marian_binary(const std::string& path) {
  return std::make_unique<MarianBinary>(path);
}

}  // namespace heed::io
