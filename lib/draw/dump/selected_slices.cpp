// The slices that the options select, for all forms.
#include <optional>

#include "base/error.h"
#include "draw/dump/forms.h"
#include "draw/select/merge_words.h"

namespace heed::draw {

std::vector<Selection> selections_of(const DumpOptions& options) {
  std::vector<Selection> selections;
  if (!options.sentence.empty()) selections.push_back(parse_selection("sentence", options.sentence));
  if (!options.layer.empty()) selections.push_back(parse_selection("layer", options.layer));
  if (!options.head.empty()) selections.push_back(parse_selection("head", options.head));
  for (const auto& text : options.slices) selections.push_back(parse_selection(text));
  return selections;
}

bool is_one_sentence(const std::vector<Selection>& selections) {
  for (const auto& selection : selections) {
    if (selection.dim == "sentence") return selection.kind == Selection::Kind::index;
  }
  return false;
}

void keep_all(const TensorMap&, const std::string&, std::vector<Selection>&) {}

void visit_chosen(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const VisitSlice& visit) {
  visit_slices(reader, options.name, selections_of(options), complete,
               [&](const TensorMap& frame, const Slice& slice, std::int64_t sentence) {
                 visit(frame, options.words ? merge_words(slice) : slice, sentence);
               });
}

void visit_single(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                  const std::string& what,
                  const std::function<void(const TensorMap& frame, const Slice& slice)>& visit) {
  bool seen = false;
  visit_chosen(options, reader, complete, [&](const TensorMap& frame, const Slice& slice, std::int64_t) {
    if (seen) fail<UsageError>(what, " shows one sentence: choose it by --sentence");
    seen = true;
    visit(frame, slice);
  });
  if (!seen) fail(escaped(reader.name()), ": there is no sentence in it");
}

Slice single_slice(const DumpOptions& options, io::FrameReader& reader, const CompleteSelections& complete,
                   const std::string& what) {
  Slice single;
  visit_single(options, reader, complete, what,
               [&](const TensorMap&, const Slice& slice) { single = slice; });
  return single;
}

}  // namespace heed::draw
