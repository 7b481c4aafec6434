// The parameters of attention without a model: projections and the score's own
// (nn/attention/score_function.h), from --parameters or drawn. In the file's group stand, each where it is
// needed,
//   query/weight [d_q, heads d], key/weight [d_k, kv_heads d], value/weight [d_v, kv_heads d'], or, for all
//   three, qkv/weight side by side (--qkv-order); output/weight [heads d', d_out]; a bias [width] beside
//   each; score/weight, concat/{weight, bias}, position/query/weight, position/score/weight.
#pragma once

#include <string>
#include <vector>

#include "attend/config.h"
#include "tensor/matrix.h"
#include "tensor/tensor_map.h"

namespace heed {

struct AttendParameters {
  std::string name;   ///< what messages call them: "w.h5:/", or "drawn"
  TensorMap tensors;  ///< float32 or float64, [d_in, d_out], qkv taken apart
  std::string drawn;  ///< what was drawn, in words; empty: nothing

  bool has(const std::string& path) const { return tensors.contains(path); }
};

/// Reads config.parameters: turned when --out-in, taken apart when stacked. Throws Error on what is no
/// parameter, has the wrong type or rank, or is not finite; UsageError when qkv/weight comes without
/// --qkv-order.
AttendParameters read_parameters(const AttendConfig& config);

/// Widths of the queries and keys as given, all heads together, and the number of keys.
struct DrawSizes {
  std::int64_t d_q = 0, d_k = 0, keys = 0;
  std::int64_t heads = 1, kv_heads = 1;
  bool by_head = false;  ///< the heads are a dimension of their own: no projections
};
/// Draws what the score and the window need and `parameters` lacks, from the seed alone: a parameter does not
/// change when others are drawn beside it. Nothing is drawn beside --parameters.
void draw_parameters(const AttendConfig& config, const DrawSizes& sizes, std::int64_t seed,
                     AttendParameters& parameters);

/// A parameter as T. rank 1 is one row. Empty when there is none.
template <class T>
struct Weight {
  std::vector<T> values;
  Shape shape;  ///< of one head
  bool by_head = false;
  std::string name;  ///< "w.h5:/score/weight", for messages

  /// `rank` is that for one head; one more means that the head comes first, of which there must be `heads`.
  Weight() = default;
  Weight(const AttendParameters& parameters, const std::string& path, std::size_t rank, std::int64_t heads);
  explicit operator bool() const { return !values.empty(); }
  /// The matrix (a row, for rank 1) of a head.
  Matrix<const T> head(std::int64_t h) const;
  /// Throws Error unless the shape of one head is `wanted`; -1 fits any size.
  void expect(const Shape& wanted, const std::string& because) const;
};

/// x W + b.
template <class T>
struct Projection {
  Weight<T> weight, bias;

  Projection() = default;
  Projection(const AttendParameters& parameters, const std::string& scope);
  explicit operator bool() const { return static_cast<bool>(weight); }
  std::int64_t width() const { return weight.shape.back(); }
  void apply(Matrix<const T> x, Matrix<T> y) const;
};

extern template struct Weight<float>;
extern template struct Weight<double>;
extern template struct Projection<float>;
extern template struct Projection<double>;

}  // namespace heed
