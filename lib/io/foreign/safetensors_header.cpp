#include "io/foreign/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/utf8.h"

namespace heed::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMostTensors = 1'000'000;
constexpr int kMostDepth = 4;

/// Events of the JSON parser; the classes below implement those that their document may have. The parser's
/// DOM would silently keep the last of two equal keys.
class JsonEvents : public json::json_sax_t {
 public:
  JsonEvents(const SeekableFile& file, std::string part) : where_(file.name() + ": " + std::move(part)) {}

  void parse(const std::string& text) {
    if (text.find('\0') != std::string::npos)
      fail(where_, " has a NUL byte");  // the parser takes it for the end
    json::sax_parse(text, this);
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(std::int64_t value) override { unexpected(concat("the number ", value)); }
  bool number_unsigned(std::uint64_t) override { unexpected("a number"); }
  bool number_float(double, const std::string& text) override { unexpected("the number " + escaped(text)); }
  bool string(std::string&) override { unexpected("a string"); }
  bool binary(json::binary_t&) override { unexpected("bytes"); }
  bool start_array(std::size_t) override { unexpected("an array"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t byte, const std::string&, const json::exception&) override {
    fail(where_, " is not valid JSON at its byte ", byte, ": damaged?");
  }

 protected:
  [[noreturn]] void unexpected(const std::string& what) const {
    fail(where_, ": ", what, " where ", wanted(), " was wanted");
  }
  virtual std::string wanted() const = 0;

  std::string where_;
};

void check_name(const std::string& name, const std::string& where) {
  if (name.empty()) fail(where, " has a tensor without a name");
  if (name.size() > kMostNameBytes)
    fail(where, " has a name of ", name.size(), " bytes, wanted at most ", kMostNameBytes);
  if (name.find('\0') != std::string::npos)
    fail(where, ": the name \"", escaped(name), "\" has a NUL character");
}

class HeaderEvents : public JsonEvents {
 public:
  struct Entry {
    std::string name, dtype;
    Shape shape;
    std::vector<std::uint64_t> offsets;
  };

  explicit HeaderEvents(const SeekableFile& file) : JsonEvents(file, "header") {}

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::before:
        place_ = Place::tensors;
        return true;
      case Place::entry:
        place_ = Place::fields;
        return true;
      case Place::metadata:
        place_ = Place::metadata_fields;
        return true;
      default:
        unexpected("an object");
    }
  }

  bool end_object() override {
    if (place_ == Place::fields && given_.size() != 3)
      fail(where_, ": \"", escaped(entries.back().name), "\" lacks one of dtype, shape and data_offsets");
    place_ = place_ == Place::tensors ? Place::after : Place::tensors;
    return true;
  }

  bool key(std::string& name) override {
    if (place_ == Place::tensors) {
      if (!names_.insert(name).second) fail(where_, ": two entries are named \"", escaped(name), "\"");
      if (name == "__metadata__") return place_ = Place::metadata, true;
      check_name(name, where_);
      if (entries.size() == kMostTensors) fail(where_, " has more than ", kMostTensors, " tensors");
      entries.push_back({name, {}, {}, {}});
      given_.clear();
      place_ = Place::entry;
    } else if (place_ == Place::metadata_fields) {
      if (metadata.contains(name)) fail(where_, ": __metadata__ gives \"", escaped(name), "\" twice");
      metadata_key_ = name;
    } else {
      const std::string entry = concat(where_, ": \"", escaped(entries.back().name), "\"");
      place_ = name == "dtype"          ? Place::dtype
               : name == "shape"        ? Place::shape
               : name == "data_offsets" ? Place::offsets
                                        : Place::fields;
      if (place_ == Place::fields) fail(entry, " has an unknown field \"", escaped(name), "\"");
      if (!given_.insert(name).second) fail(entry, " gives ", name, " twice");
    }
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata_fields) return metadata[metadata_key_] = text, true;
    if (place_ != Place::dtype) unexpected("a string");
    entries.back().dtype = text;
    place_ = Place::fields;
    return true;
  }

  bool start_array(std::size_t) override {
    if ((place_ != Place::shape && place_ != Place::offsets) || in_array_) unexpected("an array");
    return in_array_ = true;
  }
  bool end_array() override {
    if (place_ == Place::offsets && entries.back().offsets.size() != 2) unexpected("one offset");
    in_array_ = false;
    place_ = Place::fields;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (!in_array_) unexpected("a number");
    Entry& entry = entries.back();
    if (value > INT64_MAX)
      fail(where_, ": \"", escaped(entry.name), "\": the number ", value, " is too large");
    if (place_ == Place::shape) {
      if (entry.shape.size() == kMostDimensions)
        fail(where_, ": \"", escaped(entry.name), "\" has more than ", kMostDimensions, " dimensions");
      entry.shape.push_back(static_cast<std::int64_t>(value));
    } else {
      if (entry.offsets.size() == 2) unexpected("a third offset");
      entry.offsets.push_back(value);
    }
    return true;
  }

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

 private:
  enum class Place {
    before,
    tensors,
    metadata,
    metadata_fields,
    entry,
    fields,
    dtype,
    shape,
    offsets,
    after
  };

  std::string wanted() const override {
    const std::string of = entries.empty() ? "" : concat(" of \"", escaped(entries.back().name), "\"");
    switch (place_) {
      case Place::entry:
        return "the object" + of;
      case Place::metadata:
        return "the object __metadata__";
      case Place::metadata_fields:
        return concat("a string of __metadata__ (\"", escaped(metadata_key_), "\")");
      case Place::dtype:
        return "the string dtype" + of;
      case Place::shape:
        return (in_array_ ? "an integer from 0 in shape" : "the array shape") + of;
      case Place::offsets:
        return (in_array_ ? "two integers from 0 in data_offsets" : "the array data_offsets") + of;
      default:
        return "an object";
    }
  }

  Place place_ = Place::before;
  bool in_array_ = false;
  std::unordered_set<std::string> names_;
  std::set<std::string> given_;  ///< fields of the present entry
  std::string metadata_key_;
};

class IndexEvents : public JsonEvents {
 public:
  explicit IndexEvents(const SeekableFile& file) : JsonEvents(file, "index") {}

  bool start_object(std::size_t) override {
    if (depth_ == kMostDepth) fail(where_, " is nested deeper than ", kMostDepth, " levels");
    if (depth_ == 1 && key_ == "weight_map") in_map_ = true;
    if (depth_ == 2 && in_map_) unexpected("an object");
    return ++depth_ > 0;
  }
  bool end_object() override {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }
  bool key(std::string& name) override {
    key_ = name;
    if (depth_ == 1 && !keys_.insert(name).second) fail(where_, " gives \"", escaped(name), "\" twice");
    if (!in_map_) return true;
    check_name(name, where_);
    if (shards.contains(name)) fail(where_, ": weight_map gives \"", escaped(name), "\" twice");
    if (shards.size() == kMostTensors) fail(where_, " has more than ", kMostTensors, " tensors");
    return true;
  }
  bool string(std::string& text) override {
    if (in_map_) shards[key_] = text;
    return check_value("a string");
  }
  bool start_array(std::size_t) override {
    if (depth_ == kMostDepth) fail(where_, " is nested deeper than ", kMostDepth, " levels");
    if (in_map_) unexpected("an array");
    check_value("an array");
    return ++depth_ > 0;
  }
  bool end_array() override { return --depth_ > 0; }
  // Other fields of the index (total_size, ...) are ignored.
  bool null() override { return check_number("null"); }
  bool boolean(bool) override { return check_number("a boolean"); }
  bool number_integer(std::int64_t) override { return check_number("a number"); }
  bool number_unsigned(std::uint64_t) override { return check_number("a number"); }
  bool number_float(double, const std::string&) override { return check_number("a number"); }

  std::map<std::string, std::string> shards;

 private:
  bool check_value(const char* what) const {
    if (depth_ == 0 || (depth_ == 1 && key_ == "weight_map")) unexpected(what);
    return true;
  }
  bool check_number(const char* what) const {
    if (in_map_) unexpected(what);
    return check_value(what);
  }
  std::string wanted() const override {
    if (in_map_) return concat("the name of the shard of \"", escaped(key_), "\"");
    return depth_ == 0 ? "an object" : "the object weight_map";
  }

  int depth_ = 0;
  bool in_map_ = false;
  std::string key_;
  std::set<std::string> keys_;  ///< of the outermost object
};

std::string text_at(const SeekableFile& file, std::uint64_t at, std::uint64_t size) {
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read_at(at, std::as_writable_bytes(std::span(text)));
  return text;
}

StoredTensor checked(HeaderEvents::Entry entry, std::uint64_t data, const std::string& file) {
  const std::string where = concat(file, ":/", escaped(entry.name));
  StoredTensor tensor{std::move(entry.name), element_kind_of_safetensors(entry.dtype), std::move(entry.shape),
                      0, 0};
  if (!tensor.kind) fail(where, ": unknown dtype \"", escaped(entry.dtype), "\"");
  const auto [begin, end] = std::pair(entry.offsets[0], entry.offsets[1]);
  std::uint64_t bits = 0;
  if (!count_bits(tensor.shape, tensor.kind->bits, bits))
    fail(where, ": shape ", to_string(tensor.shape), " of ", tensor.kind->name, " is too large to count");
  if (bits % 8 != 0)
    fail(where, ": shape ", to_string(tensor.shape), " of ", tensor.kind->name,
         " is not a whole number of bytes");
  if (begin > end) fail(where, ": data_offsets [", begin, ", ", end, "] end before they begin");
  if (end - begin != bits / 8)
    fail(where, ": shape ", to_string(tensor.shape), " of ", tensor.kind->name, " needs ", bits / 8,
         " bytes, but data_offsets give it ", end - begin);
  // Offsets beyond the file are found with the holes; until then they must not overflow.
  tensor.begin = begin, tensor.end = end;
  if (end > UINT64_MAX - data) fail(where, ": data_offsets [", begin, ", ", end, "] lie beyond the file");
  return tensor;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const SeekableFile& file) {
  const std::string& name = file.name();
  if (file.size() < 8) fail(name, ": ", file.size(), " bytes are too short for a safetensors file: cut off?");
  std::uint64_t length = 0;
  file.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMostHeaderBytes)
    fail(name, ": claims a header of ", length, " bytes, wanted at most ", kMostHeaderBytes,
         ": not safetensors, or damaged");
  if (length > file.size() - 8)
    fail(name, ": cut short: its header needs ", length, " bytes, but only ", file.size() - 8, " follow");
  const std::string text = text_at(file, 8, length);
  if (!is_utf8(text)) fail(name, ": header is not UTF-8: damaged?");
  if (!text.starts_with('{')) fail(name, ": header does not begin with {: not safetensors, or damaged");
  HeaderEvents events(file);
  events.parse(text);

  const std::uint64_t data = 8 + length, size = file.size() - data;
  SafetensorsHeader header;
  header.metadata = std::move(events.metadata);
  for (auto& entry : events.entries) header.tensors.push_back(checked(std::move(entry), data, name));
  std::ranges::stable_sort(header.tensors, {},
                           [](const StoredTensor& t) { return std::pair(t.begin, t.end); });
  std::uint64_t end = 0;
  for (StoredTensor& tensor : header.tensors) {
    if (tensor.begin != end)
      fail(name, ":/", escaped(tensor.name), ": begins at byte ", tensor.begin, " of the values, wanted ",
           end,
           tensor.begin < end ? ", where the tensor before it ends: they overlap"
                              : ": there is a hole before it");
    end = tensor.end;
    tensor.begin += data, tensor.end += data;
  }
  if (end > size)
    fail(name, ": cut short: its tensors need ", end, " bytes, but only ", size, " follow the header");
  if (end < size) fail(name, ": ", size - end, " bytes after the last tensor belong to none");
  return header;
}

std::map<std::string, std::string> read_safetensors_index(const SeekableFile& file) {
  if (file.size() > kMostHeaderBytes)
    fail(file.name(), ": ", file.size(), " bytes are too many for an index");
  const std::string text = text_at(file, 0, file.size());
  if (!is_utf8(text)) fail(file.name(), ": index is not UTF-8: damaged?");
  IndexEvents events(file);
  events.parse(text);
  if (events.shards.empty()) fail(file.name(), ": index without tensors in weight_map");
  return std::move(events.shards);
}

}  // namespace heed::io
