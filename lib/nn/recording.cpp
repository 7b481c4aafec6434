#include "nn/recording.h"

#include <algorithm>

#include "base/error.h"

namespace heed {

template <class T>
template <class Make>
Recorded<T>& Recording<T>::value(const std::string& name, std::int64_t rows, Make&& make) {
  const auto [found, is_new] = index_.try_emplace(name, values_.size());
  const std::size_t i = found->second;
  if (is_new) {
    values_.emplace_back(name, Recorded<T>{});
    left_.push_back(make(values_.back().second));
  }
  left_[i] -= rows;
  if (left_[i] < 0) fail(name, " was named twice");
  return values_[i].second;
}

template <class T>
void Recording<T>::record(const std::string& name, Matrix<const T> rows, std::span<const Place> places,
                          const RowKind& kind) {
  Recorded<T>& kept = value(name, rows.rows, [&](Recorded<T>& made) {
    made.n_heads = kind.n_heads;
    made.cols = rows.cols;
    made.rows = *kind.rows;
    made.values.resize(static_cast<std::size_t>(made.rows.rows() * rows.cols));
    return made.rows.rows();
  });
  ++kept.parts;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const Place& place = places[static_cast<std::size_t>(i)];
    T* out = kept.values.data() + (kept.rows.offset(place.sentence) + place.position) * kept.cols;
    for (std::int64_t j = 0; j < rows.cols; ++j) out[j] = rows(i, j);
  }
}

template <class T>
void Recording<T>::record_attention(const std::string& name, std::span<const T> row, const Place& query,
                                    std::int64_t head, const AttentionKind& kind) {
  Recorded<T>& kept = value(name, 1, [&](Recorded<T>& made) {
    made.attention = true;
    made.n_heads = kind.n_heads;
    made.rows = *kind.queries;
    made.keys = *kind.keys;
    std::int64_t size = 0;
    for (std::int64_t s = 0; s < made.rows.sentences(); ++s) {
      made.blocks.push_back(size);
      size += made.n_heads * made.rows.length(s) * made.keys.length(s);
    }
    made.values.resize(static_cast<std::size_t>(size));
    return made.rows.rows() * made.n_heads;
  });
  const std::int64_t n = kept.rows.length(query.sentence), m = kept.keys.length(query.sentence);
  std::copy_n(row.begin(), m,
              kept.values.begin() + kept.blocks[static_cast<std::size_t>(query.sentence)] +
                  (head * n + query.position) * m);
}

template <class T>
const Recorded<T>& Recording<T>::at(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail("the model names no value ", name);
  return values_[found->second].second;
}

template class Recording<float>;
template class Recording<double>;

}  // namespace heed
