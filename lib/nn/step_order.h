// The order in which a recurrent layer reads packed rows: all sentences side by side, longest first, so that
// the rows of the sentences still running are always the first ones.
#pragma once

#include <span>
#include <vector>

#include "autograd/ops_recurrent.h"
#include "nn/named_values.h"
#include "tensor/packing.h"

namespace heed {

enum class Direction { forward, backward };

/// Step t has one row for each of its active(t) sentences; the rows of all steps, one step after the other,
/// are "in time order".
class StepOrder {
 public:
  /// `continuation`: what the packed sequences continue, or none. Throws Error when a sentence is empty.
  explicit StepOrder(const Packing& rows, Direction direction = Direction::forward,
                     const Continuation* continuation = nullptr);

  std::int64_t steps() const { return static_cast<std::int64_t>(first_.size()) - 1; }
  std::int64_t rows() const { return first_.back(); }
  std::int64_t active(std::int64_t step) const { return first(step + 1) - first(step); }
  /// The first row of step `step` in time order.
  std::int64_t first(std::int64_t step) const { return first_[static_cast<std::size_t>(step)]; }
  /// first(0) .. first(steps()).
  std::span<const std::int64_t> firsts() const { return first_; }
  /// The packed sequence of row `rank` of every step.
  std::int64_t sequence(std::int64_t rank) const { return sentences_[static_cast<std::size_t>(rank)]; }
  /// The sentence of each row of a step.
  std::span<const std::int64_t> sentences(std::int64_t step) const { return of_step(all_sentences_, step); }

  /// What the rows of a step are; `rows` is the packing that this order was made from.
  StepRows rows_of(std::int64_t step, const Packing& rows) const {
    return {sentences(step), step, whole_ ? whole_ : &rows, of_step(all_positions_, step)};
  }
  /// Describes the rows of all steps, in time order.
  StepRows rows_of_all(const Packing& rows) const {
    return {all_sentences_, 0, whole_ ? whole_ : &rows, all_positions_};
  }

  /// Arguments of select_rows: packed rows into time order.
  std::vector<RowOf> to_time_order() const;
  /// From a matrix for each step (part = step) to packed rows.
  std::vector<RowOf> to_packed() const;
  /// From a row for each sentence to the rows of step 0.
  std::vector<RowOf> to_first_step() const;
  /// From rows in time order to packed rows.
  std::vector<RowOf> from_time_order() const;
  /// From rows in time order to the last one of each sentence.
  std::vector<RowOf> to_last_step() const;
  /// The same from a matrix for each step (part = step).
  std::vector<RowOf> to_last_of_steps() const;

 private:
  std::span<const std::int64_t> of_step(const std::vector<std::int64_t>& all, std::int64_t step) const {
    return std::span(all).subspan(static_cast<std::size_t>(first(step)),
                                  static_cast<std::size_t>(active(step)));
  }
  /// The position of a step in its sequence of the packing.
  std::int64_t position(std::int64_t step, std::int64_t sequence) const {
    return direction_ == Direction::forward ? step : rows_.length(sequence) - 1 - step;
  }
  /// The packed row at `step` of sentence number `rank` in the order.
  std::int64_t packed_row(std::int64_t step, std::int64_t rank) const {
    return rows_.offset(sequence(rank)) + position(step, sequence(rank));
  }

  Packing rows_;
  Direction direction_;
  std::vector<std::int64_t> sentences_;  ///< of the packing, longest first
  std::vector<std::int64_t> first_{0};
  /// For each row in time order: its sentence, and its position in it; those continued by the packing's
  /// sequences.
  std::vector<std::int64_t> all_sentences_, all_positions_;
  const Packing* whole_;  ///< the rows of those sentences, or none
};

}  // namespace heed
