// Lists the tensors of a map with their shapes and statistics, or the arrays of another program's file by its
// header. A stream of frames is listed in constant memory: sizes along `sentence` are summed, other sizes are
// the maximum, statistics cover all frames.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/foreign/array_file.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

struct TensorSummary {
  std::string name;
  std::string type;
  std::vector<std::string> dims;
  Shape shape;
  std::int64_t count = 0;   ///< elements, padding included
  bool is_read = true;      ///< otherwise only the header was read, and there are no statistics
  std::int64_t finite = 0;  ///< neither NaN nor infinite; all elements of text
  double min = 0, max = 0;  ///< over the finite elements, undefined if there are none
  double sum = 0;           ///< over the finite elements
  double mean() const { return sum / static_cast<double>(finite); }
};

class Listing {
 public:
  /// `of_several`: the frames come from several inputs, so tensors that must be the same are compared.
  explicit Listing(bool of_several = false) : of_several_(of_several) {}
  /// Adds one frame. A tensor without a dimension `sentence` is the same in every frame and counts once.
  /// Throws Error if a tensor changes its type or dimensions between frames, or if, with several inputs, a
  /// tensor that counts once differs.
  void add(const TensorMap& frame);
  /// Adds an array by its header alone.
  void add(const io::ArrayInfo& array);
  void add_attributes(const Attributes& attributes);

  const std::vector<TensorSummary>& tensors() const { return tensors_; }
  const Attributes& attributes() const { return attributes_; }  ///< of the first frame's root

  /// A table for humans: name, type, shape with dimension names, min, mean, max, share of finite values.
  std::string text() const;
  /// As tab-separated values, and as one JSON object.
  std::string tsv() const;
  std::string json() const;

 private:
  void expect_same(const std::string& name, const Tensor& tensor);
  TensorSummary* find(const std::string& name);

  std::vector<TensorSummary> tensors_;
  std::map<std::string, std::size_t> places_;
  bool of_several_;
  std::map<std::string, std::string> digests_;  ///< with several inputs, of the tensors that count once
  Attributes attributes_;
};

}  // namespace heed::draw
