// Lists the tensors of a map with their shapes and statistics, or the arrays of another program's file by what its
// header says. A stream of frames is listed in constant
// memory: sizes along `sentence` are summed, of other sizes the greatest is shown, statistics are of all
// frames.
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
  bool is_read = true;      ///< else only the header was, and there are no statistics
  std::int64_t finite = 0;  ///< neither NaN nor infinite; all elements of text
  double min = 0, max = 0;  ///< of the finite elements, undefined without any
  double sum = 0;           ///< of the finite ones
  double mean() const { return sum / static_cast<double>(finite); }
};

class Listing {
 public:
  /// `of_several`: the frames are of several inputs, so those that say they are the same are compared.
  explicit Listing(bool of_several = false) : of_several_(of_several) {}
  /// Adds one frame. A tensor without a dimension `sentence` is the same in every frame and counts once.
  /// Throws Error when a tensor changes its type or its dimensions between frames, or, of several inputs, when one that
  /// counts once changes at all.
  void add(const TensorMap& frame);
  /// Adds an array by its header alone.
  void add(const io::ArrayInfo& array);
  void add_attributes(const Attributes& attributes);

  const std::vector<TensorSummary>& tensors() const { return tensors_; }
  const Attributes& attributes() const { return attributes_; }  ///< of the first frame's root

  /// A table for reading: name, type, shape with the names of the dimensions, min, mean, max, share of finite
  /// values.
  std::string text() const;
  /// The same as tab-separated values, and as one JSON object.
  std::string tsv() const;
  std::string json() const;

 private:
  void expect_same(const std::string& name, const Tensor& tensor);
  TensorSummary* find(const std::string& name);

  std::vector<TensorSummary> tensors_;
  std::map<std::string, std::size_t> places_;
  bool of_several_;
  std::map<std::string, std::string> digests_;  ///< of several inputs, of what counts once
  Attributes attributes_;
};

}  // namespace heed::draw
