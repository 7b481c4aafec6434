// Slices out of a stream of frames: sentences are counted through all frames, and no more than one frame is
// in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "draw/select/slice.h"
#include "io/frame_stream.h"

namespace heed::draw {

/// Where a sentence is; -1, -1 stands for all of a tensor that has no sentences.
struct SentenceAt {
  std::int64_t in_frame = -1;
  std::int64_t in_stream = -1;
};

/// Called with the first frame: the tensor whose sentences count. May add to the selections.
using FindTensor = std::function<std::string(const TensorMap& frame, std::vector<Selection>& selections)>;
/// The selections are those that are left to apply: none of sentences.
using VisitSentence =
    std::function<void(const TensorMap& frame, SentenceAt at, const std::vector<Selection>& selections)>;

/// Calls `visit` for each chosen sentence, as visit_slices does.
void visit_sentences(io::FrameReader& reader, const FindTensor& find, std::vector<Selection> selections,
                     const VisitSentence& visit);

/// A slice with the number of its sentence in the stream, -1 when the tensor has no dimension `sentence`.
using VisitSlice = std::function<void(const TensorMap& frame, const Slice& slice, std::int64_t sentence)>;
/// Completes the selections once the first frame shows what there is.
using CompleteSelections =
    std::function<void(const TensorMap& frame, const std::string& path, std::vector<Selection>&)>;

/// Calls `visit` with one slice per chosen sentence (all, unless `selections` has an index or a range), or with
/// a single slice when the tensor has no sentences. Reads a pipe to its end, so that a producer that fails
/// later is noticed. Throws Error when there is no such tensor, dimension or sentence.
void visit_slices(io::FrameReader& reader, const std::string& name, std::vector<Selection> selections,
                  const CompleteSelections& complete, const VisitSlice& visit);

}  // namespace heed::draw
