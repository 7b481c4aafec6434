#include "text/alignment_error.h"

#include <charconv>

#include "base/error.h"
#include "base/number.h"
#include "text/unicode.h"

namespace heed::text {
Links parse_links(std::string_view line, const std::string& where) {
  Links links;
  for (std::string_view word : split_any(line, " \t")) {
    std::int64_t source = -1, target = -1;
    const char* end = word.data() + word.size();
    const auto first = std::from_chars(word.data(), end, source);
    const char mark = first.ptr == end ? '\0' : *first.ptr;
    const bool marked = first.ec == std::errc() && (mark == '-' || mark == 'p' || mark == '?');
    const auto second = marked ? std::from_chars(first.ptr + 1, end, target) : first;
    if (!marked || second.ec != std::errc() || second.ptr != end || source < 0 || target < 0) {
      fail(where, ": '", escaped(word),
           "' is not a link: wanted source-target, counted from 0, as in 0-0 1-2 2p1");
    }
    links[{source, target}] |= mark == '-';
  }
  return links;
}

void AlignmentError::add(const Links& links, const Links& gold) {
  for (const auto& [link, sure] : gold) {
    ++possible_;
    sure_ += sure;
    if (!links.contains(link)) continue;
    ++right_possible_;
    right_sure_ += sure;
  }
  links_ += std::ssize(links);
}

AlignmentScore AlignmentError::score() const {
  if (empty()) fail("the alignments have no link and the gold alignments no sure link");
  AlignmentScore score;
  score.error = 100 - percent(right_sure_ + right_possible_, links_ + sure_);
  score.precision = percent(right_possible_, links_);
  score.recall = percent(right_sure_, sure_);
  score.links = links_;
  score.sure = sure_;
  score.possible = possible_;
  return score;
}

}  // namespace heed::text
