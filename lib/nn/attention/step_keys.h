// The keys that each query of a recurrent decoder's step attends to; shared by the attention operations.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "autograd/tape.h"
#include "base/error.h"
#include "tensor/packing.h"

namespace heed {

/// A range of adjacent keys of a sentence.
struct KeyWindow {
  std::int64_t first = 0, count = 0;
};

/// The keys of each query row: row i attends to those of sentence sentences[i], which are the rows
/// keys.offset(sentence) .. of the key or memory matrix; if there are windows, only to those in windows[i].
/// `keys` must outlive the tape's pass.
struct StepKeys {
  std::span<const std::int64_t> sentences;
  const Packing* keys = nullptr;
  std::span<const KeyWindow> windows{};

  /// The rows of the key matrix that query i attends to, and the columns of its scores.
  struct Seen {
    std::int64_t row, column, count;
    template <class T>
    Matrix<T> rows_of(Matrix<T> keys) const {
      return keys.row_range(row, count);
    }
    template <class T>
    Matrix<T> columns_of(Matrix<T> scores) const {
      return scores.columns(column, count);
    }
  };
  Seen seen(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t first = keys->offset(sentences[at]);
    if (windows.empty()) return {first, 0, keys->length(sentences[at])};
    return {first + windows[at].first, windows[at].first, windows[at].count};
  }
  std::int64_t queries() const { return static_cast<std::int64_t>(sentences.size()); }
};

/// Calls visit(i, its keys) for each query that has at least one key.
template <class Visit>
void each_query(const StepKeys& at, Visit&& visit) {
  for (std::int64_t i = 0; i < at.queries(); ++i) {
    const StepKeys::Seen seen = at.seen(i);
    if (seen.count > 0) visit(i, seen);
  }
}

/// A copy of `at` that lives until the end of the pass.
template <class T>
StepKeys keep(Tape<T>& tape, const StepKeys& at) {
  return {tape.arena().keep(at.sentences), at.keys, tape.arena().keep(at.windows)};
}

/// Throws Error unless there is a row of `queries` for each query and a row of `keys` for each key.
template <class T>
void expect_keys(const char* op, Var<T> queries, Var<T> keys, const StepKeys& at) {
  if (queries.rows() != at.queries() || keys.rows() != at.keys->rows()) {
    fail(op, ": ", queries.rows(), " queries of ", at.queries(), " sentences, ", keys.rows(),
         " key rows, wanted ", at.keys->rows());
  }
}

/// Scores [n, longest sentence] that are -infinity everywhere.
template <class T>
Var<T> new_scores(Tape<T>& tape, const StepKeys& at) {
  Var<T> y = tape.result(at.queries(), at.keys->longest());
  const Matrix<T> out = tape.mutable_value(y);
  std::fill_n(out.data, out.size(), -std::numeric_limits<T>::infinity());
  return y;
}

}  // namespace heed
