// A recorder that stores whole values, assembled from steps if a recurrence computes them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nn/named_values.h"

namespace heed {

/// One named value.
template <class T>
struct Recorded {
  bool attention = false;  ///< scores or weights
  std::int64_t n_heads = 1;
  std::int64_t cols = 0;   ///< of packed rows
  std::int64_t parts = 0;  ///< number of parts in which it arrived: more than one for a recurrence
  Packing rows;            ///< for attention: the queries
  Packing keys;            ///< for attention
  /// Packed rows [rows, cols]; for attention each sentence's [n_heads, n_queries, n_keys] block, one after
  /// the other.
  std::vector<T> values;

  Matrix<const T> matrix() const { return {values.data(), rows.rows(), cols}; }
  /// The block of a sentence's head [n_queries, n_keys].
  Matrix<const T> block(std::int64_t sentence, std::int64_t head) const {
    const std::int64_t n = rows.length(sentence), m = keys.length(sentence);
    return {values.data() + blocks[static_cast<std::size_t>(sentence)] + head * n * m, n, m};
  }
  std::vector<std::int64_t> blocks;  ///< offset of each sentence's block
};

template <class T>
class Recording final : public Recorder<T> {
 public:
  using Wanted = std::function<bool(const std::string&)>;
  explicit Recording(Wanted wanted) : wanted_(std::move(wanted)) {}

  bool wants(const std::string& name) const override { return wanted_(name); }
  void record(const std::string& name, Matrix<const T> value, std::span<const Place> places,
              const RowKind& kind) override;
  void record_attention(const std::string& name, std::span<const T> row, const Place& query,
                        std::int64_t head, const AttentionKind& kind) override;

  /// In the order in which the pass first named them.
  const std::vector<std::pair<std::string, Recorded<T>>>& values() const { return values_; }
  bool has(const std::string& name) const { return index_.count(name) != 0; }
  /// Throws Error if nothing of that name was recorded.
  const Recorded<T>& at(const std::string& name) const;

 private:
  /// The value of that name, created by `make` if new. Throws Error if more rows arrive than it has.
  template <class Make>
  Recorded<T>& value(const std::string& name, std::int64_t rows, Make&& make);

  Wanted wanted_;
  std::vector<std::pair<std::string, Recorded<T>>> values_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::int64_t> left_;  ///< rows still missing from each value
};

extern template class Recording<float>;
extern template class Recording<double>;

}  // namespace heed
