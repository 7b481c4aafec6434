#include "train/slices.h"

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "support/spread_layout.h"
#include "support/thread_exchange.h"
#include "train/ranges.h"

using namespace heed;
using namespace heed::test;

namespace {

/// The buffer of spread_parameters() with 1, 2, 3, ... where it has numbers, found another way.
std::vector<float> counted() {
  const ParameterSet<float> parameters = spread_parameters();
  std::vector<float> flat(parameters.values().size());
  for (const Parameter& p : parameters.list()) {
    const Matrix<float> values = p.in(flat.data());
    for (std::int64_t row = 0; row < values.rows; ++row)
      for (std::int64_t col = 0; col < values.cols; ++col) values(row, col) = 1;
  }
  float number = 0;
  for (float& x : flat)
    if (x == 1) x = ++number;
  return flat;
}

std::vector<float> only(const std::vector<float>& flat, Stretch slice) {
  std::vector<float> part(flat.size());
  std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(slice.first), slice.count,
              part.begin() + static_cast<std::ptrdiff_t>(slice.first));
  return part;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(slices)

BOOST_AUTO_TEST_CASE(a_layout_has_the_numbers_of_the_parameters_alone) {
  const ParameterSet<float> parameters = spread_parameters();
  const Layout layout(parameters);
  const std::vector<float> flat = counted();
  BOOST_TEST(layout.size() == flat.size());
  BOOST_TEST(layout.numbers_in({0, flat.size()}) == static_cast<std::size_t>(parameters.count()));
  BOOST_TEST(range_count(std::ssize(flat)) == 8);
  for (std::size_t first = 0; first < flat.size(); first += 991) {
    for (const std::size_t count : {0u, 1u, 17u, 700u, 40000u}) {
      const Stretch stretch{first, std::min<std::size_t>(count, flat.size() - first)};
      std::vector<float> wanted, found;
      for (std::size_t i = first; i < stretch.end(); ++i)
        if (flat[i] != 0) wanted.push_back(flat[i]);
      layout.for_runs(stretch, [&](Stretch run) {
        found.insert(found.end(), flat.begin() + static_cast<std::ptrdiff_t>(run.first),
                     flat.begin() + static_cast<std::ptrdiff_t>(run.end()));
      });
      BOOST_REQUIRE(found == wanted);
      BOOST_REQUIRE(layout.numbers_in(stretch) == wanted.size());
    }
  }
  BOOST_TEST(Layout(1000).numbers_in({10, 900}) == 900u);
}

BOOST_AUTO_TEST_CASE(slices_travel_whole_and_without_what_lies_between_rows) {
  const std::vector<float> flat = counted();
  const std::size_t numbers = spread_layout().numbers_in({0, flat.size()});
  BOOST_TEST(numbers < flat.size());
  for (const int ranks : {1, 2, 3, 5, 8, 11}) {
    std::atomic<std::size_t> gathered{0}, scattered{0}, all{0};
    run_ranks(ranks, [&](ThreadExchange& exchange) {
      Slices slices(spread_layout(), 2, exchange, 1);  // a range a round
      const Stretch mine = slices.of(exchange.rank());
      const bool first = exchange.rank() == 0;
      std::vector<float> own(mine.count), whole(first ? flat.size() : 0);
      const auto expect = [&](const char* what, bool holds) {
        if (!holds) throw std::logic_error(concat(what, ", rank ", exchange.rank(), " of ", ranks));
      };
      std::size_t before = 0;
      const auto sent = [&] { return exchange.bytes_sent() - std::exchange(before, exchange.bytes_sent()); };

      slices.scatter(first ? flat : whole, own);
      expect("scatter", std::ranges::equal(own, std::span(flat).subspan(mine.first, mine.count)));
      scattered += sent();
      slices.gather(own, whole);
      expect("gather", !first || whole == flat);
      gathered += sent();
      whole = only(flat, mine);
      slices.all_gather(whole);
      expect("all_gather", whole == flat);
      all += sent();
      expect("own", slices.own(std::span(whole)).data() == whole.data() + mine.first);
    });
    const std::size_t of_first =
        spread_layout().numbers_in({0, slice_cuts(flat.size(), ranks)[1]}) * sizeof(float);
    BOOST_TEST(scattered == numbers * sizeof(float) - of_first);
    BOOST_TEST(gathered == numbers * sizeof(float) - of_first);
    BOOST_TEST(all == numbers * sizeof(float) * static_cast<std::size_t>(ranks - 1));
  }
}

BOOST_AUTO_TEST_CASE(rounds_cut_all_slices_into_pieces_of_bounded_size) {
  run_ranks(3, [](ThreadExchange& exchange) {
    const std::size_t size = 200 * kRangeSize + 3;
    constexpr std::size_t round_bytes = 1 << 20;
    const Slices slices(Layout(size), 1, exchange, round_bytes);
    for (const std::size_t copies : {1, 2, 5, 10000}) {
      std::vector<std::size_t> next(slices.cuts().begin(), slices.cuts().end() - 1);
      for (const Slices::Round& round : slices.rounds(copies)) {
        for (std::size_t rank = 0; rank < 3; ++rank) {
          Stretch piece{next[rank], 0};
          for (const Slices::Part& part : round.parts) {
            if (part.rank != static_cast<int>(rank)) continue;
            if (part.first != piece.end() || part.at != piece.count) throw std::logic_error("part");
            piece.count += part.count;
          }
          if (round.numbers[rank] != piece.count) throw std::logic_error("piece");
          if (piece.count > kRangeSize && copies * piece.count * sizeof(float) > round_bytes)
            throw std::logic_error("too long");
          next[rank] = piece.end();
        }
      }
      if (!std::equal(next.begin(), next.end(), slices.cuts().begin() + 1)) throw std::logic_error("the end");
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
