#include "io/foreign/torch_file.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.h"
#include "io/foreign/elements.h"
#include "io/foreign/state_dict.h"

namespace heed::io {
namespace {

constexpr std::string_view kPickle = "/data.pkl";

std::string text_of(const SeekableFile& file, const ZipMember& member, std::size_t most) {
  const std::string where = concat(file.name(), ":/", escaped(member.name));
  if (member.size > most) fail(where, ": ", member.size, " bytes, wanted at most ", most);
  ZipReader reader(file, member);
  std::string text(static_cast<std::size_t>(member.size), '\0');
  reader.read(std::as_writable_bytes(std::span(text)));
  return text;
}

class TorchFile : public ArrayFile {
 public:
  explicit TorchFile(const std::string& path) : file_(path), members_(read_zip_directory(file_)) {
    const auto pickle = std::ranges::find_if(
        members_, [](const ZipMember& member) { return member.name.ends_with(kPickle); });
    if (pickle == members_.end()) fail(file_.name(), ": no checkpoint of PyTorch: data.pkl is missing");
    for (const ZipMember& member : members_) by_name_[member.name] = &member;
    prefix_ = pickle->name.substr(0, pickle->name.size() - kPickle.size());
    if (const ZipMember* order = find("/byteorder"); order && text_of(file_, *order, 16) != "little")
      fail(file_.name(), ": its values are not little endian");
    tensors_ = read_state_dict(text_of(file_, *pickle, kMostPickleBytes),
                               concat(file_.name(), ":/", escaped(pickle->name)));
    for (const PickledTensor& tensor : tensors_) {
      const ElementKind& kind = *element_kind_of_safetensors(tensor.type);
      arrays_.push_back({tensor.name, kind.name, tensor.shape});
      storages_.push_back(&storage_of(tensor, kind));
    }
  }

  Tensor read(std::size_t index) const override {
    const PickledTensor& tensor = tensors_.at(index);
    const ElementKind& kind = *element_kind_of_safetensors(tensor.type);
    ZipReader reader(file_, *storages_[index]);
    const std::uint64_t before = static_cast<std::uint64_t>(tensor.offset) * bytes_of(kind);
    skip(reader, before);
    const Tensor values = read_elements(
        kind, tensor.shape, false, [&](auto bytes) { reader.read(bytes); }, where(tensor));
    skip(reader,  // so that its checksum is checked
         storages_[index]->size - before -
             static_cast<std::uint64_t>(element_count(tensor.shape)) * bytes_of(kind));
    return values;
  }

 private:
  static std::uint64_t bytes_of(const ElementKind& kind) { return static_cast<std::uint64_t>(kind.bits) / 8; }
  std::string where(const PickledTensor& tensor) const {
    return concat(file_.name(), ":/", escaped(tensor.name));
  }
  const ZipMember* find(const std::string& name) const {
    const auto found = by_name_.find(prefix_ + name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  const ZipMember& storage_of(const PickledTensor& tensor, const ElementKind& kind) const {
    const ZipMember* member = find("/data/" + tensor.storage);
    if (!member)
      fail(where(tensor), ": its values, the member data/", escaped(tensor.storage), ", are missing");
    if (member->deflated) fail(where(tensor), ": its values are deflated, wanted stored ones");
    if (member->size / bytes_of(kind) != static_cast<std::uint64_t>(tensor.elements) ||
        member->size % bytes_of(kind) != 0)
      fail(where(tensor), ": ", tensor.elements, " values of ", kind.name,
           " were saved, but the member data/", escaped(tensor.storage), " has ", member->size, " bytes");
    return *member;
  }
  static void skip(ZipReader& reader, std::uint64_t bytes) {
    std::array<std::byte, 1 << 14> block;
    while (bytes > 0) {
      const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), bytes));
      reader.read(part);
      bytes -= part.size();
    }
  }

  SeekableFile file_;
  std::vector<ZipMember> members_;
  std::unordered_map<std::string, const ZipMember*> by_name_;
  std::string prefix_;
  std::vector<PickledTensor> tensors_;
  std::vector<const ZipMember*> storages_;  ///< of the tensors
};

}  // namespace

bool is_torch_archive(const std::vector<ZipMember>& members) {
  return std::ranges::any_of(members, [](const ZipMember& member) { return member.name.ends_with(kPickle); });
}

std::unique_ptr<ArrayFile> open_torch(const std::string& path) {
  return std::make_unique<TorchFile>(path);
}

}  // namespace heed::io
