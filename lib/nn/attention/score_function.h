// Score functions: e = score(q, k), how well a query q [d_q] and a key k [d_k] of one head match. Each is
// defined once, in a file of its own in this folder: equation, source, parameters, what is computed once per
// memory, forward and backward. The models and `attend` compute scores from these definitions alone. To add
// one, write <name>.cpp beside dot.cpp and add its line to score_list.h.
//
// Of several heads, each parameter may have the head as a first dimension; without it the heads share it.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/shape.h"
#include "tensor/kernels.h"
#include "tensor/matrix.h"

namespace heed {

/// Sizes of one head: d_q, d_k, d_q + d_k, the width a of an inner network, and the number of known
/// positions.
enum class Size : std::uint8_t { query, key, both, hidden, positions };

struct ScoreSizes {
  std::int64_t d_q = 0, d_k = 0;
  std::int64_t hidden = 0;
  std::int64_t positions = 0;

  std::int64_t of(Size size) const;
};

struct ScoreParameter {
  const char* name;         ///< "score/weight"
  const char* letter;       ///< in the formula
  std::vector<Size> shape;  ///< of one head
  bool optional = false;
  bool linear = false;  ///< x W: other programs store it as [d_out, d_in]

  Shape shape_of(const ScoreSizes& sizes) const;
};

/// A linear map x W + b applied before the comparison. W is a parameter, its transpose, or those of its rows
/// that belong to the query (the first) or to the key (the last d_k).
struct ScoreMap {
  enum class Part : std::uint8_t { whole, transposed, query_rows, key_rows };
  const char* weight = nullptr;  ///< none: x is compared unchanged
  Part part = Part::whole;
  const char* bias = nullptr;  ///< may be absent

  explicit operator bool() const { return weight != nullptr; }
  /// The first row of W in a parameter with `rows` rows.
  std::int64_t first(std::int64_t rows, std::int64_t d_k) const {
    return part == Part::key_rows ? rows - d_k : 0;
  }
  std::int64_t count(std::int64_t rows, std::int64_t d_k) const {
    return part == Part::key_rows ? d_k : part == Part::query_rows ? rows - d_k : rows;
  }
};

/// Queries and keys, each query compared with all keys.
template <class T>
struct ScoreBlock {
  ScoreSide<T> q, k;           ///< [n, w], [m, w]
  Matrix<const T> weight;      ///< ScoreFunction::weight, if any
  std::int64_t first_key = 0;  ///< position of the first key in its sentence
};
/// Buffers to which derivatives are added.
template <class T>
struct ScoreGradients {
  Matrix<T> q, k, weight;
};

/// A score function's arithmetic in T. Equal rows give equal scores, however the queries are divided into
/// blocks.
template <class T>
struct ScoreKernels {
  /// e [n, m] = score(q, k).
  void (*forward)(const ScoreBlock<T>& at, Matrix<T> e);
  /// Adds d_e times the derivatives of e.
  void (*backward)(const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& gradients);
  /// Computed once for each query or key, before all comparisons: prepared [rows, prepared width].
  void (*prepare)(Matrix<const T> x, Matrix<T> prepared) = nullptr;
};

struct ScoreFunction {
  std::string name;
  std::string formula;  ///< in the letters of the parameters
  std::vector<ScoreParameter> parameters{};
  /// Queries and keys are compared in a common space: in models they are projected by query/weight [d_q, a]
  /// (with query/bias [a], if any) and key/weight [d_k, a].
  bool projected = false;
  ScoreMap query{}, key{};
  const char* weight = nullptr;  ///< the parameter used in the comparison
  std::int64_t (*prepared_width)(std::int64_t w) =
      nullptr;  ///< for a row as wide as w; none: nothing is prepared
  ScoreKernels<float> in_float{};
  ScoreKernels<double> in_double{};

  template <class T>
  const ScoreKernels<T>& kernels() const {
    if constexpr (std::is_same_v<T, float>) {
      return in_float;
    } else {
      return in_double;
    }
  }
  /// The compared vectors have width a, not d_q.
  bool compares_inside() const { return projected || query; }
  /// Scores belong to positions, whose number is fixed.
  bool knows_positions() const;
};

/// The functions of score_list.h, in its order.
const std::vector<ScoreFunction>& score_functions();
/// "dot", "scaled-dot", ...
std::vector<std::string> score_function_names();
/// Throws UsageError on a name that is not in the list.
const ScoreFunction& score_function(const std::string& name);
/// A line of help for each score function with parameters: its formula, and their names and shapes.
std::string score_function_help();

/// 1 / sqrt(d_k), the factor of scaled-dot.
double scaled_dot_factor(std::int64_t d_k);

struct NamedShape {
  std::string name;
  Shape shape;
};

}  // namespace heed
