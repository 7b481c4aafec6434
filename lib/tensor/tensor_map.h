// The data type that all stages exchange: an ordered set of named tensors whose dimensions have names.
// Files, pipes, parameters, traces and golden data are all tensor maps. A name is a path without a leading
// slash ("attention/weights"); the part before the last slash is the tensor's group.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/shape.h"

namespace heed {

enum class DType : std::uint8_t { f32, f64, i32, i64, u8, string };

const char* name_of(DType dtype);
/// Throws Error, beginning with `name`, unless the values are float32.
void expect_float32(const std::string& name, DType dtype);

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_of<std::string> {
  static constexpr DType value = DType::string;
};

/// Calls use(T()) with the element type T that `dtype` names.
template <class Use>
decltype(auto) with_type(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::f32:
      return use(float());
    case DType::f64:
      return use(double());
    case DType::i32:
      return use(std::int32_t());
    case DType::i64:
      return use(std::int64_t());
    case DType::u8:
      return use(std::uint8_t());
    case DType::string:
      break;
  }
  return use(std::string());
}

/// Of an element in memory; of a string without its text.
inline std::int64_t item_bytes(DType dtype) {
  return with_type(dtype, []<class T>(T) { return static_cast<std::int64_t>(sizeof(T)); });
}

using Attribute = std::variant<std::string, std::int64_t, double, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

/// An owning, row-major array whose element type is known at run time, with a name for each dimension.
class Tensor {
 public:
  Tensor() = default;
  /// Zeros (empty strings). `dims` names the axes; it may be empty (unnamed), else one name per axis.
  template <class T>
  static Tensor zeros(Shape shape, std::vector<std::string> dims = {}) {
    std::vector<T> values(static_cast<std::size_t>(element_count(shape)));  // before `shape` is moved from
    return of<T>(std::move(values), std::move(shape), std::move(dims));
  }
  /// Takes `values`, whose number must fit `shape`; throws Error otherwise.
  template <class T>
  static Tensor of(std::vector<T> values, Shape shape, std::vector<std::string> dims = {}) {
    Tensor t;
    t.data_ = std::move(values);
    t.adopt(std::get<std::vector<T>>(t.data_).size(), std::move(shape), std::move(dims));
    return t;
  }

  DType dtype() const;
  const Shape& shape() const { return shape_; }
  const std::vector<std::string>& dims() const { return dims_; }
  std::int64_t size() const { return element_count(shape_); }

  /// The elements. Throws Error when the tensor holds another type.
  template <class T>
  std::span<T> values() {
    check_type(dtype_of<T>::value);
    return std::get<std::vector<T>>(data_);
  }
  template <class T>
  std::span<const T> values() const {
    check_type(dtype_of<T>::value);
    return std::get<std::vector<T>>(data_);
  }

  Attributes attributes;  ///< long_name, units, dtype="bool", ...

 private:
  void adopt(std::size_t count, Shape shape, std::vector<std::string> dims);
  void check_type(DType wanted) const;

  std::variant<std::vector<float>, std::vector<double>, std::vector<std::int32_t>, std::vector<std::int64_t>,
               std::vector<std::uint8_t>, std::vector<std::string>>
      data_;
  Shape shape_{0};
  std::vector<std::string> dims_;
};

/// How viewers present a group (NXdata): which tensor is plotted, under which title.
struct Group {
  std::string signal;                      ///< name of the plotted tensor inside the group; empty: not a plot
  std::string title;                       ///< may be empty
  std::vector<std::string> default_slice;  ///< h5web's default_slice; empty: none
  Attributes attributes;                   ///< further attributes of the group
};

class TensorMap {
 public:
  /// Adds a tensor; throws Error when the name is taken.
  Tensor& add(const std::string& path, Tensor tensor);
  /// The tensor of that name; throws Error listing the present ones.
  const Tensor& at(const std::string& path) const;
  Tensor& at(const std::string& path);
  const Tensor* find(const std::string& path) const;
  bool contains(const std::string& path) const { return find(path) != nullptr; }
  void erase(const std::string& path);
  /// The memory that the values take, roughly.
  std::int64_t bytes() const;
  /// Adds everything in `other`, whose tensors, groups and attributes replace those of the same name.
  void merge(TensorMap other);

  const std::vector<std::pair<std::string, Tensor>>& tensors() const { return tensors_; }
  std::vector<std::pair<std::string, Tensor>>& tensors() { return tensors_; }

  std::map<std::string, Group> groups;  ///< by path, without a leading slash
  Attributes attributes;                ///< of the root: format, creator, history, model_digest, ...

 private:
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

}  // namespace heed
