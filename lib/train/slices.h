// The slices of a model's parameters that ranks own, and how values in the parameters' layout travel between them: a
// piece of every slice at a time, so that it takes little memory, and without what lies between rows.
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

/// Which elements of a flat buffer hold numbers. The others align rows or keep them from evicting one another
/// (spread_stride), and are zero.
class Layout {
 public:
  /// All of them.
  explicit Layout(std::size_t size);
  explicit Layout(const ParameterSet<float>& parameters);

  /// Of the buffer.
  std::size_t size() const { return size_; }
  /// How many numbers a stretch has.
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

/// Where ranks cut a buffer of `size` elements into slices of whole ranges (train/ranges.h).
Cuts slice_cuts(std::size_t size, int ranks);

class Slices {
 public:
  /// Memory for what is sent in a round, and for what arrives in it. With 16 MiB, two hosts at 1 Gbit/s took half as long
  /// again.
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

  /// Each rank's slice of `whole` goes to every other rank.
  void all_gather(std::span<float> whole);
  /// Every rank's slice becomes that of rank 0's `whole`, which others do not have. Alone, they may be one.
  void gather(std::span<const float> own, std::span<float> whole);
  /// The inverse.
  void scatter(std::span<const float> whole, std::span<float> own);

  // For what travels otherwise.

  /// Some elements of a piece.
  struct Part : Stretch {
    int rank;        ///< in whose slice it lies
    std::size_t at;  ///< numbers in the piece before it
  };
  /// A piece of each slice, empty where a slice has ended.
  struct Round {
    std::vector<std::size_t> numbers;  ///< in that of each rank
    std::vector<Part> parts;           ///< all pieces in ranges
  };
  /// The slices in pieces, of which `copies` fit into a round or that are single ranges; the same on all ranks.
  std::vector<Round> rounds(std::size_t copies) const;
  /// Calls task(part) for all parts of a round, on several threads.
  void for_parts(const Round& round, const std::function<void(const Part&)>& task) const;
  /// Room for so many numbers, of any value, valid until the next call.
  std::span<float> outgoing(std::size_t numbers);
  std::span<float> incoming(std::size_t numbers);

 private:
  /// Whose slice goes to, or comes from, which rank.
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
