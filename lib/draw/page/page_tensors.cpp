#include "draw/page/page_tensors.h"

#include <algorithm>

#include "base/error.h"
#include "draw/select/find_tensor.h"

namespace heed::draw {
namespace {

bool has_dim(const Tensor& tensor, const char* dim) {
  return std::find(tensor.dims().begin(), tensor.dims().end(), dim) != tensor.dims().end();
}

bool holds_maps(const Tensor& tensor) {
  const auto& dims = tensor.dims();
  return tensor.dtype() != DType::string && dims.size() >= 2 && dims.back() == "key" &&
         dims[dims.size() - 2] == "query";
}

bool is_stage(const TensorMap& map, const PageTensors& part, const std::string& path) {
  if (path == part.main || group_of(path) != part.group) return false;
  const Tensor& tensor = map.at(path);
  if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64) return false;
  const bool is_product = path == in_group(part.group, "weighted_values") &&
                          map.contains(in_group(part.group, "weights")) &&
                          map.contains(in_group(part.group, "value_vector"));
  return !is_product && (has_dim(tensor, "query") || has_dim(tensor, "key"));
}

PageTensors part_around(const TensorMap& map, const std::string& main) {
  PageTensors part{group_of(main), main, {}};
  if (!holds_maps(map.at(main))) return part;
  for (const auto& [path, tensor] : map.tensors()) {
    if (is_stage(map, part, path)) part.stages.push_back(path);
  }
  return part;
}

/// The default tensors: the attention of every group.
std::vector<std::string> attention_of(const TensorMap& map) {
  std::vector<std::string> mains;
  for (const auto& [path, tensor] : map.tensors()) {
    const std::string group = group_of(path);
    const auto info = map.groups.find(group);
    const bool has_signal = info != map.groups.end() && !info->second.signal.empty();
    const std::string main = in_group(group, has_signal ? info->second.signal : "weights");
    if (path == main && holds_maps(tensor)) mains.push_back(path);
  }
  return mains;
}

}  // namespace

std::vector<PageTensors> page_tensors_of(const TensorMap& map, const std::string& name) {
  std::vector<std::string> mains = name.empty() ? attention_of(map) : std::vector<std::string>{};
  if (mains.empty()) mains.push_back(find_tensor(map, name));
  std::vector<PageTensors> parts;
  for (const auto& main : mains) {
    if (map.at(main).dtype() == DType::string) fail("/", escaped(main), " holds text; a page needs numbers");
    parts.push_back(part_around(map, main));
  }
  return parts;
}

}  // namespace heed::draw
