// The exchange over MPI-3, in a separate module (heed-mpi.so), which train loads if a launcher has started it
// (train/launch.h). MPI only moves bytes and computes no sums, because it guarantees no order.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "mpi/patience.h"
#include "train/launch.h"

namespace {

using namespace heed;
using Clock = Patience::Clock;

/// MPI counts with int: longer messages are sent in pieces of this size.
constexpr std::size_t kLongest = std::size_t{64} << 20;

volatile std::sig_atomic_t last_status = 1;

/// MPI_Abort has been known to hang, so the process ends soon in any case.
[[noreturn]] void end_all(int status) {
  last_status = status;
  std::signal(SIGALRM, [](int) { _exit(last_status); });
  alarm(10);
  MPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

class MpiExchange final : public Exchange {
 public:
  explicit MpiExchange(double timeout)
      : patience_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout))) {
    int level;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    learn_hosts();
    pending_ = std::vector<std::atomic<int>>(static_cast<std::size_t>(size_));
    watchdog_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

  ~MpiExchange() override {
    watchdog_.request_stop();
    watchdog_.join();
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& host(int rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }
  [[noreturn]] void abort(int status) override { end_all(status); }

  void transfer(std::span<const Outgoing> send, std::span<const Incoming> receive) override {
    begin();
    requests_.clear();
    pieces_.clear();
    for (const auto& [rank, bytes] : receive)
      in_pieces(rank, bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
        MPI_Irecv(bytes.data() + at, count, MPI_BYTE, rank, 0, MPI_COMM_WORLD, request);
      });
    const std::size_t received = requests_.size();
    for (const auto& [rank, bytes] : send)
      in_pieces(rank, bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
        MPI_Isend(bytes.data() + at, count, MPI_BYTE, rank, 0, MPI_COMM_WORLD, request);
      });
    const int count = static_cast<int>(requests_.size());
    std::vector<int> done(requests_.size());
    std::vector<MPI_Status> statuses(requests_.size());
    for (int open = count; open > 0;) {
      int some = 0;
      MPI_Waitsome(count, requests_.data(), &some, done.data(), statuses.data());
      for (std::size_t i = 0; std::cmp_less(i, some); ++i) {
        const auto request = static_cast<std::size_t>(done[i]);
        if (request < received) expect_whole(pieces_[request], statuses[i]);
        --pending_[static_cast<std::size_t>(pieces_[request].rank)];
      }
      open -= some;
    }
    end();
  }

 private:
  struct Piece {
    int rank, bytes;  ///< to or from whom
  };

  /// MPI itself ends the run when a piece is longer than expected.
  void expect_whole(const Piece& piece, const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (bytes == piece.bytes) return;
    std::fprintf(
        stderr,
        "%s: rank %s sent %d bytes, not %d, after update %lld: the ranks no longer train the same run; "
        "go on with --resume\n",
        logging::program().c_str(), name_of(*this, piece.rank).c_str(), bytes, piece.bytes,
        static_cast<long long>(step));
    end_all(1);
  }

  void learn_hosts() {
    std::vector<char> own(MPI_MAX_PROCESSOR_NAME), names(own.size() * static_cast<std::size_t>(size_));
    int length = 0;
    MPI_Get_processor_name(own.data(), &length);
    MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, names.data(),
                  static_cast<int>(own.size()), MPI_CHAR, MPI_COMM_WORLD);
    for (std::size_t at = 0; at < names.size(); at += own.size()) hosts_.emplace_back(names.data() + at);
  }

  template <class Post>
  void in_pieces(int rank, std::size_t size, Post&& post) {
    for (std::size_t at = 0; at < size; at += kLongest) {
      const int bytes = static_cast<int>(std::min(kLongest, size - at));
      MPI_Request request;
      post(at, bytes, &request);
      requests_.push_back(request);
      pieces_.push_back({rank, bytes});
      ++pending_[static_cast<std::size_t>(rank)];
    }
  }

  // The watchdog detects what causes no error: a stopped process, a dead link.

  void begin() {
    const std::lock_guard lock(mutex_);
    patience_.begin(Clock::now(), step);
    waiting_ = true;
  }

  void end() {
    const std::lock_guard lock(mutex_);
    waiting_ = false;
  }

  /// Timed exactly: the first rank to wait is one that waits for the silent rank itself, and must report it
  /// before those that wait for others.
  void watch(const std::stop_token& stop) {
    constexpr auto kIdle = std::chrono::milliseconds(200);
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const Clock::time_point now = Clock::now();
      const Clock::time_point began = patience_.began(), end = began + patience_.length();
      if (waiting_ && now >= end)
        complain(std::chrono::duration_cast<std::chrono::seconds>(now - began).count());
      tick_.wait_until(lock, stop, waiting_ ? end : now + kIdle, [] { return false; });
    }
  }

  [[noreturn]] void complain(long long seconds) {
    std::string missing;
    for (int rank = 0; rank < size_; ++rank) {
      if (pending_[static_cast<std::size_t>(rank)] > 0)
        missing += (missing.empty() ? "rank " : ", rank ") + name_of(*this, rank);
    }
    std::fprintf(
        stderr,
        "%s: nothing from %s for %lld s, after update %lld: a process was stopped, or its machine or network "
        "is down; the run ends, and --resume continues it (--exchange-timeout waits longer)\n",
        logging::program().c_str(), missing.c_str(), seconds, static_cast<long long>(step));
    end_all(1);
  }

  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  std::vector<MPI_Request> requests_;
  std::vector<Piece> pieces_;              ///< of each request
  std::vector<std::atomic<int>> pending_;  ///< pieces to and from each rank
  std::mutex mutex_;                       ///< guards what follows
  std::condition_variable_any tick_;
  Patience patience_;
  bool waiting_ = false;
  std::jthread watchdog_;
};

}  // namespace

extern "C" {
extern const heed::ExchangeModule heed_exchange_module;
const heed::ExchangeModule heed_exchange_module{
    HEED_VERSION, [](double timeout) -> heed::Exchange* { return new MpiExchange(timeout); }};
}
