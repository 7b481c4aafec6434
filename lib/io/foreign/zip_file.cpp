#include "io/foreign/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/error.h"
#include "base/utf8.h"
#include "io/superblock.h"

namespace heed::io {
namespace {

constexpr std::uint64_t kMostMembers = 1'000'000, kMostDirectoryBytes = 100'000'000;
constexpr std::uint64_t kDeflateRatio = 1032;    // a match of 258 bytes takes at least 2 bits
constexpr std::uint32_t kAbsent32 = 0xffffffff;  // the number stands in the zip64 field
constexpr std::uint16_t kAbsent16 = 0xffff;
constexpr std::uint16_t kEncrypted = 1, kSizesFollow = 8;  // flags
constexpr std::uint16_t kZip64Field = 1;

using Bytes = std::vector<std::byte>;

Bytes bytes_at(const SeekableFile& file, std::uint64_t at, std::uint64_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  file.read_at(at, bytes);
  return bytes;
}

/// Numbers and names in the order of a record.
class Record {
 public:
  Record(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}
  template <class T>
  T take() {
    return static_cast<T>(little_endian(take_bytes(sizeof(T))));
  }
  std::span<const std::byte> take_bytes(std::size_t count) {
    if (count > bytes_.size()) fail(where_, ": zip record cut short: damaged?");
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  std::string take_text(std::size_t count) {
    const auto bytes = take_bytes(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
};

/// Where the directory is.
struct Directory {
  std::uint64_t entries = 0, size = 0, begin = 0;
  std::uint64_t limit = 0;  ///< it ends before
};

constexpr std::uint64_t kLocatorBytes = 20;

bool has_zip64_end(const SeekableFile& file, std::uint64_t end) {
  if (end < kLocatorBytes) return false;
  const Bytes bytes = bytes_at(file, end - kLocatorBytes, 4);
  return Record(bytes, file.name()).take_text(4) == "PK\x06\x07";
}

/// Zip64's own end record, to which the end record at `end` defers, or which repeats it.
void read_zip64_end(const SeekableFile& file, std::uint64_t end, Directory& directory) {
  const std::string& name = file.name();
  constexpr std::uint64_t kRecordBytes = 56;
  if (end < kLocatorBytes) fail(name, ": zip64 archive without the locator of its end record: damaged?");
  const Bytes locator_bytes = bytes_at(file, end - kLocatorBytes, kLocatorBytes);
  Record locator(locator_bytes, name);
  if (locator.take_text(4) != "PK\x06\x07")
    fail(name, ": zip64 archive without the locator of its end record: damaged?");
  locator.take<std::uint32_t>();
  const auto at = locator.take<std::uint64_t>();
  const std::uint64_t limit = end - kLocatorBytes;
  if (limit < kRecordBytes || at > limit - kRecordBytes)
    fail(name, ": zip64 end record beyond the file: damaged?");
  const Bytes record_bytes = bytes_at(file, at, kRecordBytes);
  Record record(record_bytes, name);
  if (record.take_text(4) != "PK\x06\x06") fail(name, ": zip64 end record is missing: damaged?");
  record.take_bytes(12);
  if (record.take<std::uint64_t>() != 0) fail(name, ": zip archive of several disks");
  directory.entries = record.take<std::uint64_t>();
  if (record.take<std::uint64_t>() != directory.entries) fail(name, ": zip archive of several disks");
  directory.size = record.take<std::uint64_t>();
  directory.begin = record.take<std::uint64_t>();
  directory.limit = at;
}

Directory find_directory(const SeekableFile& file) {
  const std::string& name = file.name();
  constexpr std::uint64_t kEndBytes = 22, kMostComment = 0xffff;
  const std::uint64_t tail_size = std::min(file.size(), kEndBytes + kMostComment);
  const Bytes tail = bytes_at(file, file.size() - tail_size, tail_size);
  for (std::size_t at = tail.size() >= kEndBytes ? tail.size() - kEndBytes + 1 : 0; at-- > 0;) {
    Record record(std::span<const std::byte>(tail).subspan(at), name);
    if (record.take_text(4) != "PK\x05\x06") continue;
    const auto disks = record.take<std::uint32_t>();
    const auto here = record.take<std::uint16_t>(), entries = record.take<std::uint16_t>();
    Directory directory{entries, record.take<std::uint32_t>(), record.take<std::uint32_t>(), 0};
    const auto comment = record.take<std::uint16_t>();
    if (comment != tail.size() - at - kEndBytes)
      continue;  // these bytes are part of the comment, or of the data
    if (disks != 0 || here != entries) fail(name, ": zip archive of several disks");
    const std::uint64_t end = file.size() - tail.size() + at;
    directory.limit = end;
    // Some writers always have the larger record too.
    const Directory small = directory;
    const bool needs = entries == kAbsent16 || small.size == kAbsent32 || small.begin == kAbsent32;
    if (needs || has_zip64_end(file, end)) read_zip64_end(file, end, directory);
    if (!needs && (small.entries != directory.entries || small.size != directory.size ||
                   small.begin != directory.begin))
      fail(name, ": its end record and its zip64 end record disagree: damaged?");
    return directory;
  }
  fail(name, ": zip archive without an end record: cut short?");
}

/// Replaces each number that is absent by the next one of the zip64 field among `extra`.
void take_zip64(std::span<const std::byte> extra, const std::string& where,
                std::vector<std::uint64_t*> numbers) {
  std::erase_if(numbers, [](const std::uint64_t* number) { return *number != kAbsent32; });
  if (numbers.empty()) return;
  for (Record record(extra, where); !record.empty();) {
    const auto id = record.take<std::uint16_t>();
    const auto size = record.take<std::uint16_t>();
    Record field(record.take_bytes(size), where);
    if (id != kZip64Field) continue;
    for (std::uint64_t* number : numbers) *number = field.take<std::uint64_t>();
    return;
  }
}

/// Compares a member's own header, which precedes its bytes, with its entry in the directory.
void check_local_header(const SeekableFile& file, ZipMember& member, std::uint16_t flags,
                        std::uint16_t method, const Directory& directory, const std::string& where) {
  constexpr std::uint64_t kLocalBytes = 30;
  const std::uint64_t header_at = member.begin;
  if (header_at > directory.begin || directory.begin - header_at < kLocalBytes)
    fail(where, ": lies beyond the archive: damaged?");
  const Bytes fixed = bytes_at(file, header_at, kLocalBytes);
  Record record(fixed, where);
  if (record.take_text(4) != "PK\x03\x04")
    fail(where, ": no zip member at the offset given in the directory: damaged?");
  record.take<std::uint16_t>();
  const auto local_flags = record.take<std::uint16_t>(), local_method = record.take<std::uint16_t>();
  record.take<std::uint32_t>();
  const auto crc = record.take<std::uint32_t>();
  std::uint64_t packed = record.take<std::uint32_t>(), size = record.take<std::uint32_t>();
  const auto name_size = record.take<std::uint16_t>(), extra_size = record.take<std::uint16_t>();
  const std::uint64_t header_size = kLocalBytes + name_size + extra_size;
  if (header_size > directory.begin - header_at) fail(where, ": lies beyond the archive: damaged?");
  const Bytes rest = bytes_at(file, header_at + kLocalBytes, std::uint64_t{name_size} + extra_size);
  Record names(rest, where);
  if (names.take_text(name_size) != member.name || local_flags != flags || local_method != method)
    fail(where, ": the directory and the member's own header disagree about its name, flags or method");
  take_zip64(names.take_bytes(extra_size), where, {&size, &packed});
  // A writer that cannot seek puts these after the bytes, and nothing here.
  const bool follows = (flags & kSizesFollow) && crc == 0 && packed == 0 && size == 0;
  if (!follows && (crc != member.crc || packed != member.packed || size != member.size))
    fail(where,
         ": the directory and the member's own header disagree about its size or checksum: ", member.packed,
         " and ", packed, " bytes, ", member.size, " and ", size, " unpacked");
  member.begin = header_at + header_size;
  if (member.packed > directory.begin - member.begin)
    fail(where, ": its bytes lie beyond the archive: damaged?");
}

ZipMember read_entry(const SeekableFile& file, Record& record, const Directory& directory) {
  const std::string& archive = file.name();
  if (record.take_text(4) != "PK\x01\x02") fail(archive, ": zip directory is damaged");
  record.take<std::uint32_t>();
  const auto flags = record.take<std::uint16_t>(), method = record.take<std::uint16_t>();
  record.take<std::uint32_t>();
  ZipMember member;
  member.crc = record.take<std::uint32_t>();
  member.packed = record.take<std::uint32_t>();
  member.size = record.take<std::uint32_t>();
  const auto name_size = record.take<std::uint16_t>(), extra_size = record.take<std::uint16_t>();
  const auto comment_size = record.take<std::uint16_t>();
  const auto disk = record.take<std::uint16_t>();
  record.take_bytes(6);
  member.begin = record.take<std::uint32_t>();
  member.name = record.take_text(name_size);
  const std::string where = concat(archive, ":/", escaped(member.name));
  take_zip64(record.take_bytes(extra_size), where, {&member.size, &member.packed, &member.begin});
  record.take_bytes(comment_size);
  if (disk != 0) fail(archive, ": zip archive of several disks");
  if (member.name.find('\0') != std::string::npos || !is_utf8(member.name))
    fail(where, ": the name of the zip member is not UTF-8");
  if (flags & kEncrypted) {
    member.unreadable = "is encrypted";
  } else if (method != 0 && method != Z_DEFLATED) {
    member.unreadable =
        concat("is packed by zip method ", method, ", wanted 0 (stored) or ", Z_DEFLATED, " (deflated)");
  }
  member.deflated = method == Z_DEFLATED;
  check_local_header(file, member, flags, method, directory, where);
  if (!member.unreadable.empty()) return member;
  if (!member.deflated && member.packed != member.size)
    fail(where, ": stored, but ", member.packed, " bytes are said to be ", member.size);
  if (member.deflated && member.size / kDeflateRatio > member.packed)
    fail(where, ": claims to unpack ", member.packed, " bytes to ", member.size, ", more than deflate can");
  return member;
}

}  // namespace

std::vector<ZipMember> read_zip_directory(const SeekableFile& file) {
  const std::string& name = file.name();
  const Directory directory = find_directory(file);
  if (directory.size > directory.limit || directory.begin != directory.limit - directory.size)
    fail(name, ": zip directory of ", directory.size, " bytes at ", directory.begin,
         " does not end at its end record: damaged?");
  if (directory.size > kMostDirectoryBytes || directory.entries > kMostMembers)
    fail(name, ": zip directory of ", directory.entries, " members is too large");
  const Bytes bytes = bytes_at(file, directory.begin, directory.size);
  Record record(bytes, name);
  std::vector<ZipMember> members;
  std::unordered_set<std::string> names;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    members.push_back(read_entry(file, record, directory));
    if (!names.insert(members.back().name).second)
      fail(name, ": two members are named \"", escaped(members.back().name), "\"");
  }
  if (!record.empty()) fail(name, ": zip directory has more than its ", directory.entries, " members");

  std::vector<const ZipMember*> by_place;
  for (const ZipMember& member : members) by_place.push_back(&member);
  std::ranges::sort(by_place, {}, [](const ZipMember* m) { return m->begin; });
  for (std::size_t i = 1; i < by_place.size(); ++i)
    if (by_place[i - 1]->begin + by_place[i - 1]->packed > by_place[i]->begin)
      fail(name, ":/", escaped(by_place[i]->name), ": overlaps the zip member before it");
  return members;
}

// ---- reading a member ----

struct ZipReader::Inflater {
  Inflater() {
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();  // raw: without zlib's header
  }
  ~Inflater() { inflateEnd(&stream); }
  z_stream stream{};
  std::uint64_t packed_read = 0;
  bool ended = false;
  std::array<std::byte, 1 << 14> packed;
};

ZipReader::ZipReader(const SeekableFile& file, const ZipMember& member)
    : file_(file), member_(member), where_(concat(file.name(), ":/", escaped(member.name))) {
  if (!member.unreadable.empty()) fail(where_, ": ", member.unreadable);
  if (member.deflated) inflater_ = std::make_unique<Inflater>();
}

ZipReader::~ZipReader() = default;

/// Inflates into `bytes` until the deflated data end; returns the number of bytes.
std::size_t ZipReader::inflate_into(std::span<std::byte> bytes) {
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  while (stream.avail_out > 0 && !inflater_->ended) {
    if (stream.avail_in == 0) {
      const std::uint64_t left = member_.packed - inflater_->packed_read;
      const auto in =
          std::span(inflater_->packed).first(std::min<std::uint64_t>(inflater_->packed.size(), left));
      file_.read_at(member_.begin + inflater_->packed_read, in);
      inflater_->packed_read += in.size();
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(in.size());
    }
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) fail(where_, ": its deflated bytes are damaged");
    inflater_->ended = result == Z_STREAM_END;
  }
  return bytes.size() - stream.avail_out;
}

void ZipReader::read(std::span<std::byte> bytes) {
  if (bytes.size() > member_.size - read_) fail(where_, ": cut short: has only ", member_.size, " bytes");
  while (!bytes.empty()) {
    const auto part =
        bytes.first(std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));  // zlib counts in 32 bits
    if (!inflater_) {
      file_.read_at(member_.begin + read_, part);
    } else if (inflate_into(part) < part.size()) {
      fail(where_, ": unpacks to fewer than ", member_.size, " bytes");
    }
    crc_ =
        static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(part.data()), part.size()));
    read_ += part.size();
    bytes = bytes.subspan(part.size());
  }
  if (read_ < member_.size) return;
  std::byte extra[1];
  if (inflater_ && inflate_into(extra) > 0) fail(where_, ": unpacks to more than ", member_.size, " bytes");
  if (crc_ != member_.crc) fail(where_, ": its checksum (CRC-32) is wrong: damaged");
}

}  // namespace heed::io
