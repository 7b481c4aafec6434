// How the ranks of a run give each other bytes. A rank is one of the processes that train a model together, perhaps on
// several machines; each computes some shards of every batch and owns a slice of the parameters. All ranks make the same
// calls in the same order. What is computed from the bytes, and in which order, is not decided here, so it is the same
// however they travel: over MPI (lib/mpi) or, in tests, between threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace heed {

class Exchange {
 public:
  struct Outgoing {
    int rank;  ///< another one
    std::span<const std::byte> bytes;
  };
  struct Incoming {
    int rank;
    std::span<std::byte> bytes;
  };

  Exchange() = default;
  Exchange(const Exchange&) = delete;
  virtual ~Exchange() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The machine that a rank runs on.
  virtual const std::string& host(int rank) const = 0;
  /// Returns when all has been sent and received. What one rank sends another arrives in that order; a piece is
  /// received in the size that it was sent in.
  virtual void transfer(std::span<const Outgoing> send, std::span<const Incoming> receive) = 0;
  /// Ends the run on all ranks, with this exit status.
  [[noreturn]] virtual void abort(int status) = 0;

  std::atomic<std::int64_t> step{0};  ///< updates done, for messages
};

/// The exchange of a process that trains alone.
Exchange& alone();

/// "3 on n07"
std::string name_of(const Exchange& exchange, int rank);

/// The other ranks, each rank's next one first, so that not all send to the same one at a time.
std::vector<int> others(const Exchange& exchange);

/// Rank r has the elements from cuts[r] to cuts[r + 1].
using Cuts = std::vector<std::size_t>;

template <class T>
concept Sendable = std::is_trivially_copyable_v<T>;

// What the templates below do, in bytes: elements of `width`.
void all_gather_bytes(Exchange& exchange, std::span<std::byte> all, const Cuts& cuts, std::size_t width);
void broadcast_bytes(Exchange& exchange, std::span<std::byte> all);

/// Each rank's part of `all` goes to every other rank.
template <Sendable T>
void all_gather(Exchange& exchange, std::span<T> all, const Cuts& cuts) {
  all_gather_bytes(exchange, std::as_writable_bytes(all), cuts, sizeof(T));
}
/// Rank 0's values replace those of the others.
template <Sendable T>
void broadcast(Exchange& exchange, std::span<T> values) {
  broadcast_bytes(exchange, std::as_writable_bytes(values));
}
std::string broadcast(Exchange& exchange, std::string text);
/// What each rank has, in their order.
std::vector<std::string> all(Exchange& exchange, const std::string& own);
/// Returns when every rank is here.
void meet(Exchange& exchange);

/// [floor(count r / ranks)] for r up to `ranks`: consecutive parts of about equal size.
Cuts even_cuts(std::size_t count, int ranks);

/// Waits for another rank to end the run.
[[noreturn]] void wait_for_end(Exchange& exchange, int rank = 0);

/// Of an error that all ranks find alike: rank 0 throws it, and the others wait until that ends the run.
template <class Exception = Error, class... Args>
[[noreturn]] void fail_together(Exchange& exchange, const Args&... args) {
  if (exchange.rank() > 0) wait_for_end(exchange);
  fail<Exception>(args...);
}

/// Runs `work`, which exchanges nothing and which all ranks do alike. The first rank whose work throws throws that, and the
/// others wait until it ends the run: what all find wrong is said once.
void together(Exchange& exchange, const std::function<void()>& work);

/// What a rank says of its run, to be the same on all.
struct RankField {
  std::string name, value;
};
/// Throws Error, on all ranks alike, that names a rank, its host, the field and both values if one has other values than
/// rank 0, whose fields come in the same order. `advice` ends the message.
void expect_same(Exchange& exchange, const std::vector<RankField>& fields, const std::string& advice);

}  // namespace heed
