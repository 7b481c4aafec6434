// The sentences of a stream of frames, and slices of them. Sentences are numbered across the stream; only one
// frame is in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "draw/select/slice.h"
#include "io/frame_stream.h"

namespace heed::draw {

/// The index of a sentence in its frame and in the stream; -1, -1 for a tensor without sentences.
struct SentenceAt {
  std::int64_t in_frame = -1;
  std::int64_t in_stream = -1;
};

/// Called with the first frame; returns the path of the tensor whose sentences are visited. May add
/// selections.
using FindTensor = std::function<std::string(const TensorMap& frame, std::vector<Selection>& selections)>;
/// Called for each sentence; `selections` are those of the other dimensions.
using VisitSentence =
    std::function<void(const TensorMap& frame, SentenceAt at, const std::vector<Selection>& selections)>;

/// Calls `visit` for each selected sentence, as visit_slices does.
void visit_sentences(io::FrameReader& reader, const FindTensor& find, std::vector<Selection> selections,
                     const VisitSentence& visit);

/// `sentence` is the number in the stream, -1 when the tensor has no dimension `sentence`.
using VisitSlice = std::function<void(const TensorMap& frame, const Slice& slice, std::int64_t sentence)>;
/// Adds default selections for the tensor at `path`; called with the first frame.
using CompleteSelections =
    std::function<void(const TensorMap& frame, const std::string& path, std::vector<Selection>&)>;

/// Calls `visit` with one slice per selected sentence (all, unless `selections` has an index or a range), or
/// with a single slice if the tensor has no sentences. Reads a pipe to its end, so that a later failure of
/// the producer is noticed. Throws Error if there is no such tensor, dimension or sentence.
void visit_slices(io::FrameReader& reader, const std::string& name, std::vector<Selection> selections,
                  const CompleteSelections& complete, const VisitSlice& visit);

}  // namespace heed::draw
