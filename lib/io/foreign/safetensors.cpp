#include "io/foreign/safetensors.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/bfloat16.h"
#include "base/error.h"
#include "base/utf8.h"
#include "io/foreign/safetensors_header.h"
#include "io/text_writer.h"

namespace heed::io {
namespace {

class Safetensors : public ArrayFile {
 public:
  /// Adds the tensors of `path`; returns their number.
  void add_file(const std::string& path) {
    SeekableFile& file = *files_.emplace_back(std::make_unique<SeekableFile>(path));
    SafetensorsHeader header = read_safetensors_header(file);
    if (files_.size() == 1) metadata_ = std::move(header.metadata);
    for (StoredTensor& tensor : header.tensors) {
      arrays_.push_back({std::move(tensor.name), tensor.kind->name, std::move(tensor.shape)});
      places_.push_back({&file, tensor.kind, tensor.begin});
    }
  }
  const std::string& file_of(std::size_t index) const { return places_[index].file->name(); }

  Tensor read(std::size_t index) const override {
    const Place& place = places_.at(index);
    return read_elements(*place.kind, arrays_[index].shape, false, place.file->from(place.begin),
                         where(index));
  }

  void read_rows(std::size_t index, const RowSink& take) const override {
    const Place& place = places_.at(index);
    const NextBytes next = place.file->from(place.begin);
    read_blocks(
        arrays_[index].shape,
        [&](std::int64_t, const Shape& block) {
          return read_elements(*place.kind, block, false, next, where(index));
        },
        take);
  }

 private:
  std::string where(std::size_t index) const {
    return concat(places_[index].file->name(), ":/", escaped(arrays_[index].name));
  }

  struct Place {
    const SeekableFile* file;
    const ElementKind* kind;
    std::uint64_t begin;
  };
  std::vector<std::unique_ptr<SeekableFile>> files_;
  std::vector<Place> places_;  ///< of arrays_
};

/// A shard must be a file in the folder itself.
void check_shard_name(const std::string& shard, const std::string& index) {
  if (shard.empty() || shard.find_first_of("/\\") != std::string::npos ||
      shard.find('\0') != std::string::npos || shard.find("..") != std::string::npos || shard.size() > 255)
    fail(index, ": \"", escaped(shard), "\" is not the name of a file in this folder");
}

/// A tensor as it is written.
struct Output {
  const char* dtype;
  std::int64_t bytes;  ///< of an element
  int rank;            ///< greater ones come first
};

Output output_of(const std::string& path, const Tensor& tensor, FloatsAs floats) {
  switch (tensor.dtype()) {
    case DType::f32:
      return floats == FloatsAs::float16    ? Output{"F16", 2, 2}
             : floats == FloatsAs::bfloat16 ? Output{"BF16", 2, 3}
                                            : Output{"F32", 4, 5};
    case DType::f64:
      return {"F64", 8, 6};
    case DType::i32:
      return {"I32", 4, 4};
    case DType::i64:
      return {"I64", 8, 7};
    case DType::u8: {
      const auto kind = tensor.attributes.find("dtype");
      const bool is_bool = kind != tensor.attributes.end() && kind->second == Attribute(std::string("bool"));
      return is_bool ? Output{"BOOL", 1, 0} : Output{"U8", 1, 1};
    }
    case DType::string:
      break;
  }
  fail("/", escaped(path), ": holds text, which safetensors files do not");
}

/// The values in 16 bits.
std::vector<std::uint16_t> narrowed(const std::string& path, const Tensor& tensor, FloatsAs floats) {
  std::vector<std::uint16_t> out;
  out.reserve(static_cast<std::size_t>(tensor.size()));
  for (float value : tensor.values<float>()) {
    out.push_back(floats == FloatsAs::float16 ? to_half(value) : to_bfloat16(value));
    const float back = floats == FloatsAs::float16 ? from_half(out.back()) : from_bfloat16(out.back());
    if (std::isfinite(value) && !std::isfinite(back))
      fail("/", escaped(path), ": ", value, " is too large for ",
           floats == FloatsAs::float16 ? "float16: try bfloat16" : "bfloat16");
  }
  return out;
}

template <class T>
std::string_view raw_bytes(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

std::unique_ptr<ArrayFile> open_safetensors(const std::string& path) {
  auto file = std::make_unique<Safetensors>();
  file->add_file(path);
  return file;
}

std::unique_ptr<ArrayFile> open_safetensors_shards(const std::string& index) {
  const std::string name = escaped(index);
  const auto shards = read_safetensors_index(SeekableFile(index));
  std::set<std::string> files;
  for (const auto& [tensor, shard] : shards) {
    check_shard_name(shard, name);
    files.insert(shard);
  }
  const std::filesystem::path folder = std::filesystem::path(index).parent_path();
  auto model = std::make_unique<Safetensors>();
  std::set<std::string> found;
  for (const std::string& file : files) {
    std::size_t next = model->arrays().size();
    model->add_file((folder / file).string());
    for (; next < model->arrays().size(); ++next) {
      const std::string& tensor = model->arrays()[next].name;
      const auto claim = shards.find(tensor);
      if (claim == shards.end() || claim->second != file)
        fail(model->file_of(next), ":/", escaped(tensor), ": ", name,
             claim == shards.end() ? std::string(" does not know it")
                                   : concat(" says that it is in ", escaped(claim->second)),
             ": do the files belong together?");
      found.insert(tensor);
    }
  }
  for (const auto& [tensor, shard] : shards)
    if (!found.contains(tensor)) fail(name, ": \"", escaped(tensor), "\" is not in ", escaped(shard));
  return model;
}

void write_safetensors(const std::string& path, const TensorMap& map, FloatsAs floats) {
  struct Entry {
    const std::string* name;
    const Tensor* tensor;
    Output as;
  };
  std::vector<Entry> entries;
  for (const auto& [name, tensor] : map.tensors()) {
    if (!is_utf8(name)) fail("/", escaped(name), ": its name is not UTF-8");
    if (name == "__metadata__")
      fail("/", name, ": wanted another name, since safetensors files keep their attributes by this one");
    entries.push_back({&name, &tensor, output_of(name, tensor, floats)});
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::pair(-a.as.rank, *a.name) < std::pair(-b.as.rank, *b.name);
  });

  nlohmann::ordered_json header;
  for (const auto& [name, value] : map.attributes)
    if (const auto* text = std::get_if<std::string>(&value); text && is_utf8(*text))
      header["__metadata__"][name] = *text;
  header["__metadata__"]["format"] = "pt";
  std::int64_t end = 0;
  for (const Entry& entry : entries) {
    const std::int64_t begin = end;
    end += entry.tensor->size() * entry.as.bytes;
    header[*entry.name] = {
        {"dtype", entry.as.dtype}, {"shape", entry.tensor->shape()}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the values are aligned
  const std::uint64_t length = text.size();

  TextWriter file(path);
  file.write(raw_bytes(std::span(&length, 1)));
  file.write(text);
  for (const Entry& entry : entries) {
    if (entry.as.bytes == 2) {
      file.write(raw_bytes<std::uint16_t>(narrowed(*entry.name, *entry.tensor, floats)));
      continue;
    }
    with_type(entry.tensor->dtype(), [&]<class T>(T) {
      if constexpr (!std::is_same_v<T, std::string>) file.write(raw_bytes(entry.tensor->values<T>()));
    });
  }
  file.finish();
}

}  // namespace heed::io
