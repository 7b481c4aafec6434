// What a stepper keeps of its hypotheses from one step to the next: matrices with a row for each of them.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "nn/watch.h"

namespace heed {

/// Which sentence each hypothesis belongs to, and how long they are.
class HypothesisSentences {
 public:
  explicit HypothesisSentences(std::int64_t count) : sentences_(static_cast<std::size_t>(count)) {
    std::iota(sentences_.begin(), sentences_.end(), 0);
  }
  /// The rows of the next step; parents as in Stepper::step. Throws Error when there is no such hypothesis.
  StepRows next(std::span<const std::int64_t> parents) {
    std::vector<std::int64_t> sentences;
    for (std::int64_t parent : parents) {
      if (parent < 0 || parent >= static_cast<std::int64_t>(sentences_.size()))
        fail("step: continues ", parent, " of ", sentences_.size(), " hypotheses");
      sentences.push_back(sentences_[static_cast<std::size_t>(parent)]);
    }
    sentences_ = std::move(sentences);
    return {sentences_, steps_++, nullptr, false, {}};
  }
  std::span<const std::int64_t> sentences() const { return sentences_; }
  std::int64_t steps() const { return steps_; }

 private:
  std::vector<std::int64_t> sentences_;
  std::int64_t steps_ = 0;
};

template <class T>
class HypothesisStates {
 public:
  /// Replaces what was kept by copies of `states`, each [n, width].
  void keep(const std::vector<Var<T>>& states) {
    kept_.clear();
    for (const Var<T>& state : states) {
      Kept& kept = kept_.emplace_back();
      kept.width = state.cols();
      for (std::int64_t i = 0; i < state.rows(); ++i)
        kept.values.insert(kept.values.end(), state.value().row(i), state.value().row(i) + state.cols());
    }
    count_ = states.at(0).rows();
  }
  /// The same on `tape`, row i taken from hypothesis parents[i]. Throws Error when there is no such
  /// hypothesis.
  std::vector<Var<T>> take(Tape<T>& tape, std::span<const std::int64_t> parents) const {
    std::vector<RowOf> rows;
    for (std::int64_t parent : parents) {
      if (parent < 0 || parent >= count_) fail("step: continues ", parent, " of ", count_, " hypotheses");
      rows.push_back({0, parent});
    }
    std::vector<Var<T>> states = all(tape);
    for (Var<T>& state : states) state = select_rows<T>({state}, rows);
    return states;
  }

  /// All that is kept, as it is, on `tape`.
  std::vector<Var<T>> all(Tape<T>& tape) const {
    std::vector<Var<T>> states;
    for (const Kept& kept : kept_) states.push_back(tape.constant({kept.values.data(), count_, kept.width}));
    return states;
  }

 private:
  struct Kept {
    std::vector<T> values;
    std::int64_t width = 0;
  };
  std::vector<Kept> kept_;
  std::int64_t count_ = 0;
};

}  // namespace heed
