#include "io/h5_guard.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "io/layout.h"

namespace heed::io {
namespace {

constexpr std::size_t kMaxName = 1024;
constexpr std::uint64_t kHonestDeflateRatio =
    64;  // deflate can reach 1032, tensors that are worth reading do not
constexpr std::size_t kMaxFixedStringBytes = 1 << 20;
constexpr std::uint64_t kSmallChange = std::uint64_t{16} << 20;  // bytes that any file may claim

std::int64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::int64_t>(pages) * size : INT64_MAX;
}

void check_storage(hid_t plist, const std::string& where) {
  if (H5Pget_layout(plist) == H5D_VIRTUAL) {
    fail(where, ": a virtual dataset, which reads other files: copy it with h5repack first");
  }
  if (H5Pget_external_count(plist) != 0) {
    fail(where, ": stored in an external file: copy it with h5repack first");
  }
}

/// The names of filters that other programs use, for messages.
std::string name_of_filter(H5Z_filter_t id) {
  static const std::map<H5Z_filter_t, const char*> names{{H5Z_FILTER_SZIP, "szip"},
                                                         {H5Z_FILTER_NBIT, "nbit"},
                                                         {H5Z_FILTER_SCALEOFFSET, "scale-offset"},
                                                         {32000, "lzf"},
                                                         {32001, "blosc"},
                                                         {32004, "lz4"},
                                                         {32008, "bitshuffle"},
                                                         {32015, "zstd"}};
  const auto known = names.find(id);
  return known == names.end() ? "" : concat(" (", known->second, ")");
}

std::vector<H5Z_filter_t> checked_filters(hid_t plist, const std::string& where) {
  std::vector<H5Z_filter_t> seen;
  const int count = H5Pget_nfilters(plist);
  require(count, where, ": cannot read its filters");
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t id =
        H5Pget_filter2(plist, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    const bool known = id == H5Z_FILTER_DEFLATE || id == H5Z_FILTER_SHUFFLE || id == H5Z_FILTER_FLETCHER32;
    if (!known) {
      fail(where, ": compressed with filter ", id, name_of_filter(id),
           ": only deflate, shuffle and fletcher32 are read; h5repack -f GZIP=1 converts it");
    }
    if (std::count(seen.begin(), seen.end(), id)) fail(where, ": the same filter twice");
    seen.push_back(id);
  }
  return seen;
}

Shape checked_shape(hid_t dataset, const std::string& where) {
  Handle space = own(H5Dget_space(dataset), H5Sclose, where, ": cannot read its shape");
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  if (kind == H5S_NULL) fail(where, ": has no shape (null dataspace)");
  const int rank = H5Sget_simple_extent_ndims(space);
  require(rank, where, ": cannot read its shape");
  if (std::cmp_greater(rank, kMaxRank))
    fail(where, ": has ", rank, " dimensions, at most ", kMaxRank, " are read");
  std::vector<hsize_t> size(static_cast<std::size_t>(rank));
  require(H5Sget_simple_extent_dims(space, size.data(), nullptr), where, ": cannot read its shape");
  Shape shape;
  for (hsize_t n : size) {
    if (n > INT64_MAX) fail(where, ": a dimension of ", n, " elements");
    shape.push_back(static_cast<std::int64_t>(n));
  }
  return shape;
}

bool is_half(hid_t type) {
  std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
  return H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
         sign == 15 && exponent == 10 && exponent_bits == 5 && mantissa == 0 && mantissa_bits == 10 &&
         H5Tget_ebias(type) == 15;
}

bool equal(hid_t type, hid_t one, hid_t other) {
  return H5Tequal(type, one) > 0 || H5Tequal(type, other) > 0;
}

bool is_bool_enum(hid_t type) {
  if (H5Tget_nmembers(type) != 2 || H5Tget_size(type) != 1) return false;
  Handle base(H5Tget_super(type), H5Tclose);
  if (base.get() < 0 || !(H5Tequal(base, H5T_STD_I8LE) > 0 || H5Tequal(base, H5T_STD_U8LE) > 0)) return false;
  for (unsigned i = 0; i < 2; ++i) {
    signed char value = -1;
    char* name = H5Tget_member_name(type, i);
    const bool fits = H5Tget_member_value(type, i, &value) >= 0 && name &&
                      std::strcmp(name, value == 0 ? "FALSE" : "TRUE") == 0 && (value == 0 || value == 1);
    H5free_memory(name);
    if (!fits) return false;
  }
  return true;
}

[[noreturn]] void fail_type(const std::string& what, const std::string& where) {
  fail(where, ": holds ", what, " values; wanted float32, float64, int32, int64, uint8 or strings");
}

DType float_type(hid_t type, const std::string& where) {
  if (equal(type, H5T_IEEE_F32LE, H5T_IEEE_F32BE)) return DType::f32;
  if (equal(type, H5T_IEEE_F64LE, H5T_IEEE_F64BE)) return DType::f64;
  if (H5Tget_size(type) == 2 && is_half(type)) return DType::f32;
  fail_type(concat(8 * H5Tget_size(type), "-bit floating point"), where);
}

DType integer_type(hid_t type, const std::string& where) {
  const std::size_t size = H5Tget_size(type);
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  // The narrowest of our types that holds every value.
  if (H5Tget_precision(type) != 8 * size) fail_type("odd-sized integer", where);
  if (size == 1 && !is_signed) return DType::u8;
  if (size <= 2 || (size == 4 && is_signed)) return DType::i32;
  if (size == 4 || (size == 8 && is_signed)) return DType::i64;
  fail_type(concat(is_signed ? "" : "unsigned ", 8 * size, "-bit integer"), where);
}

void set_type(CheckedDataset& dataset, const std::string& where) {
  Handle type = own(H5Dget_type(dataset.id), H5Tclose, where, ": cannot read its type");
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      dataset.dtype = float_type(type, where);
      break;
    case H5T_INTEGER:
      dataset.dtype = integer_type(type, where);
      break;
    case H5T_ENUM:
      if (!is_bool_enum(type)) fail_type("enumeration", where);
      dataset.dtype = DType::u8;
      dataset.is_bool = true;
      break;
    case H5T_STRING:
      dataset.dtype = DType::string;
      dataset.is_fixed_string = H5Tis_variable_str(type) == 0;
      dataset.item_bytes = static_cast<std::int64_t>(sizeof(std::string));
      if (dataset.is_fixed_string) {
        if (H5Tget_size(type) > kMaxFixedStringBytes)
          fail(where, ": strings of ", H5Tget_size(type), " bytes");
        dataset.item_bytes += static_cast<std::int64_t>(H5Tget_size(type));
      }
      return;
    case H5T_REFERENCE:
      fail_type("reference", where);
    case H5T_COMPOUND:
      fail_type("compound", where);
    case H5T_VLEN:
      fail_type("ragged (variable-length)", where);
    default:
      fail_type("opaque or unknown", where);
  }
  dataset.item_bytes = element_type(dataset.dtype).bytes;
}

/// HDF5 decompresses whole chunks, so a whole chunk must fit the budget, not only the selected part.
void check_chunk(hid_t plist, CheckedDataset& dataset, const std::string& where, const ByteBudget& budget) {
  if (H5Pget_layout(plist) != H5D_CHUNKED) return;
  hsize_t size[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(plist, H5S_MAX_RANK, size);
  if (rank != static_cast<int>(dataset.shape.size())) fail(where, ": its chunks have ", rank, " dimensions");
  for (int i = 0; i < rank; ++i) {
    if (size[i] == 0 || size[i] > INT64_MAX) fail(where, ": a chunk of ", size[i], " elements");
    dataset.chunk.push_back(static_cast<std::int64_t>(size[i]));
  }
  ByteBudget room = budget;
  std::int64_t bytes;
  if (__builtin_mul_overflow(element_count(dataset.chunk), dataset.item_bytes, &bytes)) bytes = INT64_MAX;
  room.take(bytes, where + ": one chunk");
}

/// Exceptions must not travel through C code: names are collected first, opened later.
struct Links {
  std::vector<std::string> names;
  std::string error;
};

const char* name_of_link(H5L_type_t type) {
  return type == H5L_TYPE_SOFT ? "soft" : type == H5L_TYPE_EXTERNAL ? "external" : "user-defined";
}

herr_t collect_link(hid_t, const char* name, const H5L_info_t* info, void* data) {
  auto& links = *static_cast<Links*>(data);
  const std::string_view text = name;
  if (info->type != H5L_TYPE_HARD) {
    links.error = concat("/", escaped(text), ": a ", name_of_link(info->type),
                         " link; only hard links are followed: h5repack or h5copy makes a plain file");
  } else if (text.empty() || text.size() > kMaxName || text == "." || text.find('/') != text.npos) {
    links.error =
        concat("/", escaped(text), ": an object name of ", text.size(), " bytes that no tensor can have");
  } else if (links.names.size() >= 65536) {
    links.error = "more than 65536 objects in one group";
  } else {
    links.names.emplace_back(text);
    return 0;
  }
  return 1;
}

}  // namespace

ByteBudget::ByteBudget(std::uint64_t stored)
    : text_most_(static_cast<std::int64_t>(std::min<std::uint64_t>(stored, INT64_MAX / 2) + kSmallChange)) {
  const std::int64_t machine = machine_memory();
  std::uint64_t honest;
  if (__builtin_mul_overflow(stored, kHonestDeflateRatio, &honest)) honest = INT64_MAX;
  honest = std::min<std::uint64_t>(honest, INT64_MAX - kSmallChange) + kSmallChange;
  by_stored_ = honest < static_cast<std::uint64_t>(machine);
  most_ = by_stored_ ? static_cast<std::int64_t>(honest) : machine;
}

void ByteBudget::take(std::int64_t bytes, const std::string& what) {
  if (bytes <= left()) {
    used_ += bytes;
    return;
  }
  fail(what, ": needs ", bytes, " bytes of memory, only ", left(), " are ",
       by_stored_ ? "plausible for a file of this size: damaged or malicious"
                  : "in this machine: use smaller batches");
}

void ByteBudget::take_text(std::int64_t bytes, const std::string& what) {
  take(bytes, what);
  text_used_ += bytes;
}

CheckedDataset open_checked(Handle object, const std::string& where, const ByteBudget& budget) {
  CheckedDataset dataset;
  dataset.id = std::move(object);
  // Storage first: asking a virtual dataset for its shape would already open other files.
  Handle plist = own(H5Dget_create_plist(dataset.id), H5Pclose, where, ": cannot read its storage");
  check_storage(plist, where);
  dataset.filters = checked_filters(plist, where);
  dataset.shape = checked_shape(dataset.id, where);
  set_type(dataset, where);
  std::int64_t bytes;
  std::int64_t count = 1;
  for (std::int64_t size : dataset.shape) {
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count)) {
      fail(where, ": shape ", to_string(dataset.shape), " is too large");
    }
  }
  if (__builtin_mul_overflow(count, dataset.item_bytes, &bytes)) {
    fail(where, ": shape ", to_string(dataset.shape), " is too large");
  }
  check_chunk(plist, dataset, where, budget);
  // Data never written are read as a fill value, which costs the file nothing but the reader memory.
  if (dataset.dtype != DType::string && bytes > static_cast<std::int64_t>(kSmallChange) &&
      static_cast<std::uint64_t>(bytes) / kHonestDeflateRatio > H5Dget_storage_size(dataset.id))
    fail(where, ": needs ", bytes, " bytes of memory, but only ", H5Dget_storage_size(dataset.id),
         " bytes are stored: never written, damaged or malicious");
  return dataset;
}

void for_each_object(hid_t group, const std::string& where,
                     const std::function<bool(const std::string&)>& wanted,
                     const std::function<void(const std::string&, H5I_type_t, Handle)>& visit) {
  Links links;
  hsize_t at = 0;
  const herr_t result = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, collect_link, &links);
  if (!links.error.empty()) fail(where, links.error);
  require(result, where, ": cannot list the group");
  for (const std::string& name : links.names) {
    if (!wanted(name)) continue;
    Handle object =
        own(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose, where, "/", escaped(name), ": cannot open");
    const H5I_type_t kind = H5Iget_type(object);
    visit(name, kind, std::move(object));
  }
}

}  // namespace heed::io
