// The parameters of attention without a model: projections and those of the score function
// (nn/attention/score_function.h), from --parameters or drawn at random. The file's group holds, as far as
// needed,
//   query/weight [d_q, heads d], key/weight [d_k, kv_heads d], value/weight [d_v, kv_heads d'], or all three
//   stacked as qkv/weight (--qkv-order); output/weight [heads d', d_out]; a bias [width] beside each;
//   score/weight, concat/{weight, bias}, position/query/weight, position/score/weight.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "attend/config.h"
#include "base/error.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"
#include "tensor/tensor_map.h"

namespace heed {

struct AttendParameters {
  std::string name;   ///< for messages: "w.h5:/", or "drawn"
  TensorMap tensors;  ///< float32 or float64, [d_in, d_out], with qkv split
  std::string drawn;  ///< what was drawn, for a message; empty: nothing

  bool has(const std::string& path) const { return tensors.contains(path); }
};

/// Reads config.parameters: transposes them for --out-in, splits stacked ones. Throws Error on an unknown
/// parameter, a wrong type or rank, or a value that is not finite; UsageError on qkv/weight without
/// --qkv-order.
AttendParameters read_parameters(const AttendConfig& config);

/// Widths of the input queries and keys, all heads together, and the number of keys.
struct DrawSizes {
  std::int64_t d_q = 0, d_k = 0, keys = 0;
  std::int64_t heads = 1, kv_heads = 1;
  bool by_head = false;  ///< the heads are a separate dimension: no projections
};
/// Draws the parameters of the score and the window that `parameters` lacks. Each depends on the seed and its
/// own name alone. With --parameters nothing is drawn.
void draw_parameters(const AttendConfig& config, const DrawSizes& sizes, std::int64_t seed,
                     AttendParameters& parameters);

/// A parameter as T; a vector is a matrix of one row. Empty if there is none.
template <class T>
struct Weight {
  std::vector<T> values;
  Shape shape;  ///< of one head
  bool by_head = false;
  std::string name;  ///< "w.h5:/score/weight", for messages

  /// `rank` is the rank for one head; with one more dimension the head comes first and must have size
  /// `heads`.
  Weight(const AttendParameters& parameters, const std::string& path, std::size_t rank, std::int64_t heads)
      : name(parameters.name + path) {
    const Tensor* tensor = parameters.tensors.find(path);
    if (!tensor) return;
    shape = tensor->shape();
    by_head = shape.size() == rank + 1;
    if (shape.size() != rank && (!by_head || shape[0] != heads)) {
      fail(name, ": shape ", to_string(shape), ", wanted ", rank, " dimensions, or ", rank + 1,
           " of which the first is heads = ", heads);
    }
    if (by_head) shape.erase(shape.begin());
    with_type(tensor->dtype(), [&]<class Stored>(Stored) {
      const auto from = tensor->values<Stored>();
      if constexpr (std::is_floating_point_v<Stored>) values.assign(from.begin(), from.end());
    });
  }
  explicit operator bool() const { return !values.empty(); }
  /// The matrix (for a vector, a row) of a head.
  Matrix<const T> head(std::int64_t h) const {
    const std::int64_t rows = shape.size() == 1 ? 1 : shape[0];
    return {values.data() + (by_head ? h * rows * shape.back() : 0), rows, shape.back()};
  }
  /// Throws Error unless the shape for one head is `wanted`; -1 matches any size.
  void expect(const Shape& wanted, const std::string& because) const {
    const auto fits = [](std::int64_t want, std::int64_t size) { return want == -1 || want == size; };
    if (std::ranges::equal(wanted, shape, fits)) return;
    fail(name, ": shape ", to_string(shape), by_head ? " of each head" : "", ", wanted ", to_string(wanted),
         " ", because);
  }
};

/// x W + b.
template <class T>
struct Projection {
  Weight<T> weight, bias;

  Projection(const AttendParameters& parameters, const std::string& scope)
      : weight(parameters, scope + "/weight", 2, 0), bias(parameters, scope + "/bias", 1, 0) {
    if (bias && !weight) fail(bias.name, ": has no weight beside it");
    if (bias) bias.expect({width()}, "as wide as its weight");
  }
  explicit operator bool() const { return static_cast<bool>(weight); }
  std::int64_t width() const { return weight.shape.back(); }
  void apply(Matrix<const T> x, Matrix<T> y) const {
    gemm<T>(1, x, weight.head(0), 0, y);
    if (bias) bias_activation_dropout<T>(bias.values, Activation::none, Dropout{}, y);
  }
};

}  // namespace heed
