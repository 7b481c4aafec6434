// The mapping of another program's tensors to parameters. A family lists the mapping for the sizes of a
// model, by loops, with the shape of each tensor; import reads the list from left to right and export from
// right to left, so no mapping may lose information.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "tensor/matrix.h"

namespace heed::foreign {

/// A range of rows or columns, end excluded.
struct Slice {
  std::int64_t begin = 0, end = 0;
};

/// A tensor that contains a parameter. It is viewed as a matrix: [n, ...] has n rows, a vector has one row.
/// The parameter is the concatenation of `slices` along `axis`, or its transpose. Without slices the
/// parameter is the whole tensor; then, untransposed, only the number of values must agree ([1, n] fills
/// [n]).
struct Mapping {
  std::string source;
  Shape shape;  ///< of the source tensor
  std::string parameter;
  bool transposed = false;
  int axis = 0;               ///< 0: slices of rows, 1: of columns
  std::vector<Slice> slices;  ///< empty: the whole tensor

  /// "as is", "transposed", "columns 0:32", "rows 0:8 16:24, transposed"
  std::string transform() const;
  /// Fills the parameter from the values of whole rows of the source, which begin at `first_row`. The shapes
  /// have been checked.
  void fill(std::span<const float> values, std::int64_t first_row, Matrix<float> parameter) const;
  /// The inverse: writes the parameter to its place in the source's values.
  void put_back(Matrix<const float> parameter, std::span<float> source) const;
};

class Mappings {
 public:
  void add(Mapping mapping) { list_.push_back(std::move(mapping)); }
  /// The tensor unchanged.
  void same(const std::string& source, Shape shape, const std::string& parameter);
  /// [out, in] there, [in, out] here.
  void transposed(const std::string& source, Shape shape, const std::string& parameter);
  /// <source>.weight [d_out, d_in], .bias [d_out]  ->  <scope>/weight [d_in, d_out], /bias.
  void linear(const std::string& source, const std::string& scope, std::int64_t d_in, std::int64_t d_out,
              bool bias = true);
  /// Linear layers that share one tensor, <source>.weight [out of all, d_in], .bias [out of all]  ->
  /// <scope><name>/weight, /bias.
  void stacked(const std::string& source, std::int64_t d_in, const std::string& scope,
               const std::vector<std::pair<const char*, std::int64_t>>& parts, bool bias = false);
  /// <source>.weight, .bias  ->  <scope>/gamma, /beta.
  void norm(const std::string& source, const std::string& scope, std::int64_t d, bool beta = true);
  /// A second copy of `original`, which a file may or may not have. If the two differ, import fails: a family
  /// that can do without the tie asks Source::tied (family.h) first.
  void copy(const std::string& source, const std::string& original) { copies_.push_back({source, original}); }
  /// Ignores tensors whose names match the glob.
  void ignore(const std::string& glob, const std::string& reason) { ignored_.push_back({glob, reason}); }
  /// The names in a file may all lack this prefix ("transformer."), which the list has.
  void optional_prefix(const std::string& prefix) { prefixes_.push_back(prefix); }
  /// Names that end in `usual` may all end in `other` in a file (".LayerNorm.weight", ".LayerNorm.gamma").
  void other_ending(const std::string& usual, const std::string& other) {
    endings_.push_back({usual, other});
  }

  struct Copy {
    std::string source, original;
  };
  struct Ignored {
    std::string glob, reason;
  };
  const std::vector<Mapping>& list() const { return list_; }
  const std::vector<Copy>& copies() const { return copies_; }
  const std::vector<Ignored>& ignored() const { return ignored_; }
  const std::vector<std::string>& prefixes() const { return prefixes_; }
  const std::vector<std::pair<std::string, std::string>>& endings() const { return endings_; }

 private:
  std::vector<Mapping> list_;
  std::vector<Copy> copies_;
  std::vector<Ignored> ignored_;
  std::vector<std::string> prefixes_;
  std::vector<std::pair<std::string, std::string>> endings_;
};

}  // namespace heed::foreign
