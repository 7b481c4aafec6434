// The configuration of a model file and the shapes of its parameters.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tensor/tensor_map.h"

namespace heed::draw {

class ModelShapes {
 public:
  /// `map` must outlive this. Throws Error when the configuration cannot be read.
  explicit ModelShapes(const TensorMap& map);

  bool has(const std::string& parameter) const;
  /// Whether there are parameters below `scope`.
  bool has_scope(const std::string& scope) const;
  /// "128 × 256"; the shape of `otherwise` when the model has no such parameter because the two are tied; ""
  /// when it has neither.
  std::string shape(const std::string& parameter, const std::string& otherwise = "") const;
  std::int64_t size(const std::string& parameter, std::size_t axis) const;  ///< 0 without such an axis
  /// A field of the configuration as text, "" when there is none.
  std::string text(const std::string& field) const;
  bool flag(const std::string& field, bool otherwise) const;

 private:
  const TensorMap& map_;
  nlohmann::json config_;
};

}  // namespace heed::draw
