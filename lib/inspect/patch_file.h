// The tensor that a patch takes values from. Its dimensions are those of the value as a trace holds it,
// (sentence, [head,] position, dim) or (sentence, head, query, key). The sentence may be left out, or be one:
// then it serves every sentence; the position may be left out: then it serves every position; and so may a
// head that the patch names. A trace, or anything with named dimensions, is read sentence by sentence beside
// the input; unnamed dimensions (h5py) are identified by their number.
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
  /// `dataset` empty: the value's own in a trace, /NAME/values. `head_is_fixed`: the patch names a head.
  PatchFile(const std::string& file, std::string dataset, const NamedValue& value, bool head_is_fixed);

  /// Advances to sentences first .. first + count - 1 of the input.
  void next_frame(std::int64_t first, std::int64_t count);
  /// `width` elements of the last dimension for a row of the frame's sentence `sentence`. Throws Error,
  /// naming file, dataset and shapes, when the tensor has no such sentence or row, or another width.
  std::span<const float> row(std::int64_t sentence, std::int64_t head, std::int64_t position,
                             std::int64_t width) const;
  /// Whether the tensor, when it has positions, has this one for the frame's sentence.
  bool reaches(std::int64_t sentence, std::int64_t position) const;
  /// Throws Error unless the tensor, when it has positions, has as many as the frame's sentence.
  void expect_positions(std::int64_t sentence, std::int64_t count) const;

 private:
  bool read_ahead();
  /// One tensor with all sentences side by side: the shorter ones end in padding.
  bool pads() const;
  /// How many positions, or queries, it has for a sentence of the frame; -1: it serves every position.
  std::int64_t positions(std::int64_t sentence) const;
  void settle_axes(const Tensor& tensor);
  const Tensor& tensor_of(std::int64_t sentence) const;
  std::string where() const;

  NamedValue value_;
  bool head_is_fixed_;
  std::string dataset_;
  std::unique_ptr<io::FrameReader> reader_;
  std::vector<std::string> axes_;  ///< of the tensor, as the value calls them
  bool streamed_ = false;          ///< a tensor for each sentence of the input; else one for all
  std::deque<Tensor> ahead_;       ///< read, but not yet of this frame; or the one for all
  std::vector<Tensor> tensors_;    ///< of the frame's sentences
  std::int64_t first_ = 0;         ///< the frame's first sentence
  std::int64_t taken_ = 0;         ///< sentences taken from the stream
};

}  // namespace heed
