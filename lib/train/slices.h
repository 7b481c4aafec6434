// The slices of a model's parameters owned by ranks, and their transfer: a piece of every slice at a time, so
// that it takes little memory, and without the padding between rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "nn/parameters.h"
#include "train/exchange.h"

namespace heed {

/// Consecutive elements of a flat buffer.
struct Stretch {
  std::size_t first = 0, count = 0;

  std::size_t end() const { return first + count; }
};

/// The elements of a flat buffer that hold numbers. The others are padding that aligns rows or keeps them
/// from evicting one another (spread_stride), and are zero.
class Layout {
 public:
  /// All elements hold numbers.
  explicit Layout(std::size_t size);
  explicit Layout(const ParameterSet<float>& parameters);

  /// Size of the buffer.
  std::size_t size() const { return size_; }
  /// Number of numbers in a stretch.
  std::size_t numbers_in(Stretch stretch) const;
  /// Calls visit(run) for each run of numbers in a stretch, in order.
  template <class Visit>
  void for_runs(Stretch stretch, Visit&& visit) const {
    for (std::size_t i = first_run(stretch.first); i < runs_.size(); ++i) {
      const std::size_t first = std::max(runs_[i].first, stretch.first);
      const std::size_t end = std::min(runs_[i].first + runs_[i].count, stretch.end());
      if (first >= end) return;
      visit(Stretch{first, end - first});
    }
  }

 private:
  struct Run {
    std::size_t first, count;
    std::size_t before;  ///< numbers in the runs before it
  };

  std::size_t first_run(std::size_t element) const;
  std::size_t numbers_before(std::size_t element) const;

  std::size_t size_;
  std::vector<Run> runs_;
};

/// The boundaries of the ranks' slices of a buffer of `size` elements, at multiples of a range
/// (train/ranges.h).
Cuts slice_cuts(std::size_t size, int ranks);

class Slices {
 public:
  /// Memory for the data sent in a round, and for the data received in it. With 16 MiB, two hosts at 1 Gbit/s
  /// took half as long again.
  static constexpr std::size_t kRoundBytes = std::size_t{64} << 20;

  /// `exchange` must outlive this.
  Slices(Layout layout, int threads, Exchange& exchange, std::size_t round_bytes = kRoundBytes);

  const Layout& layout() const { return layout_; }
  const Cuts& cuts() const { return cuts_; }
  Stretch of(int rank) const;
  /// This rank's slice of a whole buffer.
  template <class T>
  std::span<T> own(std::span<T> whole) const {
    return whole.subspan(of(exchange_.rank()).first, of(exchange_.rank()).count);
  }

  /// Each rank's slice of `whole` is sent to every other rank.
  void all_gather(std::span<float> whole);
  /// Gathers every rank's slice into rank 0's `whole`, which other ranks do not have. With a single rank both
  /// may be the same buffer.
  void gather(std::span<const float> own, std::span<float> whole);
  /// The inverse of gather.
  void scatter(std::span<const float> whole, std::span<float> own);

  // For other kinds of transfer.

  /// A range of elements within a piece.
  struct Part : Stretch {
    int rank;        ///< the owner of the slice
    std::size_t at;  ///< number of numbers in the piece before it
  };
  /// A piece of each slice, empty where a slice has ended.
  struct Round {
    std::vector<std::size_t> numbers;  ///< number in the piece of each rank
    std::vector<Part> parts;           ///< all pieces, divided into ranges
  };
  /// The slices in pieces, so that `copies` of them fit into a round, or single ranges; the same on all
  /// ranks.
  std::vector<Round> rounds(std::size_t copies) const;
  /// Calls task(part) for all parts of a round, on several threads.
  void for_parts(const Round& round, const std::function<void(const Part&)>& task) const;
  /// A buffer for this number of numbers, uninitialised, valid until the next call.
  std::span<float> outgoing(std::size_t numbers);
  std::span<float> incoming(std::size_t numbers);

 private:
  /// The destination or origin of a slice.
  struct Route {
    int rank, slice;
  };
  /// Values of a buffer from element `first` on.
  template <class T>
  struct From {
    std::span<T> values;
    std::size_t first;
  };
  void travel(const std::vector<Route>& send, From<const float> source, const std::vector<Route>& receive,
              From<float> target);

  Layout layout_;
  int threads_;
  Exchange& exchange_;
  std::size_t round_bytes_;
  Cuts cuts_;
  std::vector<float> outgoing_, incoming_;
};

}  // namespace heed
