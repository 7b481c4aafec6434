#include "text/ter.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "text/metric_words.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

/// A word as a number: equal words have equal numbers.
using Word = std::int32_t;
using Words = std::vector<Word>;

// tercom's limits, and sacreBLEU's limit on the shifts tried per sentence.
constexpr std::ptrdiff_t kMostShifted = 10, kFarthestShift = 50, kMostTried = 1000;
constexpr std::int64_t kBeamWidth = 25;

constexpr std::int32_t kUnreachable = 1 << 30;

/// The last edit on the cheapest path to a cell, from hypothesis to reference.
enum class Step : std::uint8_t { none, match, replace, drop, insert };

struct Cell {
  std::int32_t cost = kUnreachable;
  Step step = Step::none;
};

/// The cells of a row of the edit matrix near its diagonal; the others are unreachable.
struct Row {
  std::int64_t first = 0;
  std::vector<Cell> cells = {};

  Cell at(std::int64_t column) const {
    const bool inside = column >= first && column < first + std::ssize(cells);
    return inside ? cells[static_cast<std::size_t>(column - first)] : Cell{};
  }
};

/// The edit matrix between hypotheses of one length, which are shifts of one another, and a reference: row i
/// is of the first i words of the hypothesis.
class EditMatrix {
 public:
  EditMatrix(Words hypothesis, const Words& reference)
      : hypothesis_(std::move(hypothesis)), reference_(reference), rows_(hypothesis_.size() + 1) {
    Row& top = rows_.front();
    for (std::int32_t j = 0; j <= std::ssize(reference_); ++j) top.cells.push_back({j, Step::insert});
    compute(1);
  }

  std::int32_t distance() const { return rows_.back().at(std::ssize(reference_)).cost; }
  const Words& hypothesis() const { return hypothesis_; }

  /// Recomputes the table for a reordered hypothesis whose first `same` words are unchanged.
  void assign(const Words& hypothesis, std::size_t same) {
    hypothesis_ = hypothesis;
    compute(same + 1);
  }

  /// From the end to the start.
  std::vector<Step> steps() const {
    std::vector<Step> steps;
    auto i = static_cast<std::ptrdiff_t>(hypothesis_.size()), j = std::ssize(reference_);
    while (i > 0 || j > 0) {
      const Step step = rows_[static_cast<std::size_t>(i)].at(j).step;
      if (step == Step::none) fail("TER: no way through the edit matrix");  // the beam is wide enough
      steps.push_back(step);
      if (step != Step::insert) --i;
      if (step != Step::drop) --j;
    }
    return steps;
  }

 private:
  void compute(std::size_t from) {
    const std::int64_t columns = std::ssize(reference_) + 1;
    const auto length = static_cast<double>(hypothesis_.size());
    const double slope = static_cast<double>(reference_.size()) / length;
    const std::int64_t width =
        kBeamWidth < slope / 2 ? static_cast<std::int64_t>(std::ceil(slope / 2 + kBeamWidth)) : kBeamWidth;
    for (std::size_t i = from; i < rows_.size(); ++i) {
      const auto diagonal = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * slope));
      const std::int64_t end = i + 1 == rows_.size() ? columns : std::min(columns, diagonal + width);
      const Row& above = rows_[i - 1];
      Row& row = rows_[i];
      row.first = std::max<std::int64_t>(0, diagonal - width);
      row.cells.clear();
      Cell left;
      for (std::int64_t j = row.first; j < end; ++j) {
        // Of equally cheap steps the first: match or replace, drop, insert.
        Cell cell;
        auto consider = [&](std::int32_t cost, Step step) {
          if (cost < cell.cost) cell = {cost, step};
        };
        if (j > 0) {
          const bool same = hypothesis_[i - 1] == reference_[static_cast<std::size_t>(j - 1)];
          consider(above.at(j - 1).cost + !same, same ? Step::match : Step::replace);
        }
        consider(above.at(j).cost + 1, Step::drop);
        consider(left.cost + 1, Step::insert);
        row.cells.push_back(cell);
        left = cell;
      }
    }
  }

  Words hypothesis_;
  const Words& reference_;
  std::vector<Row> rows_;
};

/// The positions of the reference's words in the hypothesis, by the cheapest edits.
struct Alignment {
  /// For each word of the reference the place of the word that it is, or that is before where it is missing
  /// (-1:
  /// before all).
  std::vector<std::ptrdiff_t> place;
  /// Prefix sums of mismatches, so that a run contains one if its ends differ.
  std::vector<std::int64_t> hypothesis_errors{0}, reference_errors{0};

  explicit Alignment(std::vector<Step> steps) {
    std::ptrdiff_t at = -1;
    for (; !steps.empty(); steps.pop_back()) {
      const Step step = steps.back();
      const bool error = step != Step::match;
      if (step != Step::insert) {
        ++at;
        hypothesis_errors.push_back(hypothesis_errors.back() + error);
      }
      if (step != Step::drop) {
        place.push_back(at);
        reference_errors.push_back(reference_errors.back() + error);
      }
    }
  }

  static bool is_right(const std::vector<std::int64_t>& errors, std::ptrdiff_t start, std::ptrdiff_t length) {
    return errors[static_cast<std::size_t>(start)] == errors[static_cast<std::size_t>(start + length)];
  }
};

/// A run of words that are moved before another place, counted before the move.
struct Shift {
  std::ptrdiff_t start = 0, length = 0, target = 0;

  Words of(Words words) const {
    const auto first = words.begin() + start, last = first + length;
    if (target < start) {
      std::rotate(words.begin() + target, first, last);
    } else {
      // Within the run itself, tercom counts the target from the run's end.
      const std::ptrdiff_t end = target > start + length ? target : target + length;
      std::rotate(first, last, words.begin() + std::min(end, std::ssize(words)));
    }
    return words;
  }
};

/// Tries the shifts of runs of words to where the reference has the same run.
class ShiftSearch {
 public:
  ShiftSearch(Words hypothesis, const Words& reference)
      : reference_(reference), matrix_(hypothesis, reference), scratch_(matrix_) {}

  /// The edits, after shifts as long as they make fewer.
  std::int64_t edits() {
    std::int64_t shifts = 0;
    while (improve()) ++shifts;
    return shifts + matrix_.distance();
  }

 private:
  /// Makes the best shift. False when none helps or enough were tried.
  bool improve() {
    best_gain_ = 0;
    best_ = {};
    find();
    if (tried_ >= kMostTried || best_gain_ <= 0) return false;
    matrix_.assign(best_.of(matrix_.hypothesis()), 0);
    return true;
  }

  void find() {
    const Alignment alignment(matrix_.steps());
    const Words& words = matrix_.hypothesis();
    scratch_.assign(words, 0);
    scratch_same_ = std::ssize(words);
    for (std::ptrdiff_t h = 0; h < std::ssize(words); ++h) {
      const std::ptrdiff_t last = std::min(std::ssize(reference_) - 1, h + kFarthestShift);
      for (std::ptrdiff_t r = std::max<std::ptrdiff_t>(0, h - kFarthestShift); r <= last; ++r) {
        const std::ptrdiff_t most =
            std::min({kMostShifted, std::ssize(words) - h, std::ssize(reference_) - r});
        for (std::ptrdiff_t n = 1; n <= most; ++n) {
          if (words[static_cast<std::size_t>(h + n - 1)] != reference_[static_cast<std::size_t>(r + n - 1)])
            break;
          try_targets(alignment, h, r, n);
          if (tried_ >= kMostTried) return;
        }
      }
    }
  }

  /// Tries to move the run at `h` to where the alignment has the reference's run at `r`.
  void try_targets(const Alignment& alignment, std::ptrdiff_t h, std::ptrdiff_t r, std::ptrdiff_t length) {
    if (Alignment::is_right(alignment.hypothesis_errors, h, length) ||
        Alignment::is_right(alignment.reference_errors, r, length))
      return;
    const std::ptrdiff_t place = alignment.place[static_cast<std::size_t>(r)];
    if (place >= h && place < h + length) return;  // it is there
    std::ptrdiff_t before = -1;
    for (std::ptrdiff_t at = r - 1; at < r + length; ++at) {
      const std::ptrdiff_t target = at < 0 ? 0 : alignment.place[static_cast<std::size_t>(at)] + 1;
      if (target == before) continue;
      before = target;
      consider({h, length, target});
      ++tried_;
    }
  }

  /// Keeps the shift that saves most edits; of equal ones the longest, then the first, then the one with the
  /// first target.
  void consider(const Shift& shift) {
    const Words moved = shift.of(matrix_.hypothesis());
    // The rows before the first word that differs from both are right already.
    const std::ptrdiff_t same = std::min(shift.start, shift.target);
    scratch_.assign(moved, static_cast<std::size_t>(std::min(same, scratch_same_)));
    scratch_same_ = same;
    const std::int32_t gain = matrix_.distance() - scratch_.distance();
    auto rank = [](std::int32_t saved, const Shift& s) {
      return std::tuple(saved, s.length, -s.start, -s.target);
    };
    if (best_.length == 0 || rank(gain, shift) > rank(best_gain_, best_)) {
      best_gain_ = gain;
      best_ = shift;
    }
  }

  const Words& reference_;
  EditMatrix matrix_, scratch_;
  std::ptrdiff_t scratch_same_ = 0;  ///< words at the start of `scratch_` that are those of `matrix_`
  std::int32_t best_gain_ = 0;
  Shift best_;
  std::ptrdiff_t tried_ = 0;
};

std::int64_t edits(const Words& hypothesis, const Words& reference) {
  if (hypothesis.empty() || reference.empty()) return std::ssize(hypothesis) + std::ssize(reference);
  return ShiftSearch(hypothesis, reference).edits();
}

}  // namespace

Statistics Ter::compare(const std::string& hypothesis, std::span<const std::string> references) const {
  if (references.empty()) fail("TER needs a reference");
  std::unordered_map<std::string, Word> numbers;
  const auto tokenized = [&](const std::string& line) {
    return tokenize_tercom(
        line, {options_.normalized, options_.no_punct, options_.asian_support, options_.case_sensitive});
  };
  const auto words = [&](const std::string& text) {
    Words list;
    for (const std::string_view word : split_any(text, " "))
      list.push_back(numbers.emplace(word, static_cast<Word>(numbers.size())).first->second);
    return list;
  };
  const Words ours = words(tokenized(hypothesis));
  std::int64_t fewest = 0, length = 0;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const Words theirs = words(tokenized(tokenized(references[i])));  // twice, as sacreBLEU does
    const std::int64_t found = edits(ours, theirs);
    fewest = i == 0 ? found : std::min(fewest, found);
    length += std::ssize(theirs);
  }
  return {static_cast<double>(fewest), static_cast<double>(length) / static_cast<double>(references.size())};
}

MetricScore Ter::score(std::span<const double> sum) const {
  const double edits = sum[0], length = sum[1];
  if (length > 0) return {100 * (edits / length)};
  return {edits > 0 ? 100.0 : 0.0};  // nothing was to be said
}

std::string Ter::settings() const {
  auto yes = [](bool value) { return value ? "yes" : "no"; };
  return concat("case:", options_.case_sensitive ? "mixed" : "lc",
                "|tok:tercom|norm:", yes(options_.normalized), "|punct:", yes(!options_.no_punct),
                "|asian:", yes(options_.asian_support));
}

}  // namespace heed::text
