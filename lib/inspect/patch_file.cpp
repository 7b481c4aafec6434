#include "inspect/patch_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/paths.h"
#include "io/finite.h"
#include "io/foreign/array_file.h"

namespace heed {

namespace {

bool same_axis(const std::string& own, const std::string& named) {
  return own == named || (own == "position" && named == "query") || (own == "query" && named == "position") ||
         (own == "dim" && (named == "key_dim" || named == "value_dim"));
}

Tensor as_floats(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype() == DType::f32) return tensor;
  if (tensor.dtype() != DType::f64)
    fail(name, ": holds ", name_of(tensor.dtype()), " values, wanted float32 or float64");
  const auto values = tensor.values<double>();
  for (double x : values) {
    if (std::isfinite(x) && std::abs(x) > std::numeric_limits<float>::max())
      fail(name, ": holds ", x, ", which float32 cannot represent");
  }
  return Tensor::of<float>({values.begin(), values.end()}, tensor.shape(), tensor.dims());
}

}  // namespace

PatchFile::PatchFile(const std::string& file, std::string dataset, const NamedValue& value,
                     bool head_is_fixed)
    : value_(value),
      head_is_fixed_(head_is_fixed),
      dataset_(dataset.empty() ? value.name + "/values" : without_root(dataset)) {
  if (file == "-") fail<UsageError>("--patch ", value.name, ": - is the input; name a file");
  if (dataset.empty() && io::is_array_file(file)) {  // .npy has one array, with a name of its own
    const auto arrays = io::ArrayFile::open(file);
    if (arrays->arrays().size() == 1) dataset_ = arrays->arrays().front().name;
  }
  io::ReadOptions options{.batch = 1, .only = {dataset_}};
  const std::string group = parent_of(dataset_);
  for (const char* length : {"length", "query_length", "key_length"})
    options.only.push_back(group.empty() ? length : group + "/" + length);
  reader_ = std::make_unique<io::FrameReader>(file, options);
  if (!read_ahead())
    fail<PatchError>("--patch ", value.name, ": ", reader_->name(), " has no /", escaped(dataset_),
                     ", or no sentences: was it left out of the trace (--trace-filter)?");
  settle_axes(ahead_.front());
  // A single sentence serves all.
  streamed_ = axes_.front() == "sentence" && !ahead_.front().dims().empty() && read_ahead();
}

std::string PatchFile::where() const {
  return concat("--patch ", value_.name, ": ", reader_->name(), ":/", escaped(dataset_));
}

bool PatchFile::read_ahead() {
  TensorMap map;
  if (!reader_->next(map)) return false;
  const Tensor* found = map.find(dataset_);
  if (!found)
    fail<PatchError>("--patch ", value_.name, ": ", reader_->name(), " has no /", escaped(dataset_));
  ahead_.push_back(as_floats(*found, where()));
  // Scores are -infinity where a query may not attend.
  if (!value_.name.ends_with("/scores")) io::expect_finite(where(), ahead_.back());
  return true;
}

void PatchFile::settle_axes(const Tensor& tensor) {
  const std::vector<std::string> whole = value_.dims();
  auto may_lack = [&](const std::string& axis) {
    return axis == "sentence" || axis == "position" || axis == "query" || (axis == "head" && head_is_fixed_);
  };
  std::size_t at = 0;
  if (!tensor.dims().empty()) {
    for (const std::string& axis : whole) {
      const bool is_there = at < tensor.dims().size() && same_axis(axis, tensor.dims()[at]);
      if (is_there) ++at, axes_.push_back(axis);
      if (!is_there && !may_lack(axis)) break;
    }
    if (at == tensor.dims().size() && !axes_.empty() && axes_.back() == whole.back()) return;
  } else {
    // Missing axes are dropped from the front, but first a position that can only be one.
    axes_ = whole;
    if (value_.rows == Rows::one && axes_.size() > tensor.shape().size()) std::erase(axes_, "position");
    for (auto axis = axes_.begin(); axis != axes_.end() && axes_.size() > tensor.shape().size();)
      axis = may_lack(*axis) ? axes_.erase(axis) : axis + 1;
    if (axes_.size() == tensor.shape().size()) return;
  }
  std::vector<std::string> got;
  for (const std::string& dim : tensor.dims()) got.push_back(escaped(dim));
  fail<PatchError>(where(), ": shape ", to_string(tensor.shape()),
                   got.empty() ? "" : " (" + joined(got) + ")", ", wanted (", joined(whole),
                   "), as in a trace; sentence, position and a head that the patch names may be left out");
}

void PatchFile::next_frame(std::int64_t first, std::int64_t count) {
  first_ = first;
  tensors_.clear();
  while (streamed_ && taken_ < first + count && (!ahead_.empty() || read_ahead())) {
    if (taken_++ >= first) tensors_.push_back(std::move(ahead_.front()));
    ahead_.pop_front();
  }
}

bool PatchFile::pads() const {
  return !streamed_ && axes_.front() == "sentence" && ahead_.front().shape().front() > 1;
}

const Tensor& PatchFile::tensor_of(std::int64_t sentence) const {
  if (!streamed_) return ahead_.front();
  if (sentence >= static_cast<std::int64_t>(tensors_.size()))
    fail<PatchError>(where(), ": has ", taken_, " sentences, the input has more");
  return tensors_[static_cast<std::size_t>(sentence)];
}

std::int64_t PatchFile::positions(std::int64_t sentence) const {
  const auto axis =
      std::find_if(axes_.begin(), axes_.end(), [](const auto& a) { return a == "position" || a == "query"; });
  if (axis == axes_.end()) return -1;
  return tensor_of(sentence).shape()[static_cast<std::size_t>(axis - axes_.begin())];
}

bool PatchFile::reaches(std::int64_t sentence, std::int64_t position) const {
  const std::int64_t count = positions(sentence);
  return count < 0 || position < count;
}

void PatchFile::expect_positions(std::int64_t sentence, std::int64_t count) const {
  const std::int64_t found = positions(sentence);
  if (found < 0 || found == count || (found > count && pads())) return;
  fail<PatchError>(where(), ": shape ", to_string(tensor_of(sentence).shape()), ", wanted ", count,
                   " positions for sentence ", first_ + sentence, "; @SENTENCE,POSITION patches one of them");
}

std::span<const float> PatchFile::row(std::int64_t sentence, std::int64_t head, std::int64_t position,
                                      std::int64_t width) const {
  const Tensor& tensor = tensor_of(sentence);
  const Shape& shape = tensor.shape();
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) {
    const std::int64_t index = axes_[i] == "head"       ? head
                               : axes_[i] != "sentence" ? position
                               : shape[i] == 1          ? 0
                                                        : first_ + sentence;
    if (index >= shape[i]) {
      fail<PatchError>(where(), ": shape ", to_string(shape), " has no ", axes_[i], " ", index,
                       ", which the value has: is it of the same sentence?");
    }
    at = at * shape[i] + index;
  }
  // A decoder that reads step by step has no later keys.
  const bool may_be_longer = value_.attention && (value_.keys != Rows::source || pads());
  if (shape.back() < width || (shape.back() != width && !may_be_longer)) {
    fail<PatchError>(where(), ": shape ", to_string(shape), ", wanted ", width, " values of ", axes_.back(),
                     ": is it of the same sentence?");
  }
  return tensor.values<float>().subspan(static_cast<std::size_t>(at * shape.back()),
                                        static_cast<std::size_t>(width));
}

}  // namespace heed
