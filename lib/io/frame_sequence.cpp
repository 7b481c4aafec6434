#include "io/frame_sequence.h"

#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "io/provenance.h"

namespace heed::io {
namespace {

constexpr const char* kAlike[] = {kModelDigest, kVocabularyDigest, "history"};

/// The first line of `now` that differs from that of `before`; empty: none.
std::string other_line(std::string_view now, std::string_view before) {
  const auto line_at = [](std::string_view text, std::size_t at) {
    return text.substr(at, text.find('\n', at) - at);
  };
  for (std::size_t at = 0; at < now.size();) {
    const std::string_view line = line_at(now, at);
    if (at >= before.size() || line_at(before, at) != line) return escaped(line);
    at += line.size() + 1;
  }
  return "";
}

/// "encode --all-layers, not encode"
std::string difference(std::string_view now, std::string_view before) {
  const std::string here = other_line(now, before), there = other_line(before, now);
  if (there.empty()) return "it also has " + here;
  return here.empty() ? "it lacks " + there : concat(here, ", not ", there);
}

}  // namespace

void FrameSequence::add(const TensorMap& frame, const std::string& name, bool begins) {
  begins_ = begins_ || begins;
  const std::int64_t count = sentences_of(frame);
  if (count == 0) return;
  const std::int64_t begin = first_sentence_of(frame.attributes, name);
  const bool is_first = name_.empty();
  if (!is_first) {
    expect_place(begin, name);
    expect_alike(frame.attributes, name, begin > 0);
  }
  if (std::exchange(begins_, false) && begin > 0) has_parts_ = true;
  end_ = begin + count;
  name_ = name;
  for (const char* which : kAlike)
    if (const std::string* text = text_of(frame.attributes, which)) seen_[which] = *text;
}

/// Texts that all begin at 0 may follow each other, and so may parts of one text; not both, because a part
/// may be duplicated.
void FrameSequence::expect_place(std::int64_t begin, const std::string& name) {
  const bool is_text = begin == 0 && end_ > 0;
  if (begin != end_ && !(is_text && !has_parts_))
    fail(name, ": begins with sentence ", begin, " of its text, but ", name_,
         " before it ended with sentence ", end_ - 1,
         begin > end_ ? ": is a part missing or misplaced?" : ": is a part duplicated or misplaced?");
  if (begins_ && begin > 0 && has_texts_)
    fail(name, ": begins with sentence ", begin,
         " of its text, but the files before it begin with sentence 0: is a part duplicated?");
  has_texts_ = has_texts_ || is_text;
}

/// Frames of other programs lack these attributes.
void FrameSequence::expect_alike(const Attributes& root, const std::string& name, bool is_part) {
  for (const auto& [which, before] : seen_) {
    const std::string* now = text_of(root, which);
    if (!now || *now == before) continue;
    if (which == "history") {
      const std::string what =
          concat(name, ": made by other commands than ", name_, ": ", difference(*now, before));
      if (is_part) fail(what, ": make all parts of a text with the same options");
      if (!std::exchange(has_warned_, true)) logging::warn(what);
      continue;
    }
    fail(name, ": made with another ", which == kModelDigest ? "model" : "vocabulary", " than ", name_,
         " before it (", which, " ", escaped(*now, 12), ", not ", escaped(before, 12), ")");
  }
}

}  // namespace heed::io
