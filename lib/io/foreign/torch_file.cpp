#include "io/foreign/torch_file.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "io/foreign/elements.h"
#include "io/foreign/state_dict.h"

namespace heed::io {
namespace {

constexpr std::string_view kPickle = "/data.pkl";
/// The maximal ratio of the tensors' bytes to those of their storages. Tied embeddings have up to four names;
/// more is a small file that would fill the memory.
constexpr std::uint64_t kMostShared = 8;

std::string content_of(const SeekableFile& file, const ZipMember& member, std::size_t most) {
  const std::string where = concat(file.name(), ":/", escaped(member.name));
  if (member.size > most) fail(where, ": ", member.size, " bytes, wanted at most ", most);
  ZipReader reader(file, member);
  std::string text(static_cast<std::size_t>(member.size), '\0');
  reader.read(std::as_writable_bytes(std::span(text)));
  return text;
}

class TorchFile : public ArrayFile {
 public:
  TorchFile(SeekableFile file, std::vector<ZipMember> members)
      : file_(std::move(file)), members_(std::move(members)) {
    const auto pickle = std::ranges::find_if(
        members_, [](const ZipMember& member) { return member.name.ends_with(kPickle); });
    if (pickle == members_.end()) fail(file_.name(), ": no checkpoint of PyTorch: data.pkl is missing");
    for (const ZipMember& member : members_) by_name_[member.name] = &member;
    prefix_ = pickle->name.substr(0, pickle->name.size() - kPickle.size());
    if (const ZipMember* order = find("/byteorder"); order && content_of(file_, *order, 16) != "little")
      fail(file_.name(), ": its values are not little endian");
    tensors_ = read_state_dict(content_of(file_, *pickle, kMostPickleBytes),
                               concat(file_.name(), ":/", escaped(pickle->name)));
    std::uint64_t of_tensors = 0, of_storages = 0;  // bytes
    std::unordered_set<const ZipMember*> seen;
    for (const PickledTensor& tensor : tensors_) {
      const ElementKind& kind = *element_kind_of_safetensors(tensor.type);
      arrays_.push_back({tensor.name, kind.name, tensor.shape});
      storages_.push_back(&storage_of(tensor, kind));
      of_tensors += bytes_of(tensor, kind);
      if (seen.insert(storages_.back()).second) of_storages += storages_.back()->size;
    }
    if (of_tensors / kMostShared > of_storages)
      fail(file_.name(), ": its tensors are ", of_tensors, " bytes, which share ", of_storages,
           ", wanted at most ", kMostShared, " times as many: damaged?");
  }

  Tensor read(std::size_t index) const override {
    const PickledTensor& tensor = tensors_.at(index);
    const ElementKind& kind = *element_kind_of_safetensors(tensor.type);
    const ZipMember& storage = *storages_[index];
    const std::uint64_t before = static_cast<std::uint64_t>(tensor.offset) * bytes_of(kind);
    const auto values_of = [&](const NextBytes& next) {
      return read_elements(kind, tensor.shape, false, next, where(tensor));
    };
    if (checked_.contains(&storage)) return values_of(file_.from(storage.begin + before));
    ZipReader reader(file_, storage);
    skip(reader, before);
    Tensor values = values_of([&](auto bytes) { reader.read(bytes); });
    skip(reader, storage.size - before - bytes_of(tensor, kind));  // so that its checksum is checked
    checked_.insert(&storage);
    return values;
  }

 private:
  static std::uint64_t bytes_of(const ElementKind& kind) { return static_cast<std::uint64_t>(kind.bits) / 8; }
  static std::uint64_t bytes_of(const PickledTensor& tensor, const ElementKind& kind) {
    return static_cast<std::uint64_t>(element_count(tensor.shape)) * bytes_of(kind);
  }
  std::string where(const PickledTensor& tensor) const {
    return concat(file_.name(), ":/", escaped(tensor.name));
  }
  const ZipMember* find(const std::string& name) const {
    const auto found = by_name_.find(prefix_ + name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  const ZipMember& storage_of(const PickledTensor& tensor, const ElementKind& kind) const {
    const ZipMember* member = find("/data/" + *tensor.storage);
    if (!member)
      fail(where(tensor), ": its values, the member data/", escaped(*tensor.storage), ", are missing");
    if (member->deflated) fail(where(tensor), ": its values are deflated, wanted stored ones");
    if (member->size / bytes_of(kind) != static_cast<std::uint64_t>(tensor.elements) ||
        member->size % bytes_of(kind) != 0)
      fail(where(tensor), ": ", tensor.elements, " values of ", kind.name,
           " were saved, but the member data/", escaped(*tensor.storage), " has ", member->size, " bytes");
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
  std::vector<const ZipMember*> storages_;                ///< of the tensors
  mutable std::unordered_set<const ZipMember*> checked_;  ///< those whose checksum was seen to be right
};

}  // namespace

bool is_torch_archive(const std::vector<ZipMember>& members) {
  const auto has = [&](std::string_view ending) {
    return std::ranges::any_of(members,
                               [&](const ZipMember& member) { return member.name.ends_with(ending); });
  };
  return has(kPickle) && !has(".npy");
}

std::unique_ptr<ArrayFile> open_torch(SeekableFile file, std::vector<ZipMember> members) {
  return std::make_unique<TorchFile>(std::move(file), std::move(members));
}

}  // namespace heed::io
