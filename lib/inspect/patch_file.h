// The tensor from which a patch takes values. Its dimensions are those of the value in a trace, (sentence,
// [head,] position, dim) or (sentence, head, query, key). The sentence dimension may be missing or have size
// 1: then it applies to every sentence; the position may be missing: then it applies to every position; and
// so may the head if the patch names one. A trace, or anything with named dimensions, is read sentence by
// sentence in step with the input; unnamed dimensions (h5py) are identified by order.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "inspect/value_names.h"
#include "io/frame_stream.h"

namespace heed {

/// The tensor of a patch does not fit; the message names its file.
class PatchError : public Error {
 public:
  using Error::Error;
};

class PatchFile {
 public:
  /// `dataset` empty: the value's own dataset in a trace, /NAME/values. `head_is_fixed`: the patch names a
  /// head.
  PatchFile(const std::string& file, std::string dataset, const NamedValue& value, bool head_is_fixed);

  /// Advances to sentences first .. first + count - 1 of the input.
  void next_frame(std::int64_t first, std::int64_t count);
  /// `width` elements of the last dimension for one row of the frame's sentence `sentence`. Throws Error,
  /// naming file, dataset and shapes, if the tensor has no such sentence or row, or another width.
  std::span<const float> row(std::int64_t sentence, std::int64_t head, std::int64_t position,
                             std::int64_t width) const;
  /// Whether the tensor has this position for the frame's sentence, or has no positions.
  bool reaches(std::int64_t sentence, std::int64_t position) const;
  /// Throws Error unless the tensor has this number of positions for the frame's sentence, or has no
  /// positions.
  void expect_positions(std::int64_t sentence, std::int64_t count) const;

 private:
  bool read_ahead();
  /// Whether it is one tensor with all sentences, in which the shorter ones are padded.
  bool pads() const;
  /// The number of positions, or queries, for a sentence of the frame; -1: it applies to every position.
  std::int64_t positions(std::int64_t sentence) const;
  void settle_axes(const Tensor& tensor);
  const Tensor& tensor_of(std::int64_t sentence) const;
  std::string where() const;

  NamedValue value_;
  bool head_is_fixed_;
  std::string dataset_;
  std::unique_ptr<io::FrameReader> reader_;
  std::vector<std::string> axes_;  ///< of the tensor, by the value's names
  bool streamed_ = false;          ///< one tensor per sentence of the input; otherwise one for all
  std::deque<Tensor> ahead_;       ///< read ahead of the current frame; or the one for all
  std::vector<Tensor> tensors_;    ///< for the frame's sentences
  std::int64_t first_ = 0;         ///< the frame's first sentence
  std::int64_t taken_ = 0;         ///< sentences read from the stream
};

}  // namespace heed
