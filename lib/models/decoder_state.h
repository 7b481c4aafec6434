// The state of a decoder for each hypothesis: it starts empty, grows with every read, and hypotheses can be
// reordered and dropped between reads. Training reads whole sentences onto the empty state, search one token
// at a time, and a prompt is read at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/tape.h"
#include "nn/named_values.h"
#include "tensor/key_value_cache.h"
#include "tensor/sample_stream.h"

namespace heed {

template <class T>
class DecoderState {
 public:
  /// One empty hypothesis for each sentence.
  explicit DecoderState(std::int64_t sentences = 0);

  /// Applies to later reads; if off, a decoder need not keep what further reads would need.
  bool keeps_past = false;

  std::vector<Var<T>> rows;              ///< one row per hypothesis: recurrent states, fed-back vectors
  std::vector<Var<T>> memory;            ///< computed from the memory, the same for all reads
  const Packing* memory_rows = nullptr;  ///< must outlive the state
  std::vector<KeyValueCache<T>> caches;  ///< of each self-attention, if the past is kept
  PastRows past;                         ///< the rows of the caches that belong to each hypothesis
  /// For each sampled hypothesis, the random numbers for the model's own draws (hard attention), counted from
  /// its first token. Empty: the most likely is chosen.
  std::vector<SampleStream> streams;

  std::int64_t hypotheses() const { return static_cast<std::int64_t>(sentences_.size()); }
  /// The sentence of each hypothesis.
  std::span<const std::int64_t> sentences() const { return sentences_; }
  /// The number of tokens read by each hypothesis.
  std::span<const std::int64_t> lengths() const { return lengths_; }
  /// The place of the next read.
  Continuation continuation() const { return {sentences_, lengths_}; }
  /// Groups the rows of a read, hypothesis by hypothesis, by sentence of the memory.
  Packing groups(const Packing& read) const;
  /// Assigns places in the caches to the rows of a read, in order. Places of dropped hypotheses are reused,
  /// so the caches stay as small as the hypotheses still searched.
  void append_to_past(const Packing& read);
  std::span<const std::int32_t> appended() const { return appended_; }
  /// Counts the rows of a completed read.
  void advance(const Packing& read);

  /// Hypothesis i becomes a copy of hypothesis parents[i]; hypotheses not named are dropped. Everything moves
  /// to `tape`, from the tape of the last read, which must still be unchanged. Throws Error if there is no
  /// such hypothesis.
  void select(std::span<const std::int64_t> parents, Tape<T>& tape);

 private:
  std::vector<std::int64_t> sentences_, lengths_;
  /// Frees the places that no hypothesis uses any longer.
  void free_places();

  std::int32_t cached_ = 0;                    ///< places in each cache
  std::vector<std::int32_t> free_, appended_;  ///< places: unused ones; those of the last read
};

extern template class DecoderState<float>;
extern template class DecoderState<double>;

}  // namespace heed
