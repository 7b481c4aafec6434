#include "models/hypotheses.h"

#include <numeric>

#include "autograd/ops_recurrent.h"

namespace heed {

template <class T>
Hypotheses<T>::Hypotheses(const Model<T>& model, const PackedWeights<T>& weights, std::int64_t sentences,
                          const Encoded<T>* memory, const Editor<T>* editor,
                          const std::vector<SampleStream>& streams, OpTimes* times)
    : model_(model), times_(times) {
  pass_.tape = &start_;
  pass_.parameters = &model.parameters;
  pass_.editor = editor;
  for (Tape<T>* tape : {&start_, &tapes_[0], &tapes_[1]}) {
    tape->set_packed_weights(&weights);
    tape->set_op_times(times);
  }
  if (times_) times_->start();
  Encoded<T> own;
  if (memory) {
    memory_rows_ = *memory->rows;
    own = {start_.constant(memory->states.value()), &memory_rows_, {}};
    for (const Var<T>& last : memory->final_states) own.final_states.push_back(start_.constant(last.value()));
  }
  state_ = model.needed_decoder().start(pass_, sentences, memory ? &own : nullptr);
  state_.keeps_past = true;
  state_.streams = streams;
  has_streams_ = !streams.empty();
}

template <class T>
Tape<T>& Hypotheses<T>::next_tape() {
  turn_ = 1 - turn_;
  tapes_[turn_].reset();
  pass_.tape = &tapes_[turn_];
  return tapes_[turn_];
}

template <class T>
Logits<T> Hypotheses<T>::read(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) {
  if (times_) times_->end("search", false, 0);
  state_.select(parents, next_tape());
  if (has_streams_) spread_streams(parents);
  PackedTokens words;
  for (const std::int32_t& token : tokens) words.append({&token, 1});
  return read(model_.decoder->embed(pass_, words, state_.continuation()), words.rows);
}

template <class T>
void Hypotheses<T>::select(std::span<const std::int64_t> parents) {
  state_.select(parents, next_tape());
}

template <class T>
Logits<T> Hypotheses<T>::read(Matrix<const T> embedded, const Packing& rows) {
  std::vector<std::int64_t> same(static_cast<std::size_t>(state_.hypotheses()));
  std::iota(same.begin(), same.end(), 0);
  Tape<T>& tape = next_tape();
  state_.select(same, tape);
  return read(tape.constant(embedded), rows);
}

template <class T>
Logits<T> Hypotheses<T>::read(const PackedTokens& texts) {
  Tape<T> tape;
  tape.set_packed_weights(start_.packed_weights());
  Pass<T> pass = pass_;
  pass.tape = &tape;
  return read(model_.decoder->embed(pass, texts, state_.continuation()).value(), texts.rows);
}

template <class T>
Logits<T> Hypotheses<T>::read(Var<T> embedded, const Packing& rows) {
  Var<T> states = model_.decoder->read(pass_, state_, embedded, rows).states;
  if (rows.rows() > rows.sentences()) {
    std::vector<RowOf> last;
    for (std::int64_t s = 0; s < rows.sentences(); ++s) last.push_back({0, rows.offset(s + 1) - 1});
    states = select_rows<T>({states}, last);
  }
  return model_.needed_words().next_words(pass_, states);
}

template <class T>
void Hypotheses<T>::spread_streams(std::span<const std::int64_t> parents) {
  if (state_.lengths().empty() || state_.lengths().front() > 0) return;
  for (std::size_t i = 1; i < parents.size(); ++i)
    if (parents[i] == parents[i - 1]) state_.streams[i].stream = state_.streams[i - 1].stream + 1;
}

template class Hypotheses<float>;
template class Hypotheses<double>;

}  // namespace heed
