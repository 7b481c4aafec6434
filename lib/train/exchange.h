// The exchange of bytes between the ranks of a run. A rank is one of the processes that train a model
// together, possibly on several machines; each computes some shards of every batch and owns a slice of the
// parameters. All ranks make the same calls in the same order. The computation and its order are defined
// elsewhere, so the result is the same however bytes are sent: over MPI (lib/mpi) or, in tests, between
// threads.
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
    int rank;  ///< the other rank
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
  /// The machine of a rank.
  virtual const std::string& host(int rank) const = 0;
  /// Returns after everything has been sent and received. Messages from one rank to another arrive in order;
  /// each is received with the size that it was sent with.
  virtual void transfer(std::span<const Outgoing> send, std::span<const Incoming> receive) = 0;
  /// Ends the run on all ranks, with this exit status.
  [[noreturn]] virtual void abort(int status) = 0;

  std::atomic<std::int64_t> step{0};  ///< updates done, for messages
};

/// The exchange of a process that trains alone.
Exchange& alone();

/// "3 on n07"
std::string name_of(const Exchange& exchange, int rank);

/// The other ranks, starting with the next one, so that not all send to the same rank at once.
std::vector<int> others(const Exchange& exchange);

/// Rank r owns the elements from cuts[r] to cuts[r + 1].
using Cuts = std::vector<std::size_t>;

template <class T>
concept Sendable = std::is_trivially_copyable_v<T>;

// The templates below in bytes: elements of `width`.
void all_gather_bytes(Exchange& exchange, std::span<std::byte> all, const Cuts& cuts, std::size_t width);
void broadcast_bytes(Exchange& exchange, std::span<std::byte> all);

/// Each rank's part of `all` is sent to every other rank.
template <Sendable T>
void all_gather(Exchange& exchange, std::span<T> all, const Cuts& cuts) {
  all_gather_bytes(exchange, std::as_writable_bytes(all), cuts, sizeof(T));
}
/// Broadcasts rank 0's values.
template <Sendable T>
void broadcast(Exchange& exchange, std::span<T> values) {
  broadcast_bytes(exchange, std::as_writable_bytes(values));
}
std::string broadcast(Exchange& exchange, std::string text);
/// The strings of all ranks, in their order.
std::vector<std::string> all(Exchange& exchange, const std::string& own);
/// Returns after every rank has called it.
void meet(Exchange& exchange);

/// [floor(count r / ranks)] for r up to `ranks`: consecutive parts of about equal size.
Cuts even_cuts(std::size_t count, int ranks);

/// Waits for another rank to end the run.
[[noreturn]] void wait_for_end(Exchange& exchange, int rank = 0);

/// Reports an error that all ranks find alike: rank 0 throws it, and the others wait until that ends the run.
template <class Exception = Error, class... Args>
[[noreturn]] void fail_together(Exchange& exchange, const Args&... args) {
  if (exchange.rank() > 0) wait_for_end(exchange);
  fail<Exception>(args...);
}

/// Runs `work`, which exchanges nothing and is the same on all ranks. The first rank whose work throws
/// rethrows the error, and the others wait until it ends the run: a common error is printed once.
void together(Exchange& exchange, const std::function<void()>& work);

/// What a rank says of its run, to be the same on all.
struct RankField {
  std::string name, value;
};
/// Throws Error, on all ranks alike, naming a rank, its host, the field and both values if one has values
/// other than rank 0, whose fields come in the same order. `advice` ends the message.
void expect_same(Exchange& exchange, const std::vector<RankField>& fields, const std::string& advice);

}  // namespace heed
