// Graphs of models and of their parts, with shapes from the model file.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "draw/graph/graph.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

class ModelShapes;

/// The graph of a model file, or of `scope` in it: a layer ("encoder/layer_0") or an attention
/// ("encoder/layer_0/self_attention"). What is drawn follows from the configuration and from the parameters
/// that are present. A map with the recorded steps of an attention (`attend --steps`) gives the graph of
/// their operations. Throws Error when the map is neither, or has no such scope.
Graph model_graph(const TensorMap& map, const std::string& scope);
/// That of a model that is no file, or of a scope in it.
Graph model_graph(const ModelShapes& model, const std::string& scope);

/// The configuration of a model and the shapes of its parameters.
class ModelShapes {
 public:
  /// Of a model file. Throws Error when the configuration cannot be read.
  explicit ModelShapes(const TensorMap& map);
  /// `config`: JSON, as in a model file; `shapes`: by the names of the parameters.
  ModelShapes(const std::string& config, std::map<std::string, Shape> shapes);

  bool has(const std::string& parameter) const;
  /// "128 × 256"; the shape of `otherwise` if the model lacks the parameter because the two are tied; "" if
  /// it has neither.
  std::string shape(const std::string& parameter, const std::string& otherwise = "") const;
  std::int64_t size(const std::string& parameter, std::size_t axis) const;  ///< 0 without such an axis
  /// A field of the configuration as text, "" when there is none.
  std::string text(const std::string& field) const;
  bool flag(const std::string& field, bool otherwise) const;
  /// The sliding window of the self-attention within `scope`, a layer or what is in it, as text; "" if it sees all
  /// positions.
  std::string window(const std::string& scope) const;
  /// In words what it sees within its window; "" if all positions.
  std::string seen(const std::string& scope) const;
  /// `words`, which are of positions, with the part of a head that they turn, unless that is all of it.
  std::string with_part(const std::string& words) const;

 private:
  const Shape* find(const std::string& parameter) const;  ///< null if there is none

  nlohmann::json config_;
  std::map<std::string, Shape> shapes_;
};

/// Adds nodes for the places of an image, or features of them, that an encoder reads; returns the input node
/// of the first layer.
std::size_t add_places(Graph& graph, const ModelShapes& model);

/// The graph of a recurrent model at one decoder step, if it has a decoder; none for other architectures.
std::optional<Graph> recurrent_graph(const ModelShapes& model, const std::string& architecture);

/// The recurrent layer at `scope` or directly below it; the forward one of a bidirectional layer. "" if there
/// is none.
std::string recurrent_scope(const ModelShapes& model, const std::string& scope);

/// One step of the recurrent layer at `scope`, operation by operation (the equations of nn/recurrent.h).
/// Throws Error for an unknown cell.
Graph cell_graph(const ModelShapes& model, const std::string& scope);

/// The multi-head attention at `scope` of a model: projections, scaled dot products, softmax, weighted sum,
/// projection. Throws Error when there is none.
Graph multi_head_graph(const ModelShapes& model, const std::string& scope);

/// The operations between the recorded steps of an attention (attend/), with their shapes. `group` is where
/// they are stored; empty: attention. Throws Error when there are none.
Graph steps_graph(const TensorMap& map, const std::string& group);

}  // namespace heed::draw
