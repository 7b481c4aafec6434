#include "io/frame_parts.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "io/copy_part.h"
#include "io/layout.h"
#include "io/provenance.h"

namespace heed::io {
namespace {

/// Frames joined to more than this, most of it padding, are too large for what they hold.
constexpr std::int64_t kBytesPadded = std::int64_t{1} << 20;

/// The part of a tensor with these sentences, trimmed to `size`.
Tensor cut(const Tensor& tensor, std::ptrdiff_t axis, std::int64_t first, const Shape& size) {
  Shape start(size.size(), 0);
  start[static_cast<std::size_t>(axis)] = first;
  Tensor part = with_type(tensor.dtype(), [&]<class T>(T) {
    Tensor t = Tensor::zeros<T>(size, tensor.dims());
    copy_part(tensor.values<T>(), tensor.shape(), start, t.values<T>(), size, Shape(size.size(), 0), size);
    return t;
  });
  part.attributes = tensor.attributes;
  return part;
}

/// Whether the values are the same bit for bit.
bool are_equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::string) return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return std::ranges::equal(numbers_of(a), numbers_of(b));
}

/// Whether the tensor of a later frame can follow that of the first.
bool fits(const Tensor& first, const Tensor& later) {
  if (first.dtype() != later.dtype() || first.dims() != later.dims() ||
      first.shape().size() != later.shape().size())
    return false;
  const bool grows = sentence_axis_of(first.dims()) >= 0;
  for (std::size_t i = 0; i < first.shape().size(); ++i) {
    const bool varies = grows && (first.dims()[i] == kSentenceDim || is_padded_dim(first.dims()[i]));
    if (first.shape()[i] != later.shape()[i] && !varies) return false;
  }
  return grows || are_equal(first, later);
}

bool fits(const TensorMap& first, const TensorMap& later) {
  return std::ranges::equal(first.tensors(), later.tensors(), [](const auto& a, const auto& b) {
    return a.first == b.first && fits(a.second, b.second);
  });
}

bool agrees_on_sentences(const TensorMap& frame) {
  const std::int64_t sentences = sentences_of(frame);
  return std::ranges::all_of(frame.tensors(), [&](const auto& named) {
    const std::ptrdiff_t axis = sentence_axis_of(named.second.dims());
    return axis < 0 || named.second.shape()[static_cast<std::size_t>(axis)] == sentences;
  });
}

/// Whether a tensor without sentences has a dimension along which the others may become wider.
bool has_fixed_width(const TensorMap& frame) {
  return std::ranges::any_of(frame.tensors(), [&](const auto& named) {
    const auto& dims = named.second.dims();
    return sentence_axis_of(dims) < 0 && std::ranges::any_of(dims, is_padded_dim);
  });
}

}  // namespace

// ---- trimming ----

void TrimmedWidths::keep(const std::string& path, const std::vector<std::string>& dims) {
  for (const std::string& dim : dims) kept_.insert(parent_of(path) + "/" + dim);
}

std::string TrimmedWidths::dim_of_lengths(const std::string& path) const {
  for (const auto& [dim, name] : kLengthOfDim) {
    std::string trimmed = parent_of(path) + "/" + std::string(dim);
    if (leaf_of(path) == name && !kept_.contains(trimmed)) return trimmed;
  }
  return "";
}

bool TrimmedWidths::are_lengths(const std::string& path, DType dtype) const {
  return (dtype == DType::i32 || dtype == DType::i64) && !dim_of_lengths(path).empty();
}

void TrimmedWidths::set_lengths(const std::string& path, const Tensor& lengths) {
  std::int64_t longest = 0;
  with_type(lengths.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      for (const T n : lengths.values<T>()) longest = std::max<std::int64_t>(longest, n);
  });
  longest_[dim_of_lengths(path)] = longest;
}

std::int64_t TrimmedWidths::of(const std::string& path, const std::string& dim, std::int64_t size) const {
  const auto longest = longest_.find(parent_of(path) + "/" + dim);
  return longest == longest_.end() ? size : std::min(size, longest->second);
}

// ---- cutting ----

void FrameCutter::begin(TensorMap frame, const std::string& name) {
  if (!agrees_on_sentences(frame)) fail(name, ": its tensors differ in their number of sentences: damaged");
  frame_ = std::move(frame);
  sentences_ = sentences_of(frame_);
  first_ = first_sentence_of(frame_.attributes, name);
  at_ = 0;
  at_end_ = false;
}

bool FrameCutter::next(std::int64_t sentences, TensorMap& part) {
  if (at_end_) return false;
  const std::int64_t count = std::min(std::max<std::int64_t>(sentences, 1), sentences_ - at_);
  at_end_ = at_ + count >= sentences_;
  if (at_ == 0 && at_end_) {
    part = std::exchange(frame_, TensorMap());
    return true;
  }
  part = TensorMap();
  part.groups = frame_.groups;
  part.attributes = frame_.attributes;
  set_first_sentence(part.attributes, first_ + at_);
  TrimmedWidths widths;
  for (const auto& [path, tensor] : frame_.tensors())
    if (sentence_axis_of(tensor.dims()) < 0) widths.keep(path, tensor.dims());
  const auto part_of = [&](const Tensor& tensor, std::ptrdiff_t axis, Shape size) {
    size[static_cast<std::size_t>(axis)] = count;
    return cut(tensor, axis, at_, size);
  };
  for (const auto& [path, tensor] : frame_.tensors()) {
    const std::ptrdiff_t axis = sentence_axis_of(tensor.dims());
    if (axis >= 0 && widths.are_lengths(path, tensor.dtype()))
      widths.set_lengths(path, part_of(tensor, axis, tensor.shape()));
  }
  for (const auto& [path, tensor] : frame_.tensors()) {
    const std::ptrdiff_t axis = sentence_axis_of(tensor.dims());
    if (axis < 0) {
      part.add(path, tensor);
      continue;
    }
    Shape size = tensor.shape();
    for (std::size_t i = 0; i < size.size(); ++i) size[i] = widths.of(path, tensor.dims()[i], size[i]);
    part.add(path, part_of(tensor, axis, std::move(size)));
  }
  at_ += count;
  if (at_end_) frame_ = TensorMap();
  return true;
}

// ---- joining ----

bool FrameJoiner::add(const TensorMap& frame) {
  if (!agrees_on_sentences(frame) || has_fixed_width(frame)) return false;
  if (!frames_.empty() && !fits(frames_.front(), frame)) return false;
  const std::int64_t sentences = sentences_ + sentences_of(frame), bytes = bytes_ + frame.bytes();
  std::vector<Shape> shapes = shapes_;
  std::int64_t padded = 0;
  for (std::size_t i = 0; i < frame.tensors().size(); ++i) {
    const Tensor& tensor = frame.tensors()[i].second;
    if (i == shapes.size()) shapes.push_back(tensor.shape());
    std::ranges::transform(shapes[i], tensor.shape(), shapes[i].begin(), std::ranges::max);
    const std::ptrdiff_t axis = sentence_axis_of(tensor.dims());
    if (axis >= 0) shapes[i][static_cast<std::size_t>(axis)] = sentences;
    padded += element_count(shapes[i]) * item_bytes(tensor.dtype());
  }
  if (padded > 2 * bytes && padded > kBytesPadded) return false;
  frames_.push_back(frame);
  shapes_ = std::move(shapes);
  sentences_ = sentences, bytes_ = bytes;
  return true;
}

TensorMap FrameJoiner::take() {
  std::vector<TensorMap> frames = std::exchange(frames_, {});
  const std::vector<Shape> shapes = std::exchange(shapes_, {});
  sentences_ = bytes_ = 0;
  TensorMap joined = std::move(frames.front());
  if (frames.size() == 1) return joined;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Tensor& first = joined.tensors()[i].second;
    const std::ptrdiff_t axis = sentence_axis_of(first.dims());
    if (axis < 0) continue;
    Tensor all =
        with_type(first.dtype(), [&]<class T>(T) { return Tensor::zeros<T>(shapes[i], first.dims()); });
    all.attributes = std::move(first.attributes);
    Shape at(shapes[i].size(), 0);
    for (std::size_t number = 0; number < frames.size(); ++number) {
      const Tensor& part = number == 0 ? first : frames[number].tensors()[i].second;
      with_type(part.dtype(), [&]<class T>(T) {
        copy_part(part.values<T>(), part.shape(), Shape(at.size(), 0), all.values<T>(), all.shape(), at,
                  part.shape());
      });
      at[static_cast<std::size_t>(axis)] += part.shape()[static_cast<std::size_t>(axis)];
    }
    first = std::move(all);
  }
  return joined;
}

}  // namespace heed::io
