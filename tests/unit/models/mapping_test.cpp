// Tensors of other programs as parameters, all at once and by blocks of rows.
#include "models/foreign/mapping.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>

namespace heed::foreign {
namespace {

constexpr std::int64_t kRows = 70, kCols = 90;  // more than a tile

float value_at(std::int64_t row, std::int64_t col) {
  return static_cast<float>(row * 1000 + col);
}

struct Case {
  Mapping mapping;
  std::int64_t rows, cols;  ///< of the parameter
  std::function<float(std::int64_t row, std::int64_t col)> wanted;
};

BOOST_AUTO_TEST_CASE(blocks_of_rows_fill_a_parameter) {
  std::vector<float> source;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kCols; ++j) source.push_back(value_at(i, j));
  const Shape shape{kRows, kCols}, in_parts{kRows, 9, 10};
  const std::vector<Slice> slices{{40, 69}, {2, 37}};
  const auto from = [&](std::int64_t at) { return at < 29 ? 40 + at : 2 + at - 29; };
  const std::vector<Case> cases{
      {{"s", shape, "p", false, 0, {}}, kRows, kCols, value_at},
      {{"s", in_parts, "p", false, 0, {}}, kRows, kCols, value_at},
      {{"s", shape, "p", false, 0, {}},
       63,
       100,
       [](auto i, auto j) { return value_at((i * 100 + j) / kCols, (i * 100 + j) % kCols); }},
      {{"s", shape, "p", true, 0, {}}, kCols, kRows, [](auto i, auto j) { return value_at(j, i); }},
      {{"s", shape, "p", false, 0, slices}, 64, kCols, [&](auto i, auto j) { return value_at(from(i), j); }},
      {{"s", shape, "p", true, 0, slices}, kCols, 64, [&](auto i, auto j) { return value_at(from(j), i); }},
      {{"s", shape, "p", false, 1, slices}, kRows, 64, [&](auto i, auto j) { return value_at(i, from(j)); }},
      {{"s", shape, "p", true, 1, slices}, 64, kRows, [&](auto i, auto j) { return value_at(j, from(i)); }},
  };
  for (const Case& c : cases) {
    for (const std::int64_t block : {kRows, std::int64_t{32}, std::int64_t{17}, std::int64_t{1}}) {
      BOOST_TEST_CONTEXT(c.mapping.transform() << ", " << block << " rows at a time") {
        std::vector<float> filled(static_cast<std::size_t>(c.rows * c.cols), NAN);
        const Matrix<float> parameter{filled.data(), c.rows, c.cols, c.cols};
        for (std::int64_t first = 0; first < kRows; first += block) {
          const std::int64_t rows = std::min(block, kRows - first);
          c.mapping.fill(std::span(source).subspan(static_cast<std::size_t>(first * kCols),
                                                   static_cast<std::size_t>(rows * kCols)),
                         first, parameter);
        }
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < c.rows; ++i)
          for (std::int64_t j = 0; j < c.cols; ++j) wrong += parameter(i, j) != c.wanted(i, j);
        BOOST_TEST(wrong == 0);
        // The way back touches nothing else.
        std::vector<float> back(source.size(), NAN);
        c.mapping.put_back({filled.data(), c.rows, c.cols, c.cols}, back);
        std::int64_t returned = 0;
        for (std::size_t i = 0; i < back.size(); ++i) {
          BOOST_REQUIRE((std::isnan(back[i]) || back[i] == source[i]));
          returned += !std::isnan(back[i]);
        }
        BOOST_TEST(returned == c.rows * c.cols);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(vectors_are_one_row) {
  const std::vector<float> source{1, 2, 3, 4, 5, 6};
  std::vector<float> filled(2);
  Mapping{"s", {6}, "p", false, 1, {{3, 5}}}.fill(source, 0, {filled.data(), 1, 2, 2});
  BOOST_TEST(filled == (std::vector<float>{4, 5}), boost::test_tools::per_element());
}

}  // namespace
}  // namespace heed::foreign
