// Ranks that are threads of one process.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "train/exchange.h"

namespace heed::test {

/// What ranks have sent each other and not yet received.
class Mailbox {
 public:
  void send(int from, int to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    sent_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  void receive(int from, int to, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    auto& letters = sent_[{from, to}];
    changed_.wait(lock, [&] { return ended_ || !letters.empty(); });
    if (letters.empty()) throw Ended();
    if (letters.front().size() != bytes.size())
      throw std::logic_error(concat("rank ", to, " wants ", bytes.size(), " bytes, rank ", from, " sent ",
                                    letters.front().size()));
    if (!bytes.empty()) std::memcpy(bytes.data(), letters.front().data(), bytes.size());
    letters.pop_front();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  bool empty() const {
    return std::ranges::all_of(sent_, [](const auto& letters) { return letters.second.empty(); });
  }

  /// Another rank has ended the run.
  struct Ended {};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> sent_;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(Mailbox& mailbox, int rank, int size) : mailbox_(mailbox), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& host(int) const override { return host_; }
  void transfer(std::span<const Outgoing> send, std::span<const Incoming> receive) override {
    for (const auto& [rank, bytes] : send) {
      if (rank == rank_) throw std::logic_error("a rank sends itself something");
      mailbox_.send(rank_, rank, bytes);
      sent_ += bytes.size();
    }
    for (const auto& [rank, bytes] : receive) mailbox_.receive(rank, rank_, bytes);
  }
  [[noreturn]] void abort(int) override {
    mailbox_.end();
    throw Mailbox::Ended();
  }

  std::size_t bytes_sent() const { return sent_; }

 private:
  Mailbox& mailbox_;
  int rank_, size_;
  std::string host_ = "here";
  std::size_t sent_ = 0;
};

/// Runs `work` on each of `ranks` ranks. Throws what the first of them threw; the others end then.
inline void run_ranks(int ranks, const std::function<void(ThreadExchange&)>& work) {
  Mailbox mailbox;
  std::mutex mutex;
  std::exception_ptr failure;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        ThreadExchange exchange(mailbox, rank, ranks);
        try {
          work(exchange);
        } catch (const Mailbox::Ended&) {
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
          mailbox.end();
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (!mailbox.empty()) throw std::logic_error("something was sent that no rank received");
}

}  // namespace heed::test
