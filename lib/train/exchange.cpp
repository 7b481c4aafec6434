#include "train/exchange.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace heed {

namespace {

class LocalExchange final : public Exchange {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::string& host(int) const override { return host_; }
  void transfer(std::span<const Outgoing>, std::span<const Incoming>) override {}
  [[noreturn]] void abort(int status) override { std::exit(status); }

 private:
  const std::string host_ = "this machine";
};

template <class Bytes>
Bytes part(Bytes all, const Cuts& cuts, std::size_t width, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return all.subspan(cuts[r] * width, (cuts[r + 1] - cuts[r]) * width);
}

/// Packs strings, which may contain any byte, into one text, and back.
std::string one_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += std::to_string(word.size()) + ':' + word;
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t colon = text.find(':', at);
    const auto size = static_cast<std::size_t>(std::stoull(text.substr(at, colon - at)));
    words.push_back(text.substr(colon + 1, size));
    at = colon + 1 + size;
  }
  return words;
}

/// Digests and lists of options are abbreviated: their beginning distinguishes them.
std::string shown_value(const std::string& value) {
  return value.empty() ? "not there" : value.size() == 64 ? value.substr(0, 12) : escaped(value);
}

}  // namespace

Exchange& alone() {
  static LocalExchange exchange;
  return exchange;
}

std::string name_of(const Exchange& exchange, int rank) {
  return concat(rank, " on ", exchange.host(rank));
}

std::vector<int> others(const Exchange& exchange) {
  std::vector<int> ranks;
  for (int k = 1; k < exchange.size(); ++k) ranks.push_back((exchange.rank() + k) % exchange.size());
  return ranks;
}

void all_gather_bytes(Exchange& exchange, std::span<std::byte> all, const Cuts& cuts, std::size_t width) {
  std::vector<Exchange::Outgoing> send;
  std::vector<Exchange::Incoming> receive;
  for (const int rank : others(exchange)) {
    send.push_back({rank, part(all, cuts, width, exchange.rank())});
    receive.push_back({rank, part(all, cuts, width, rank)});
  }
  exchange.transfer(send, receive);
}

/// Rank 0 sends each byte once, and the ranks forward what they received.
void broadcast_bytes(Exchange& exchange, std::span<std::byte> all) {
  if (exchange.size() == 1) return;
  const Cuts cuts = even_cuts(all.size(), exchange.size());
  const std::span<std::byte> own = part(all, cuts, 1, exchange.rank());
  if (exchange.rank() == 0) {
    std::vector<Exchange::Outgoing> send;
    for (const int rank : others(exchange)) send.push_back({rank, part(all, cuts, 1, rank)});
    exchange.transfer(send, {});
  } else {
    const Exchange::Incoming receive{0, own};
    exchange.transfer({}, {&receive, 1});
  }
  all_gather_bytes(exchange, all, cuts, 1);
}

std::string broadcast(Exchange& exchange, std::string text) {
  std::size_t size = text.size();
  broadcast(exchange, std::span(&size, 1));
  text.resize(size);
  broadcast(exchange, std::span(text));
  return text;
}

std::vector<std::string> all(Exchange& exchange, const std::string& own) {
  const auto ranks = static_cast<std::size_t>(exchange.size()),
             me = static_cast<std::size_t>(exchange.rank());
  std::vector<std::size_t> sizes(ranks);
  sizes[me] = own.size();
  all_gather(exchange, std::span(sizes), even_cuts(ranks, exchange.size()));
  Cuts cuts{0};
  for (const std::size_t size : sizes) cuts.push_back(cuts.back() + size);
  std::string text(cuts.back(), '\0');
  text.replace(cuts[me], own.size(), own);
  all_gather(exchange, std::span(text), cuts);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank) texts.push_back(text.substr(cuts[rank], sizes[rank]));
  return texts;
}

void meet(Exchange& exchange) {
  std::vector<char> marks(static_cast<std::size_t>(exchange.size()));
  all_gather(exchange, std::span(marks), even_cuts(marks.size(), exchange.size()));
}

Cuts even_cuts(std::size_t count, int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  Cuts cuts;
  for (std::size_t r = 0; r <= parts; ++r) cuts.push_back(count / parts * r + count % parts * r / parts);
  return cuts;
}

void wait_for_end(Exchange& exchange, int rank) {
  for (;;) {
    std::byte never_sent;
    const Exchange::Incoming receive{rank, {&never_sent, 1}};
    exchange.transfer({}, {&receive, 1});
  }
}

void together(Exchange& exchange, const std::function<void()>& work) {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  std::vector<char> failed(static_cast<std::size_t>(exchange.size()));
  failed[static_cast<std::size_t>(exchange.rank())] = failure != nullptr;
  all_gather(exchange, std::span(failed), even_cuts(failed.size(), exchange.size()));
  const auto first = std::ranges::find(failed, 1);
  if (first == failed.end()) return;
  if (first - failed.begin() == exchange.rank()) std::rethrow_exception(failure);
  failure = nullptr;  // and the memory that it may hold
  wait_for_end(exchange, static_cast<int>(first - failed.begin()));
}

void expect_same(Exchange& exchange, const std::vector<RankField>& fields, const std::string& advice) {
  if (exchange.size() == 1) return;
  std::vector<std::string> words;
  for (const auto& [name, value] : fields) words.insert(words.end(), {name, value});
  const std::vector<std::string> texts = all(exchange, one_text(words));
  const std::vector<std::string> first = words_of(texts[0]);
  for (int rank = 1; rank < exchange.size(); ++rank) {
    std::vector<std::string> found = words_of(texts[static_cast<std::size_t>(rank)]);
    for (std::size_t i = 0; i < std::max(first.size(), found.size()); i += 2) {
      const auto at = [&](const std::vector<std::string>& all_words, std::size_t index) {
        return index < all_words.size() ? all_words[index] : std::string();
      };
      if (at(found, i) == at(first, i) && at(found, i + 1) == at(first, i + 1)) continue;
      const bool same_field = at(found, i) == at(first, i);
      fail_together(exchange, "rank ", name_of(exchange, rank), ": ", same_field ? at(found, i) : "a field",
                    " is ", shown_value(same_field ? at(found, i + 1) : at(found, i)), ", on rank ",
                    name_of(exchange, 0), " it is ",
                    shown_value(same_field ? at(first, i + 1) : at(first, i)), ": ", advice);
    }
  }
}

}  // namespace heed
