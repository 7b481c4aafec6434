#include "nn/parameters.h"

#include <algorithm>
#include <cmath>

#include "base/digest.h"
#include "base/error.h"
#include "base/parallel.h"
#include "tensor/philox.h"

namespace heed {

namespace {

constexpr std::int64_t kAlignment = 16;

/// Rows whose components along another are found at the same time: each is a sum in the order of the columns, so that one
/// alone would wait for every addition.
constexpr std::int64_t kRowsAtOnce = 4;

/// row -= (row . unit) unit, of `rows` rows side by side.
template <std::int64_t rows, class T>
void remove_component(const T* unit, std::int64_t cols, T* row) {
  double along[rows] = {};
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t r = 0; r < rows; ++r) along[r] += static_cast<double>(row[r * cols + j]) * unit[j];
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < cols; ++j) row[r * cols + j] -= static_cast<T>(along[r] * unit[j]);
}

/// Gram-Schmidt over the rows; there must be no more rows than columns.
template <class T>
void orthonormalize(Matrix<T> m) {
  std::vector<T> dense(static_cast<std::size_t>(m.rows * m.cols));
  const Matrix<T> y(dense.data(), m.rows, m.cols);
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.cols; ++j) y(i, j) = m(i, j);
  for (std::int64_t k = 0; k < y.rows; ++k) {
    double squares = 0;
    for (std::int64_t j = 0; j < y.cols; ++j) squares += static_cast<double>(y(k, j)) * y(k, j);
    for (std::int64_t j = 0; j < y.cols; ++j) y(k, j) /= static_cast<T>(std::sqrt(squares));
    std::int64_t i = k + 1;
    for (; i + kRowsAtOnce <= y.rows; i += kRowsAtOnce)
      remove_component<kRowsAtOnce>(y.row(k), y.cols, y.row(i));
    for (; i < y.rows; ++i) remove_component<1>(y.row(k), y.cols, y.row(i));
  }
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.cols; ++j) m(i, j) = y(i, j);
}

}  // namespace

Init Init::xavier(std::int64_t d_in, std::int64_t d_out, double gain) {
  return uniform(gain * std::sqrt(6.0 / static_cast<double>(d_in + d_out)));
}

template <class T>
void ParameterSet<T>::append(Parameter p) {
  if (!index_.emplace(p.name, list_.size()).second) fail("two parameters are named ", p.name);
  std::int32_t place = 0;
  for (std::size_t word = 0, end = 0; end < p.name.size(); word = end + 1) {
    end = std::min(p.name.find('/', word), p.name.size());
    std::int32_t next = below(place, std::string_view(p.name).substr(word, end - word));
    if (next == kNowhere) {
      next = static_cast<std::int32_t>(places_.size());
      places_[static_cast<std::size_t>(place)].below.push_back(next);
      places_.push_back({p.name.substr(0, end), word, {}});
    }
    place = next;
  }
  places_[static_cast<std::size_t>(place)].parameter = static_cast<std::int32_t>(list_.size());
  size_ = std::max(size_, end_of(p));
  list_.push_back(std::move(p));
}

/// The next aligned offset.
template <class T>
std::int64_t ParameterSet<T>::end_of(const Parameter& p) {
  const std::int64_t end = p.offset + (p.rows - 1) * p.row_stride + p.cols;
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

template <class T>
void ParameterSet<T>::leave_out(const std::function<bool(const std::string& name)>& unneeded) {
  std::vector<std::int32_t> numbers(list_.size(), kLeftOut);  // by those before
  std::vector<Parameter> kept;
  index_.clear();
  size_ = 0;
  std::int64_t end = 0, shift = 0;  // of stacked parameters, which lie within each other, one
  for (std::size_t i = 0; i < list_.size(); ++i) {
    Parameter& p = list_[i];
    if (unneeded(p.name)) continue;
    if (p.offset >= end) shift = p.offset - size_;
    end = std::max(end, end_of(p));
    p.offset -= shift;
    size_ = std::max(size_, end_of(p));
    numbers[i] = static_cast<std::int32_t>(kept.size());
    index_.emplace(p.name, kept.size());
    kept.push_back(std::move(p));
  }
  list_ = std::move(kept);
  for (Place& place : places_)
    if (place.parameter >= 0) place.parameter = numbers[static_cast<std::size_t>(place.parameter)];
}

template <class T>
void ParameterSet<T>::add(const std::string& name, Shape shape, Init init) {
  Parameter p;
  p.name = name;
  p.rows = shape.size() == 1 ? 1 : shape.at(0);
  p.cols = shape.back();
  p.row_stride = p.rows == 1 ? p.cols : spread_stride(p.cols);
  p.offset = size_;
  p.shape = std::move(shape);
  p.init = init;
  append(std::move(p));
}

template <class T>
void ParameterSet<T>::add_stacked(const std::string& scope, const std::vector<StackedPart>& parts,
                                  std::int64_t d_in, std::optional<Init> bias) {
  std::int64_t at = size_, width = 0;
  for (const StackedPart& part : parts) width += part.d_out;
  const std::int64_t stride = spread_stride(width);
  for (const StackedPart& part : parts) {
    append(
        {scope + "/" + part.name + "/weight", {d_in, part.d_out}, at, d_in, part.d_out, stride, part.weight});
    at += part.d_out;
  }
  if (!bias) return;
  at = size_;
  for (const StackedPart& part : parts) {
    append({scope + "/" + part.name + "/bias", {part.d_out}, at, 1, part.d_out, part.d_out, *bias});
    at += part.d_out;
  }
}

template <class T>
void ParameterSet<T>::add_stacked(const std::string& scope, const std::vector<std::string>& parts,
                                  std::int64_t d_in, std::int64_t d_out, Init weight,
                                  std::optional<Init> bias) {
  std::vector<StackedPart> same;
  for (const std::string& part : parts) same.push_back({part, d_out, weight});
  add_stacked(scope, same, d_in, bias);
}

template <class T>
const Parameter& ParameterSet<T>::find(const std::string& name) const {
  auto it = index_.find(name);
  if (it == index_.end()) fail("the model has no parameter ", name);
  return list_[it->second];
}

namespace {

/// Whether the path begins with the word and ends there, or goes on with a slash. Lengths are compared before
/// letters: a step of a search looks up dozens of names in each layer.
bool begins_with_word(std::string_view path, std::string_view word) {
  if (path.size() != word.size() && (path.size() < word.size() || path[word.size()] != '/')) return false;
  return path.starts_with(word);
}

}  // namespace

template <class T>
std::int32_t ParameterSet<T>::below(std::int32_t place, std::string_view name) const {
  const auto last_word = [&](std::int32_t of) {
    const Place& at = places_[static_cast<std::size_t>(of)];
    return std::string_view(at.path).substr(at.word);
  };
  while (place != kNowhere && !name.empty()) {
    const std::vector<std::int32_t>& next = places_[static_cast<std::size_t>(place)].below;
    const auto found =
        std::ranges::find_if(next, [&](std::int32_t i) { return begins_with_word(name, last_word(i)); });
    if (found == next.end()) return kNowhere;
    place = *found;
    name.remove_prefix(std::min(last_word(place).size() + 1, name.size()));
  }
  return place;
}

template <class T>
const Parameter* ParameterSet<T>::parameter_at(std::int32_t place) const {
  const std::int32_t number =
      place == kNowhere ? kNowhere : places_[static_cast<std::size_t>(place)].parameter;
  if (number == kLeftOut)
    fail("the parameter ", path_of(place),
         " is needed, but was left out when the model was read: a bug in heed");
  return number == kNowhere ? nullptr : &list_[static_cast<std::size_t>(number)];
}

template <class T>
Parameter ParameterSet<T>::stacked(std::int32_t place, const std::vector<std::string>& parts,
                                   std::string_view field) const {
  Parameter whole;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Parameter* next = parameter_at(below(below(place, parts[i]), field));
    if (!next && place == kNowhere)
      fail("the model has no parameters in the scope of the stacked ", parts[i], "/", field);
    if (!next) fail("the model has no parameter ", path_of(place), "/", parts[i], "/", field);
    if (i == 0) {
      whole.offset = next->offset;
      whole.rows = next->rows;
      whole.row_stride = next->row_stride;
    } else if (next->offset != whole.offset + whole.cols || next->rows != whole.rows) {
      fail(path_of(place), ": ", parts[i], "/", field, " does not lie beside ", parts[i - 1]);
    }
    whole.cols += next->cols;
  }
  return whole;
}

template <class T>
std::span<T> ParameterSet<T>::values() {
  if (size_ < std::ssize(values_))
    values_ = {values_.begin(), values_.begin() + size_};  // what follows must be zeros
  values_.resize(static_cast<std::size_t>(size_));
  return values_;
}

template <class T>
std::span<const T> ParameterSet<T>::values() const {
  if (std::ssize(values_) != size_) fail("the parameters have no values yet");
  return values_;
}

template <class T>
std::int64_t ParameterSet<T>::count() const {
  std::int64_t total = 0;
  for (const Parameter& p : list_) total += p.rows * p.cols;
  return total;
}

template <class T>
void ParameterSet<T>::initialize(std::uint64_t seed, int threads) {
  values();  // allocated once, before threads ask for it
  parallel_for(std::ssize(list_), threads,
               [&](std::int64_t i) { initialize(list_[static_cast<std::size_t>(i)], seed); });
}

template <class T>
void ParameterSet<T>::initialize(const Parameter& p, std::uint64_t seed) {
  Random random(seed, hash(p.name));
  auto draw = [&]() -> double {
    switch (p.init.kind) {
      case Init::Kind::zeros:
        return 0;
      case Init::Kind::ones:
        return 1;
      case Init::Kind::uniform:
        return p.init.size * (2 * random.uniform() - 1);
      case Init::Kind::normal:
      case Init::Kind::orthogonal:
        return p.init.size * random.normal();
    }
    return 0;
  };
  const Matrix<T> m = p.in(values().data());
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.cols; ++j) m(i, j) = static_cast<T>(draw());
  }
  if (p.init.kind == Init::Kind::orthogonal) orthonormalize(m.rows <= m.cols ? m : m.t());
}

template <class T>
void ParameterSet<T>::to_map(std::span<const T> flat, const std::string& prefix, TensorMap& map) const {
  for (const Parameter& p : list_) {
    std::vector<float> dense;
    dense.reserve(static_cast<std::size_t>(p.rows * p.cols));
    Matrix<const T> m = p.in(flat.data());
    for (std::int64_t i = 0; i < m.rows; ++i) dense.insert(dense.end(), m.row(i), m.row(i) + m.cols);
    // y = x W + b: an embedding is a row selected by its id.
    const auto dims = p.shape.size() == 1 ? std::vector<std::string>{"output"}
                                          : std::vector<std::string>{"input", "output"};
    map.add(prefix + p.name, Tensor::of<float>(std::move(dense), p.shape, dims));
  }
}

template <class T>
void ParameterSet<T>::from_map(const TensorMap& map, const std::string& prefix, std::span<T> flat) const {
  ParameterFilling<T> filling(*this, prefix, flat);
  for (const Parameter& p : list_) filling.add(prefix + p.name, map.at(prefix + p.name));
  for (const auto& [path, tensor] : map.tensors())
    if (path.starts_with(prefix) && !contains(path.substr(prefix.size()))) filling.add(path, tensor);
  filling.finish();
}

template <class T>
ParameterFilling<T>::ParameterFilling(const ParameterSet<T>& parameters, std::string prefix,
                                      std::span<T> flat)
    : parameters_(parameters),
      prefix_(std::move(prefix)),
      flat_(flat),
      is_filled_(parameters.list().size(), false) {}

template <class T>
const Parameter& ParameterFilling<T>::find(const std::string& path, const Shape& shape) const {
  if (!path.starts_with(prefix_) || !parameters_.contains(path.substr(prefix_.size())))
    fail("/", path, ": no parameter of this model: is the config that of another?");
  const Parameter& p = parameters_.find(path.substr(prefix_.size()));
  expect_shape("/" + path, shape, p.shape);
  return p;
}

template <class T>
void ParameterFilling<T>::expect_finite(const Parameter& p) const {
  const Matrix<T> m = p.in(flat_.data());
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const T *begin = m.row(i), *end = begin + m.cols;
    if (const T* odd = std::find_if_not(begin, end, [](T x) { return std::isfinite(x); }); odd != end)
      fail("/", prefix_, p.name, ": element ", i * m.cols + (odd - begin), " is ", *odd);
  }
}

template <class T>
void ParameterFilling<T>::add(const std::string& path, const Tensor& tensor) {
  const Parameter& p = find(path, tensor.shape());
  const auto fill = [&](auto source) {
    Matrix<T> m = p.in(flat_.data());
    for (std::int64_t i = 0; i < m.rows; ++i)
      std::copy_n(&source[static_cast<std::size_t>(i * m.cols)], m.cols, m.row(i));
  };
  if (tensor.dtype() == DType::f64)
    fill(tensor.values<double>());
  else
    fill(tensor.values<float>());
  is_filled_[index_of(p)] = true;
}

template <class T>
Matrix<T> ParameterFilling<T>::place(const std::string& path, const Shape& shape) {
  const Parameter& p = find(path, shape);
  is_filled_[index_of(p)] = true;
  return p.in(flat_.data());
}

template <class T>
void ParameterFilling<T>::finish() const {
  for (std::size_t i = 0; i < is_filled_.size(); ++i) {
    if (!is_filled_[i]) fail("/", prefix_, parameters_.list()[i].name, " is missing");
    expect_finite(parameters_.list()[i]);
  }
}

template class ParameterSet<float>;
template class ParameterSet<double>;
template class ParameterFilling<float>;
template class ParameterFilling<double>;

}  // namespace heed
