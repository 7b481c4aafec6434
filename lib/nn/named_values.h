// Recording and editing the values of a forward pass by name. A value is named where it is computed
// (Scope::name), so a record always shows what was computed. When off, it costs a null pointer test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/matrix.h"
#include "tensor/packing.h"

namespace heed {

/// The place of a row: a sentence of the pass, counted from 0, and the position in it.
struct Place {
  std::int64_t sentence = 0, position = 0;
};

/// The places of all rows of a packing, in order.
std::vector<Place> places_of(const Packing& rows);

/// The rows of a value computed by one step of a recurrence.
struct StepRows {
  std::span<const std::int64_t> sentences;  ///< sentence of each row
  std::int64_t step = 0;
  const Packing* rows = nullptr;        ///< of all steps together
  std::span<const std::int64_t> steps;  ///< position of each row, if they are not all at `step`

  std::int64_t step_of(std::size_t row) const { return steps.empty() ? step : steps[row]; }
  std::vector<Place> places() const;
};

/// Sequences that continue sentences partly read by a decoder: sequence i of a pass belongs to sentence
/// sentences[i] and begins after its first `lengths[i]` tokens.
struct Continuation {
  std::span<const std::int64_t> sentences, lengths;
  const Packing* whole = nullptr;  ///< the rows of those sentences, if the pass has all of them

  Place operator()(const Place& at) const {
    const auto i = static_cast<std::size_t>(at.sentence);
    return {sentences[i], lengths[i] + at.position};
  }
};

/// The rows of a named value.
struct RowKind {
  const Packing* rows = nullptr;  ///< all rows with that name
  std::int64_t n_heads = 1;       ///< side by side in a row
};

/// Attention scores or weights: for each query and head a row over the keys of the query's sentence.
struct AttentionKind {
  const Packing *queries = nullptr, *keys = nullptr;
  std::int64_t n_heads = 1;
};

/// Records named values. Values of a recurrence arrive step by step.
template <class T>
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// If false, the value is not wanted and not passed to record().
  virtual bool wants(const std::string& name) const = 0;
  /// Row i of `value` belongs to places[i].
  virtual void record(const std::string& name, Matrix<const T> value, std::span<const Place> places,
                      const RowKind& kind) = 0;
  virtual void record_attention(const std::string& name, std::span<const T> row, const Place& query,
                                std::int64_t head, const AttentionKind& kind) = 0;
};

/// Edits named values before anything is computed from them. One object serves several passes at the same
/// time.
template <class T>
class Editor {
 public:
  virtual ~Editor() = default;
  virtual bool edits(const std::string& name) const = 0;
  virtual void edit(const std::string& name, Matrix<T> value, std::span<const Place> places,
                    std::int64_t n_heads) const = 0;
  virtual void edit_attention(const std::string& name, std::span<T> row, const Place& query,
                              std::int64_t head) const = 0;
};

}  // namespace heed
