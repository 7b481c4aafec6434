// The parameters of a model: named matrices in one flat buffer, so that an optimizer is one loop over it and
// a gradient is a buffer of the same layout. Names are scope paths
// ("encoder/layer_0/self_attention/query/weight"); weights are stored [d_in, d_out], so that y = x W + b with
// tokens as rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/heap.h"
#include "base/shape.h"
#include "tensor/matrix.h"
#include "tensor/tensor_map.h"

namespace heed {

/// Initial values of a parameter.
struct Init {
  enum class Kind { zeros, ones, uniform, normal, orthogonal } kind = Kind::zeros;
  double size = 0;  ///< half width of the uniform, standard deviation of the normal

  static Init zeros() { return {Kind::zeros, 0}; }
  static Init ones() { return {Kind::ones, 0}; }
  static Init uniform(double half_width) { return {Kind::uniform, half_width}; }
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  /// Orthonormal rows or columns, whichever are fewer (Saxe, McClelland, Ganguli 2014).
  static Init orthogonal() { return {Kind::orthogonal, 1}; }
  /// Glorot, Bengio 2010, eq. 16: uniform in +-gain sqrt(6 / (d_in + d_out)).
  static Init xavier(std::int64_t d_in, std::int64_t d_out, double gain = 1);
};

/// The place of one parameter in the flat buffer. A vector (bias) is one row.
struct Parameter {
  std::string name;
  Shape shape;  ///< as stored in files: [d_in, d_out] or [d]
  std::int64_t offset = 0;
  std::int64_t rows = 0, cols = 0, row_stride = 0;
  Init init;

  template <class T>
  Matrix<T> in(T* flat) const {
    return {flat + offset, rows, cols, row_stride};
  }
};

/// Value-initialises a vector's new elements to zeros that take no memory until written. After shrinking, the
/// vector must not grow again within its allocation.
template <class T>
struct ZeroPages {
  using value_type = T;

  ZeroPages() = default;
  template <class U>
  explicit(false) ZeroPages(const ZeroPages<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_zeros(count * sizeof(T))); }
  void deallocate(T* p, std::size_t count) { free_zeros(p, count * sizeof(T)); }
  template <class U>
  void construct(U*) {}  // the memory is already zero
  bool operator==(const ZeroPages&) const = default;
};

/// One of several linear layers that read the same input.
struct StackedPart {
  std::string name;
  std::int64_t d_out = 0;
  Init weight;
};

template <class T>
class ParameterSet {
 public:
  void add(const std::string& name, Shape shape, Init init);
  /// Linear layers that read the same input: <scope>/<part>/weight [d_in, d_out] and, with a `bias`,
  /// <scope>/<part>/bias [d_out] for each part, stored side by side so that one product serves them all (see
  /// stacked()).
  void add_stacked(const std::string& scope, const std::vector<StackedPart>& parts, std::int64_t d_in,
                   std::optional<Init> bias);
  /// Parts of equal width.
  void add_stacked(const std::string& scope, const std::vector<std::string>& parts, std::int64_t d_in,
                   std::int64_t d_out, Init weight, std::optional<Init> bias);

  /// Removes the unneeded parameters, before the set has values: a tool that computes with part of a model
  /// needs no memory for the rest. Asking for a parameter that was left out by place is an error, so no
  /// computation can go on as if the model had none; find() and contains() know only the others.
  void leave_out(const std::function<bool(const std::string& name)>& unneeded);

  const std::vector<Parameter>& list() const { return list_; }
  /// Throws Error if there is no such parameter.
  const Parameter& find(const std::string& name) const;
  bool contains(const std::string& name) const { return index_.count(name) != 0; }

  /// Names form a tree of words: a place is the number of a path that is a prefix of some names; 0 is the
  /// empty path, and kNowhere is returned below a place that has no such word. Descending takes neither
  /// memory nor a hash.
  static constexpr std::int32_t kNowhere = -1;
  std::int32_t below(std::int32_t place, std::string_view name) const;
  const std::string& path_of(std::int32_t place) const {
    return places_[static_cast<std::size_t>(place)].path;
  }
  /// Null if a place is only a prefix of names.
  const Parameter* parameter_at(std::int32_t place) const;
  /// The parameters <place>/<part>/<field> of adjacent stacked parts viewed as one matrix, without a name and
  /// shape. Throws Error if one is missing.
  Parameter stacked(std::int32_t place, const std::vector<std::string>& parts, std::string_view field) const;

  /// The flat buffer; its pieces are aligned to 16 elements, and the few elements between pieces and rows
  /// stay zero. It is allocated, zeroed, when first requested, so adding parameters moves none.
  std::span<T> values();
  /// Throws Error if the buffer has not been allocated.
  std::span<const T> values() const;
  Matrix<T> view(const std::string& name) { return find(name).in(values().data()); }
  Matrix<const T> view(const std::string& name) const { return find(name).in(values().data()); }
  /// Number of trainable numbers, without the elements between pieces.
  std::int64_t count() const;

  /// Draws all parameters again; each depends only on the seed and its name, none on the number of threads.
  void initialize(std::uint64_t seed, int threads = 1);
  /// Draws only this parameter.
  void initialize(const Parameter& p, std::uint64_t seed);

  /// Dense float32 tensors <prefix><name> from a flat buffer of this layout (parameters, moments, averages).
  void to_map(std::span<const T> flat, const std::string& prefix, TensorMap& map) const;
  /// The inverse: fills `flat`; throws Error on missing, misshapen, unknown or non-finite tensors.
  void from_map(const TensorMap& map, const std::string& prefix, std::span<T> flat) const;

 private:
  struct Place {
    std::string path;
    std::size_t word = 0;             ///< offset of the last word in the path
    std::vector<std::int32_t> below;  ///< the places one word below
    std::int32_t parameter = kNowhere;
  };

  static constexpr std::int32_t kLeftOut = -2;  ///< the parameter of a place was left out

  void append(Parameter p);
  static std::int64_t end_of(const Parameter& p);

  std::vector<Place> places_{1};
  std::vector<Parameter> list_;
  std::unordered_map<std::string, std::size_t> index_;
  std::int64_t size_ = 0;  ///< size of `values_`
  std::vector<T, ZeroPages<T>> values_;
};

extern template class ParameterSet<float>;
extern template class ParameterSet<double>;

/// Fills a flat buffer of parameters with tensors that arrive one at a time, so that only one is held besides
/// it.
template <class T>
class ParameterFilling {
 public:
  /// `flat` has the layout of `parameters`; both must outlive this. A tensor is named <prefix><name>.
  ParameterFilling(const ParameterSet<T>& parameters, std::string prefix, std::span<T> flat);

  /// Accepts float32 or float64. Throws Error if the tensor is unknown or misshapen.
  void add(const std::string& path, const Tensor& tensor);
  /// Memory for the values of a tensor that is not yet read, so that add() need not copy them. Throws Error if
  /// the tensor is unknown or misshapen.
  Matrix<T> place(const std::string& path, const Shape& shape);
  /// Throws Error if a tensor is missing, or values are not finite.
  void finish() const;

 private:
  const Parameter& find(const std::string& path, const Shape& shape) const;
  void expect_finite(const Parameter& p) const;
  std::size_t index_of(const Parameter& p) const {
    return static_cast<std::size_t>(&p - parameters_.list().data());
  }

  const ParameterSet<T>& parameters_;
  std::string prefix_;
  std::span<T> flat_;
  std::vector<bool> is_filled_;  ///< by index in the list
};

extern template class ParameterFilling<float>;
extern template class ParameterFilling<double>;

}  // namespace heed
