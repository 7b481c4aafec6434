#include "train/slices.h"

#include <cstdint>

#include "base/parallel.h"
#include "train/ranges.h"

namespace heed {

namespace {

void copy_numbers(std::span<const float> from, std::span<float> to) {
  if (from.data() != to.data()) std::ranges::copy(from, to.begin());
}

/// The places of the numbers of slices that are sent together, each once.
class Places {
 public:
  template <class Routes>
  Places(const Slices::Round& round, const Routes& routes)
      : round_(round), first_(round.numbers.size(), kNowhere) {
    for (const auto& route : routes) {
      std::size_t& first = first_[static_cast<std::size_t>(route.slice)];
      if (first != kNowhere) continue;
      first = size_;
      size_ += round.numbers[static_cast<std::size_t>(route.slice)];
    }
  }

  std::size_t size() const { return size_; }
  std::span<float> of(int slice, std::span<float> numbers) const {
    const auto s = static_cast<std::size_t>(slice);
    return numbers.subspan(first_[s], round_.numbers[s]);
  }
  /// Calls visit(run, its place) for the runs of a part, if it travels.
  template <class Visit>
  void for_runs(const Layout& layout, const Slices::Part& part, Visit&& visit) const {
    std::size_t at = first_[static_cast<std::size_t>(part.rank)];
    if (at == kNowhere) return;
    at += part.at;
    layout.for_runs(part, [&](Stretch run) {
      visit(run, at);
      at += run.count;
    });
  }

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  const Slices::Round& round_;
  std::vector<std::size_t> first_;  ///< of each slice
  std::size_t size_ = 0;
};

}  // namespace

Layout::Layout(std::size_t size) : size_(size), runs_{{0, size, 0}} {}

Layout::Layout(const ParameterSet<float>& parameters) : size_(parameters.values().size()) {
  std::vector<Run> rows;
  for (const Parameter& p : parameters.list()) {
    for (std::int64_t row = 0; row < p.rows; ++row)
      rows.push_back(
          {static_cast<std::size_t>(p.offset + row * p.row_stride), static_cast<std::size_t>(p.cols), 0});
  }
  std::ranges::sort(rows, {}, &Run::first);  // those of stacked parameters lie side by side
  for (const Run& row : rows) {
    if (!runs_.empty() && runs_.back().first + runs_.back().count == row.first)
      runs_.back().count += row.count;
    else
      runs_.push_back({row.first, row.count, runs_.empty() ? 0 : runs_.back().before + runs_.back().count});
  }
  runs_.shrink_to_fit();
}

/// The run that contains the element, or the next run.
std::size_t Layout::first_run(std::size_t element) const {
  const auto run =
      std::ranges::upper_bound(runs_, element, {}, [](const Run& r) { return r.first + r.count; });
  return static_cast<std::size_t>(run - runs_.begin());
}

std::size_t Layout::numbers_before(std::size_t element) const {
  const std::size_t i = first_run(element);
  if (i == runs_.size()) return runs_.empty() ? 0 : runs_.back().before + runs_.back().count;
  return runs_[i].before + (element > runs_[i].first ? element - runs_[i].first : 0);
}

std::size_t Layout::numbers_in(Stretch stretch) const {
  return numbers_before(stretch.end()) - numbers_before(stretch.first);
}

Cuts slice_cuts(std::size_t size, int ranks) {
  Cuts cuts = even_cuts(static_cast<std::size_t>(range_count(static_cast<std::int64_t>(size))), ranks);
  for (std::size_t& cut : cuts) cut = std::min(cut * static_cast<std::size_t>(kRangeSize), size);
  return cuts;
}

Slices::Slices(Layout layout, int threads, Exchange& exchange, std::size_t round_bytes)
    : layout_(std::move(layout)),
      threads_(threads),
      exchange_(exchange),
      round_bytes_(round_bytes),
      cuts_(slice_cuts(layout_.size(), exchange.size())) {}

Stretch Slices::of(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return {cuts_[r], cuts_[r + 1] - cuts_[r]};
}

std::vector<Slices::Round> Slices::rounds(std::size_t copies) const {
  constexpr auto range = static_cast<std::size_t>(kRangeSize);
  const std::size_t step = std::max<std::size_t>(round_bytes_ / (copies * range * sizeof(float)), 1) * range;
  std::vector<Round> rounds;
  for (int rank = 0; rank < exchange_.size(); ++rank) {
    const Stretch slice = of(rank);
    rounds.resize(std::max(rounds.size(), (slice.count + step - 1) / step));
  }
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    Round& round = rounds[number];
    for (int rank = 0; rank < exchange_.size(); ++rank) {
      const Stretch slice = of(rank);
      const std::size_t done = std::min(number * step, slice.count);
      const Stretch piece{slice.first + done, std::min(step, slice.count - done)};
      std::size_t numbers = 0;
      for (std::size_t at = 0; at < piece.count; at += range) {
        const Stretch part{piece.first + at, std::min(range, piece.count - at)};
        round.parts.push_back({part, rank, numbers});
        numbers += layout_.numbers_in(part);
      }
      round.numbers.push_back(numbers);
    }
  }
  return rounds;
}

std::span<float> Slices::outgoing(std::size_t numbers) {
  if (outgoing_.size() < numbers) outgoing_.resize(numbers);
  return std::span(outgoing_).first(numbers);
}

std::span<float> Slices::incoming(std::size_t numbers) {
  if (incoming_.size() < numbers) incoming_.resize(numbers);
  return std::span(incoming_).first(numbers);
}

void Slices::for_parts(const Round& round, const std::function<void(const Part&)>& task) const {
  parallel_for(static_cast<std::int64_t>(round.parts.size()), threads_,
               [&](std::int64_t i) { task(round.parts[static_cast<std::size_t>(i)]); });
}

void Slices::travel(const std::vector<Route>& send, From<const float> source,
                    const std::vector<Route>& receive, From<float> target) {
  if (exchange_.size() == 1) return;
  for (const Round& round : rounds(static_cast<std::size_t>(exchange_.size()) - 1)) {
    const Places sent(round, send), arrived(round, receive);
    const std::span<float> out = outgoing(sent.size()), in = incoming(arrived.size());
    for_parts(round, [&](const Part& part) {
      sent.for_runs(layout_, part, [&](Stretch run, std::size_t at) {
        copy_numbers(source.values.subspan(run.first - source.first, run.count), out.subspan(at));
      });
    });
    std::vector<Exchange::Outgoing> sends;
    for (const auto& [rank, slice] : send) sends.push_back({rank, std::as_bytes(sent.of(slice, out))});
    std::vector<Exchange::Incoming> receives;
    for (const auto& [rank, slice] : receive)
      receives.push_back({rank, std::as_writable_bytes(arrived.of(slice, in))});
    exchange_.transfer(sends, receives);
    for_parts(round, [&](const Part& part) {
      arrived.for_runs(layout_, part, [&](Stretch run, std::size_t at) {
        copy_numbers(in.subspan(at, run.count), target.values.subspan(run.first - target.first));
      });
    });
  }
}

void Slices::all_gather(std::span<float> whole) {
  const int me = exchange_.rank();
  std::vector<Route> send, receive;
  for (const int rank : others(exchange_)) {
    send.push_back({rank, me});
    receive.push_back({rank, rank});
  }
  travel(send, {whole, 0}, receive, {whole, 0});
}

void Slices::gather(std::span<const float> own_values, std::span<float> whole) {
  const int me = exchange_.rank();
  if (me > 0) return travel({{0, me}}, {own_values, of(me).first}, {}, {});
  copy_numbers(own_values, own(whole));
  std::vector<Route> receive;
  for (const int rank : others(exchange_)) receive.push_back({rank, rank});
  travel({}, {}, receive, {whole, 0});
}

void Slices::scatter(std::span<const float> whole, std::span<float> own_values) {
  const int me = exchange_.rank();
  if (me > 0) return travel({}, {}, {{0, me}}, {own_values, of(me).first});
  copy_numbers(own(whole), own_values);
  std::vector<Route> send;
  for (const int rank : others(exchange_)) send.push_back({rank, rank});
  travel(send, {whole, 0}, {}, {});
}

}  // namespace heed
