#include "text/perplexity.h"

#include <cmath>
#include <limits>

#include "base/number.h"
#include "text/scheme.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

double exp_mean(double sum, std::int64_t count) {
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : std::exp(-sum / static_cast<double>(count));
}

}  // namespace

void Perplexity::add(std::string_view line, const std::string& where) {
  const std::size_t tab = line.find('\t');
  double score = 0;
  if (tab == std::string_view::npos || !parse(line.substr(0, tab), score))
    fail(where, ": \"", escaped(line), "\": wanted a score, a tab and pieces, as decode --force writes them");
  ++lines_;
  std::string_view before;
  for (std::string_view item : split_any(line.substr(tab + 1), " ")) {
    const std::size_t colon = item.rfind(':');
    double log_probability = 0;
    if (colon == std::string_view::npos || colon == 0 || !parse(item.substr(colon + 1), log_probability) ||
        !(log_probability <= 0)) {
      fail(where, ": \"", escaped(item), "\": wanted piece:log-probability");
    }
    const std::string_view piece = item.substr(0, colon);
    sum_ += log_probability;
    ++pieces_;
    if (piece == "</s>") {
      end_sum_ += log_probability;
      ++ends_;
      continue;
    }
    has_spaces_ |= piece.starts_with(kSpaceSymbol);
    words_by_space_ += before.empty() || piece.starts_with(kSpaceSymbol);
    words_by_joiner_ += before.empty() || !before.ends_with("@@");
    before = piece;
  }
}

PerplexityScore Perplexity::score() const {
  if (pieces_ == 0) fail("no pieces to compute a perplexity from");
  const std::int64_t words = has_spaces_ ? words_by_space_ : words_by_joiner_;
  return {exp_mean(sum_, pieces_),
          exp_mean(sum_ - end_sum_, pieces_ - ends_),
          exp_mean(sum_, words + ends_),
          pieces_,
          words,
          lines_};
}

}  // namespace heed::text
