#include "models/decoder_state.h"

#include <numeric>

#include "autograd/ops_recurrent.h"
#include "base/error.h"

namespace heed {

template <class T>
DecoderState<T>::DecoderState(std::int64_t sentences)
    : past(static_cast<std::size_t>(sentences)),
      sentences_(static_cast<std::size_t>(sentences)),
      lengths_(static_cast<std::size_t>(sentences)) {
  std::iota(sentences_.begin(), sentences_.end(), 0);
}

template <class T>
Packing DecoderState<T>::groups(const Packing& read) const {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(memory_rows->sentences()));
  for (std::size_t i = 0; i < sentences_.size(); ++i) {
    if (i > 0 && sentences_[i] < sentences_[i - 1]) fail("the hypotheses of a sentence must be adjacent");
    lengths[static_cast<std::size_t>(sentences_[i])] +=
        static_cast<std::int32_t>(read.length(static_cast<std::int64_t>(i)));
  }
  return Packing(lengths);
}

template <class T>
void DecoderState<T>::append_to_past(const Packing& read) {
  appended_.clear();
  for (std::size_t i = 0; i < past.size(); ++i) {
    for (std::int64_t n = read.length(static_cast<std::int64_t>(i)); n > 0; --n) {
      std::int32_t place = cached_;
      if (free_.empty()) {
        ++cached_;
      } else {
        place = free_.back();
        free_.pop_back();
      }
      past[i].push_back(place);
      appended_.push_back(place);
    }
  }
}

template <class T>
void DecoderState<T>::free_places() {
  std::vector<bool> used(static_cast<std::size_t>(cached_));
  for (const std::vector<std::int32_t>& places : past)
    for (const std::int32_t place : places) used[static_cast<std::size_t>(place)] = true;
  free_.clear();
  for (std::int32_t place = cached_; place-- > 0;)
    if (!used[static_cast<std::size_t>(place)]) free_.push_back(place);
}

template <class T>
void DecoderState<T>::advance(const Packing& read) {
  for (std::size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += read.length(static_cast<std::int64_t>(i));
}

template <class T>
void DecoderState<T>::select(std::span<const std::int64_t> parents, Tape<T>& tape) {
  std::vector<RowOf> origin;
  DecoderState next;
  for (const std::int64_t parent : parents) {
    if (parent < 0 || parent >= hypotheses())
      fail("a hypothesis continues number ", parent, ", but there are ", hypotheses());
    const auto from = static_cast<std::size_t>(parent);
    origin.push_back({0, parent});
    next.sentences_.push_back(sentences_[from]);
    next.lengths_.push_back(lengths_[from]);
    next.past.push_back(past[from]);
    if (!streams.empty()) next.streams.push_back(streams[from]);
  }
  for (Var<T>& row : rows) row = select_rows<T>({tape.constant(row.value())}, origin);
  for (Var<T>& kept : memory)
    if (kept) kept = tape.constant(kept.value());
  sentences_ = std::move(next.sentences_);
  lengths_ = std::move(next.lengths_);
  past = std::move(next.past);
  free_places();
  streams = std::move(next.streams);
}

template class DecoderState<float>;
template class DecoderState<double>;

}  // namespace heed
