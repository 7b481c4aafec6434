#include "tensor/tensor_map.h"

#include <algorithm>

#include "base/error.h"
#include "base/paths.h"

namespace heed {

const char* name_of(DType dtype) {
  constexpr const char* names[] = {"float32", "float64", "int32", "int64", "uint8", "string"};
  return names[static_cast<int>(dtype)];
}

void expect_float32(const std::string& name, DType dtype) {
  if (dtype == DType::f32) return;
  fail(name, ": holds ", name_of(dtype), " values, wanted float32",
       dtype == DType::f64 ? ": NumPy makes float64 unless told otherwise, as by .astype('float32')" : "");
}

DType Tensor::dtype() const {
  constexpr DType order[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::string};
  return order[data_.index()];
}

void Tensor::adopt(std::size_t count, Shape shape, std::vector<std::string> dims) {
  if (element_count(shape) != static_cast<std::int64_t>(count)) {
    fail("a tensor of shape ", to_string(shape), " cannot hold ", count, " values");
  }
  if (!dims.empty() && dims.size() != shape.size()) {
    fail("a tensor of shape ", to_string(shape), " has ", dims.size(), " dimension names");
  }
  shape_ = std::move(shape);
  dims_ = std::move(dims);
}

void Tensor::check_type(DType wanted) const {
  if (dtype() != wanted) fail("holds ", name_of(dtype()), " values, wanted ", name_of(wanted));
}

Tensor& TensorMap::add(const std::string& path, Tensor tensor) {
  if (contains(path)) fail("/", path, ": there are two tensors of this name");
  return tensors_.emplace_back(path, std::move(tensor)).second;
}

const Tensor* TensorMap::find(const std::string& path) const {
  auto it = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.first == path; });
  return it == tensors_.end() ? nullptr : &it->second;
}

const Tensor& TensorMap::at(const std::string& path) const {
  if (const Tensor* t = find(path)) return *t;
  std::vector<std::string> present;
  for (const auto& [name, tensor] : tensors_) present.push_back(name);
  fail("/", escaped(path), " is missing; present: ", present.empty() ? "nothing" : listed_paths(present));
}

Tensor& TensorMap::at(const std::string& path) {
  return const_cast<Tensor&>(std::as_const(*this).at(path));
}

std::int64_t TensorMap::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [path, tensor] : tensors_) {
    bytes += tensor.size() * item_bytes(tensor.dtype());
    if (tensor.dtype() == DType::string)
      for (const std::string& text : tensor.values<std::string>()) bytes += std::ssize(text);
  }
  return bytes;
}

void TensorMap::erase(const std::string& path) {
  std::erase_if(tensors_, [&](const auto& t) { return t.first == path; });
}

void TensorMap::merge(TensorMap other) {
  for (auto& [path, tensor] : other.tensors_) {
    erase(path);
    add(path, std::move(tensor));
  }
  for (auto& [path, group] : other.groups) groups[path] = std::move(group);
  for (auto& [name, value] : other.attributes) attributes[name] = std::move(value);
}

}  // namespace heed
