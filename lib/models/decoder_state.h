// What a decoder has read, of each hypothesis: it starts empty, grows with every read, and can be
// re-ordered and thinned out between reads. Training reads whole sentences onto the empty state, search a
// token at a time, and a prompt is read at once.
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

  /// Of what is read later; when off, a decoder need not keep what further reads would need.
  bool keeps_past = false;

  std::vector<Var<T>> rows;              ///< a row for each hypothesis: recurrent states, what is fed back
  std::vector<Var<T>> memory;            ///< what the decoder made of the memory, the same for all reads
  const Packing* memory_rows = nullptr;  ///< must outlive the state
  std::vector<KeyValueCache<T>> caches;  ///< of each self-attention, when the past is kept
  PastRows past;                         ///< the rows of the caches that are each hypothesis's
  /// Of each hypothesis that is sampled: the random numbers for what the model itself draws (hard attention),
  /// counted from its first token. Empty: the most likely is taken.
  std::vector<SampleStream> streams;

  std::int64_t hypotheses() const { return static_cast<std::int64_t>(sentences_.size()); }
  /// The sentence of each hypothesis.
  std::span<const std::int64_t> sentences() const { return sentences_; }
  /// The number of tokens of each that were read.
  std::span<const std::int64_t> lengths() const { return lengths_; }
  /// The place of what is read next.
  Continuation continuation() const { return {sentences_, lengths_}; }
  /// The rows of a read, hypothesis by hypothesis, as groups of one sentence of the memory each.
  Packing groups(const Packing& read) const;
  /// Gives the rows of a read, in order, places in the caches: those of dropped hypotheses again, so that the caches
  /// stay as small as what is still searched.
  void append_to_past(const Packing& read);
  std::span<const std::int32_t> appended() const { return appended_; }
  /// Counts the rows of a read that is over.
  void advance(const Packing& read);

  /// Hypothesis i becomes a copy of hypothesis parents[i]; those not named are dropped. Everything moves to
  /// `tape`, from the tape of the last read, which must still be as it was. Throws Error when there is no
  /// such hypothesis.
  void select(std::span<const std::int64_t> parents, Tape<T>& tape);

 private:
  std::vector<std::int64_t> sentences_, lengths_;
  /// Places that no hypothesis uses any longer.
  void free_places();

  std::int32_t cached_ = 0;                    ///< places in each cache
  std::vector<std::int32_t> free_, appended_;  ///< places: those not in use; those of the last read
};

extern template class DecoderState<float>;
extern template class DecoderState<double>;

}  // namespace heed
