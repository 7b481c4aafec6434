#include "io/h5_attributes.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "base/shape.h"

namespace heed::io {
namespace {

constexpr std::size_t kMaxAttributeBytes = 64000;  // HDF5's own limit is 65,536 with headers
constexpr hssize_t kMaxList = 1024;
constexpr hsize_t kMaxAttributes = 1024;
constexpr std::size_t kMaxFixedString = 65536;

struct Write {
  hid_t object;
  const std::string& name;
  std::string where;

  Handle create(hid_t type, const Handle& space) const {
    return own(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, where,
               ": cannot create");
  }
  static Handle scalar() { return own(H5Screate(H5S_SCALAR), H5Sclose, "scalar"); }

  void write_text(std::span<const std::string> text, const Handle& space) const {
    std::size_t width = 1;
    for (const std::string& item : text) width = std::max(width, item.size());
    if (width * text.size() > kMaxAttributeBytes) {
      fail(where, ": ", width * text.size(), " bytes, an attribute holds at most ", kMaxAttributeBytes,
           ": store it as a tensor");
    }
    const Handle type = string_type(width), attribute = create(type, space);
    if (text.empty()) return;
    std::vector<char> fields(width * text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i].find('\0') != std::string::npos)
        fail(where, ": contains a NUL byte, which HDF5 strings cannot hold");
      std::copy(text[i].begin(), text[i].end(), fields.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
    require(H5Awrite(attribute, type, fields.data()), where, ": cannot write");
  }

  void operator()(const std::string& value) const { write_text({&value, 1}, scalar()); }
  void operator()(std::int64_t value) const {
    require(H5Awrite(create(H5T_STD_I64LE, scalar()), H5T_NATIVE_INT64, &value), where, ": cannot write");
  }
  void operator()(double value) const {
    require(H5Awrite(create(H5T_IEEE_F64LE, scalar()), H5T_NATIVE_DOUBLE, &value), where, ": cannot write");
  }
  void operator()(const std::vector<std::string>& list) const {
    if (list.size() > static_cast<std::size_t>(kMaxList)) {
      fail(where, ": a list of ", list.size(), " strings, an attribute holds at most ", kMaxList,
           ": store it as a tensor");
    }
    const hsize_t size = list.size();
    write_text(list, own(H5Screate_simple(1, &size, nullptr), H5Sclose, where));
  }
};

/// Reading: the declared type and space of an attribute, checked before any of it is read.
struct Opened {
  hid_t attribute;
  Handle type;
  hssize_t count;
  bool is_scalar;
  std::string where;
};

std::vector<std::string> read_variable_text(const Opened& a) {
  std::vector<char*> raw(static_cast<std::size_t>(a.count), nullptr);
  Handle type = own(H5Tcopy(a.type), H5Tclose, a.where);
  require(H5Aread(a.attribute, type, raw.data()), a.where, ": cannot read");
  std::vector<std::string> text;
  for (char* item : raw) {
    text.emplace_back(item ? item : "");
    H5free_memory(item);
  }
  return text;
}

std::vector<std::string> read_fixed_text(const Opened& a) {
  const std::size_t width = H5Tget_size(a.type);
  if (width == 0 || width > kMaxFixedString) fail(a.where, ": strings of ", width, " bytes");
  std::vector<char> raw(static_cast<std::size_t>(a.count) * width);
  require(H5Aread(a.attribute, a.type, raw.data()), a.where, ": cannot read");
  std::vector<std::string> text;
  for (std::size_t i = 0; i < raw.size(); i += width) text.emplace_back(&raw[i], strnlen(&raw[i], width));
  return text;
}

void read_text(const Opened& a, Attributes& into, const std::string& name) {
  const bool variable = H5Tis_variable_str(a.type) > 0;
  std::vector<std::string> text = variable ? read_variable_text(a) : read_fixed_text(a);
  if (a.is_scalar) {
    into[name] = std::move(text.at(0));
  } else {
    into[name] = std::move(text);
  }
}

/// Arrays of numbers and other classes (references, enumerations) have no place in Attributes
/// and are skipped.
void read_number(const Opened& a, Attributes& into, const std::string& name) {
  if (a.count != 1 || H5Tget_size(a.type) > 8) return;
  const H5T_class_t kind = H5Tget_class(a.type);
  if (kind == H5T_FLOAT) {
    double value = 0;
    require(H5Aread(a.attribute, H5T_NATIVE_DOUBLE, &value), a.where, ": cannot read");
    into[name] = value;
  } else if (kind == H5T_INTEGER) {
    std::int64_t value = 0;
    require(H5Aread(a.attribute, H5T_NATIVE_INT64, &value), a.where, ": cannot read");
    into[name] = value;
  }
}

struct Collector {
  Attributes attributes;
  const std::string& owner;
  bool has_dims = false;
  std::exception_ptr error;
};

void read_one(hid_t object, const char* name, Collector& into) {
  // The labels lie in a heap without checksums: read only if nothing better is there.
  if (into.has_dims && std::strcmp(name, "DIMENSION_LABELS") == 0) return;
  // References, which are no attributes here: of scales to what they are of, and back.
  if (std::strcmp(name, "DIMENSION_LIST") == 0 || std::strcmp(name, "REFERENCE_LIST") == 0) return;
  const std::string where = into.owner + " attribute " + escaped(name);
  Handle attribute = own(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, where, ": cannot open");
  Handle type = own(H5Aget_type(attribute), H5Tclose, where, ": cannot read its type");
  Handle space = own(H5Aget_space(attribute), H5Sclose, where, ": cannot read its shape");
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return;
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const H5T_class_t kind = H5Tget_class(type);
  if (count < 0 || (kind == H5T_STRING && count > kMaxList)) {
    fail(where, ": ", count, " strings, at most ", kMaxList, " are accepted");
  }
  const bool is_scalar = H5Sget_simple_extent_type(space) == H5S_SCALAR;
  Opened opened{attribute.get(), std::move(type), count, is_scalar, where};
  if (kind == H5T_STRING)
    read_text(opened, into.attributes, name);
  else
    read_number(opened, into.attributes, name);
}

/// Exceptions must not travel through C code, so the first one is kept.
herr_t visit(hid_t object, const char* name, const H5A_info_t*, void* data) {
  auto& into = *static_cast<Collector*>(data);
  try {
    read_one(object, name, into);
    return 0;
  } catch (...) {
    into.error = std::current_exception();
    return 1;
  }
}

}  // namespace

void write_attribute(hid_t object, const std::string& name, const Attribute& value,
                     const std::string& owner) {
  std::visit(Write{object, name, concat(owner, " attribute ", escaped(name))}, value);
}

Attributes read_attributes(hid_t object, const std::string& owner) {
  H5O_info_t info;
  require(H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS), owner, ": cannot read");
  if (info.num_attrs > kMaxAttributes) {
    fail(owner, ": has ", info.num_attrs, " attributes, at most ", kMaxAttributes, " are accepted");
  }
  Collector into{{}, owner, H5Aexists(object, "dims") > 0, {}};
  hsize_t at = 0;
  const herr_t result = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &at, visit, &into);
  if (into.error) std::rethrow_exception(into.error);
  require(result, owner, ": cannot read its attributes");
  return std::move(into.attributes);
}

}  // namespace heed::io
