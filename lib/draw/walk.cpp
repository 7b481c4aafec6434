#include "draw/walk.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "draw/select.h"
#include "draw/values.h"

namespace heed::draw {
namespace {

constexpr char kSentence[] = "sentence";

/// Sentences [first, last) of the stream.
struct Span {
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

Span span_of(const Choice& choice) {
  switch (choice.kind) {
    case Choice::Kind::all:
      return {};
    case Choice::Kind::index:
      if (choice.first >= 0) return {choice.first, choice.first + 1};
      break;
    case Choice::Kind::range:
      if (choice.first >= 0 && (choice.to_end || choice.last > choice.first)) {
        return choice.to_end ? Span{choice.first} : Span{choice.first, choice.last};
      }
      break;
    default:
      break;
  }
  fail<UsageError>(
      "sentences come one after the other, so choose one (--sentence 3) or a range counted from the start "
      "(--slice sentence=2:5)");
}

/// Takes the choice of sentences out of `choices`.
Span take_sentences(std::vector<Choice>& choices) {
  const auto found = std::find_if(choices.begin(), choices.end(), [](auto& c) { return c.dim == kSentence; });
  if (found == choices.end()) return {};
  const Span span = span_of(*found);
  choices.erase(found);
  return span;
}

/// Size of the dimension `sentence`; -1 without one.
std::int64_t sentences_of(const Tensor& tensor) {
  const auto dims = dims_of(tensor);
  const auto axis = std::find(dims.begin(), dims.end(), kSentence);
  return axis == dims.end() ? -1 : tensor.shape()[static_cast<std::size_t>(axis - dims.begin())];
}

Slice slice_of_sentence(const TensorMap& frame, const std::string& path, std::vector<Choice> choices,
                        std::int64_t in_frame, std::int64_t in_stream) {
  choices.insert(choices.begin(), Choice{kSentence, Choice::Kind::index, in_frame});
  Slice slice = take_slice(frame, path, choices);
  slice.chosen.front() = concat(kSentence, " ", in_stream);
  return slice;
}

}  // namespace

void visit_sentences(io::FrameReader& reader, const FindTensor& find, std::vector<Choice> choices,
                     const VisitSentence& visit) {
  Span span;
  std::int64_t seen = 0;  // sentences
  std::int64_t visited = 0;
  std::string path;
  bool done = false;
  for (TensorMap frame; reader.next(frame); frame = {}) {
    if (done) continue;
    const bool is_first = path.empty();
    if (is_first) path = find(frame, choices);
    const std::int64_t count = sentences_of(frame.at(path));
    if (count < 0) {  // the same in every frame
      visit(frame, {}, choices);
      done = true;
      continue;
    }
    if (is_first) span = take_sentences(choices);
    for (std::int64_t s = std::max(span.first, seen); s < std::min(span.last, seen + count); ++s, ++visited) {
      visit(frame, {s - seen, s}, choices);
    }
    seen += count;
    done = seen >= span.last;
  }
  if (path.empty()) fail(escaped(reader.name()), ": there are no tensors in it");
  if (visited == 0 && (seen > 0 || span.first > 0)) {
    fail(escaped(reader.name()), ": there is no sentence ", span.first, "; it has ", seen,
         " of them, counted from 0");
  }
}

void visit_slices(io::FrameReader& reader, const std::string& name, std::vector<Choice> choices,
                  const CompleteChoices& complete, const VisitSlice& visit) {
  std::string path;
  const auto find = [&](const TensorMap& frame, std::vector<Choice>& all) {
    path = find_tensor(frame, name);
    complete(frame, path, all);
    return path;
  };
  visit_sentences(reader, find, std::move(choices),
                  [&](const TensorMap& frame, SentenceAt at, const std::vector<Choice>& rest) {
                    const bool whole = at.in_stream < 0;
                    visit(frame,
                          whole ? take_slice(frame, path, rest)
                                : slice_of_sentence(frame, path, rest, at.in_frame, at.in_stream),
                          at.in_stream);
                  });
}

}  // namespace heed::draw
