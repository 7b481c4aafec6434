// Decoding onto a state, call after call: what search needs of a model. Two tapes take turns, so the results of the
// last read, from which the next is computed, stay valid meanwhile. Without a memory the state and the logits are bit
// for bit the same whether a text is read at once or in parts.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "autograd/op_times.h"
#include "models/model.h"
#include "tensor/logits.h"

namespace heed {

template <class T>
class Hypotheses {
 public:
  /// One empty hypothesis for each of `sentences` sentences, with `memory` as in Decoder::start.
  /// `weights` (the model's), `memory` with its tape and, if given, `editor` and `times` must outlive this. `streams`:
  /// for each sampled sentence the stream of its first translation, whose others get the streams after it; empty:
  /// nothing is drawn. `times` receives the time by operation; what happens between two reads counts as `search`,
  /// including the words' logits unless they are requested as a matrix.
  Hypotheses(const Model<T>& model, const PackedWeights<T>& weights, std::int64_t sentences,
             const Encoded<T>* memory, const Editor<T>* editor = nullptr,
             const std::vector<SampleStream>& streams = {}, OpTimes* times = nullptr);

  /// Hypothesis i continues hypothesis parents[i] by tokens[i]; those left out are dropped. Hypotheses of
  /// one sentence must be adjacent. Returns the logits [n, vocabulary] of the next word, valid until the
  /// next call.
  Logits<T> read(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents);
  /// All hypotheses, as they are, read a text each: embeddings, as Decoder::embed gives them, or tokens.
  /// Returns the logits of the word after each text's last.
  Logits<T> read(Matrix<const T> embedded, const Packing& rows);
  Logits<T> read(const PackedTokens& texts);

  /// Hypothesis i becomes a copy of hypothesis parents[i], without a read. Logits are no longer valid.
  void select(std::span<const std::int64_t> parents);

 private:
  Tape<T>& next_tape();
  /// Gives each translation of a sentence a stream of its own.
  void spread_streams(std::span<const std::int64_t> parents);
  Logits<T> read(Var<T> embedded, const Packing& rows);

  const Model<T>& model_;
  Packing memory_rows_;
  Tape<T> start_, tapes_[2];
  int turn_ = 0;
  Pass<T> pass_;
  DecoderState<T> state_;
  bool has_streams_ = false;
  OpTimes* times_;
};

extern template class Hypotheses<float>;
extern template class Hypotheses<double>;

}  // namespace heed
