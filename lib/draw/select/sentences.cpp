#include "draw/select/sentences.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "draw/select/tensors.h"
#include "io/layout.h"

namespace heed::draw {
namespace {

constexpr char kSentence[] = "sentence";

/// Sentences [first, last) of the stream.
struct Span {
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

Span span_of(const Selection& selection) {
  using Kind = Selection::Kind;
  const auto [first, last] = std::pair(selection.first, selection.last);
  if (selection.kind == Kind::all) return {};
  if (selection.kind == Kind::index && first >= 0) return {first, first + 1};
  if (selection.kind == Kind::range && first >= 0 && selection.to_end) return {first};
  if (selection.kind == Kind::range && first >= 0 && last > first) return {first, last};
  fail<UsageError>(
      "the input is a stream of sentences: choose one (--sentence 3) or a range from the start "
      "(--slice sentence=2:5)");
}

/// Removes the selection of sentences from `selections`.
Span take_sentences(std::vector<Selection>& selections) {
  const auto found =
      std::find_if(selections.begin(), selections.end(), [](auto& c) { return c.dim == kSentence; });
  if (found == selections.end()) return {};
  const Span span = span_of(*found);
  selections.erase(found);
  return span;
}

/// Size of the dimension `sentence`; -1 without one.
std::int64_t sentences_of(const Tensor& tensor) {
  const auto axis = axis_named(dims_of(tensor), kSentence);
  return axis ? tensor.shape()[*axis] : -1;
}

Slice slice_of_sentence(const TensorMap& frame, const std::string& path, std::vector<Selection> selections,
                        std::int64_t in_frame, std::int64_t in_stream) {
  selections.insert(selections.begin(), Selection{kSentence, Selection::Kind::index, in_frame});
  Slice slice = take_slice(frame, path, selections);
  slice.chosen.front() = concat(kSentence, " ", in_stream);
  return slice;
}

}  // namespace

void visit_sentences(io::FrameReader& reader, const FindTensor& find, std::vector<Selection> selections,
                     const VisitSentence& visit) {
  Span span;
  std::int64_t seen = 0;  // sentences
  std::int64_t visited = 0;
  std::string path;
  bool done = false;
  Tensor shown;  // of a tensor without sentences
  for (TensorMap frame; reader.next(frame); frame = {}) {
    const auto chosen = [&]() -> Tensor& {
      return *at_place(reader.name(), [&] { return &frame.at(path); });
    };
    if (done && sentences_of(chosen()) < 0) {
      const Tensor& again = chosen();
      if (again.dtype() != shown.dtype() || again.shape() != shown.shape() ||
          io::digest_of(again) != io::digest_of(shown))
        fail(reader.name(), ":/", escaped(path),
             ": differs from the one before it, and has no dimension sentence");
    }
    if (done) continue;
    const bool is_first = path.empty();
    if (is_first) path = at_place(reader.name(), [&] { return find(frame, selections); });
    const std::int64_t count = sentences_of(chosen());
    if (count < 0) {  // the same in every frame
      visit(frame, {}, selections);
      shown = std::move(chosen());
      done = true;
      continue;
    }
    if (is_first) span = take_sentences(selections);
    for (std::int64_t s = std::max(span.first, seen); s < std::min(span.last, seen + count); ++s, ++visited) {
      visit(frame, {s - seen, s}, selections);
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

void visit_slices(io::FrameReader& reader, const std::string& name, std::vector<Selection> selections,
                  const CompleteSelections& complete, const VisitSlice& visit) {
  std::string path;
  const auto find = [&](const TensorMap& frame, std::vector<Selection>& all) {
    path = find_tensor(frame, name);
    complete(frame, path, all);
    return path;
  };
  visit_sentences(reader, find, std::move(selections),
                  [&](const TensorMap& frame, SentenceAt at, const std::vector<Selection>& rest) {
                    const Slice slice = at_place(reader.name(), [&] {
                      return at.in_stream < 0
                                 ? take_slice(frame, path, rest)
                                 : slice_of_sentence(frame, path, rest, at.in_frame, at.in_stream);
                    });
                    visit(frame, slice, at.in_stream);
                  });
}

}  // namespace heed::draw
