// What the forms of viz-dump share: which slices are meant.
#include <optional>

#include "base/error.h"
#include "draw/dump_forms.h"
#include "draw/words.h"

namespace heed::draw {

std::vector<Choice> choices_of(const DumpOptions& options) {
  std::vector<Choice> choices;
  if (!options.sentence.empty()) choices.push_back(parse_choice("sentence", options.sentence));
  if (!options.layer.empty()) choices.push_back(parse_choice("layer", options.layer));
  if (!options.head.empty()) choices.push_back(parse_choice("head", options.head));
  for (const auto& text : options.slices) choices.push_back(parse_choice(text));
  return choices;
}

bool is_one_sentence(const std::vector<Choice>& choices) {
  for (const auto& choice : choices) {
    if (choice.dim == "sentence") return choice.kind == Choice::Kind::index;
  }
  return false;
}

void keep_all(const TensorMap&, const std::string&, std::vector<Choice>&) {}

void visit_chosen(const DumpOptions& options, io::FrameReader& reader, const CompleteChoices& complete,
                  const VisitSlice& visit) {
  visit_slices(reader, options.name, choices_of(options), complete,
               [&](const TensorMap& frame, const Slice& slice, std::int64_t sentence) {
                 visit(frame, options.words ? merge_words(slice) : slice, sentence);
               });
}

void visit_single(const DumpOptions& options, io::FrameReader& reader, const CompleteChoices& complete,
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

Slice single_slice(const DumpOptions& options, io::FrameReader& reader, const CompleteChoices& complete,
                   const std::string& what) {
  Slice single;
  visit_single(options, reader, complete, what,
               [&](const TensorMap&, const Slice& slice) { single = slice; });
  return single;
}

}  // namespace heed::draw
