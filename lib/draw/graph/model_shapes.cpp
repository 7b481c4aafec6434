#include "draw/graph/model_shapes.h"

#include <algorithm>

#include "base/error.h"

namespace heed::draw {
namespace {

const Tensor* find_parameter(const TensorMap& map, const std::string& name) {
  return name.empty() ? nullptr : map.find("model/parameters/" + name);
}

}  // namespace

ModelShapes::ModelShapes(const TensorMap& map) : map_(map) {
  const Tensor& config = map.at("model/config");
  if (config.dtype() != DType::string || config.size() != 1) fail("/model/config: wanted one text");
  config_ = nlohmann::json::parse(config.values<std::string>()[0], nullptr, false);
  if (!config_.is_object()) fail("/model/config is no JSON object: is this a model file?");
}

bool ModelShapes::has(const std::string& parameter) const {
  return find_parameter(map_, parameter) != nullptr;
}

bool ModelShapes::has_scope(const std::string& scope) const {
  const std::string start = "model/parameters/" + scope + "/";
  return std::any_of(map_.tensors().begin(), map_.tensors().end(),
                     [&](const auto& tensor) { return tensor.first.starts_with(start); });
}

std::string ModelShapes::shape(const std::string& parameter, const std::string& otherwise) const {
  const Tensor* tensor = find_parameter(map_, parameter);
  if (!tensor) tensor = find_parameter(map_, otherwise);
  if (!tensor) return "";
  std::string text;
  for (std::int64_t size : tensor->shape()) text += (text.empty() ? "" : " \u00d7 ") + std::to_string(size);
  return text;
}

std::int64_t ModelShapes::size(const std::string& parameter, std::size_t axis) const {
  const Tensor* tensor = find_parameter(map_, parameter);
  return tensor && axis < tensor->shape().size() ? tensor->shape()[axis] : 0;
}

std::string ModelShapes::text(const std::string& field) const {
  const auto found = config_.find(field);
  if (found == config_.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

bool ModelShapes::flag(const std::string& field, bool otherwise) const {
  const auto found = config_.find(field);
  return found != config_.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

}  // namespace heed::draw
