#include "tensor/philox.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"

using namespace heed;

BOOST_AUTO_TEST_SUITE(philox_numbers)

// The known answers of Random123, the authors' own library (kat_vectors, philox4x32-10).
BOOST_AUTO_TEST_CASE(equals_the_known_answers) {
  using Block = std::array<std::uint32_t, 4>;
  const std::uint64_t ones = ~std::uint64_t{0};
  BOOST_TEST((philox(0, 0, 0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  BOOST_TEST((philox(ones, ones, ones) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  BOOST_TEST((philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
              Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

BOOST_AUTO_TEST_CASE(draws_of_a_stream_are_its_blocks_in_order) {
  Random random(5, 7);
  for (std::uint64_t counter = 0; counter < 3; ++counter)
    for (std::uint32_t word : philox(5, 7, counter)) BOOST_TEST(random.bits() == word);
}

BOOST_AUTO_TEST_CASE(moments_are_those_of_the_distributions) {
  const int count = 100000;
  Random random(11, 2);
  double sum = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
  for (int i = 0; i < count; ++i) {
    const double u = random.uniform(), z = random.normal();
    BOOST_REQUIRE(u >= 0 && u < 1);
    sum += u;
    normal_sum += z;
    normal_squares += z * z;
    normal_fourth += z * z * z * z;
  }
  // Five standard errors each.
  BOOST_TEST(std::abs(sum / count - 0.5) < 5 * std::sqrt(1.0 / 12 / count));
  BOOST_TEST(std::abs(normal_sum / count) < 5 * std::sqrt(1.0 / count));
  BOOST_TEST(std::abs(normal_squares / count - 1) < 5 * std::sqrt(2.0 / count));
  BOOST_TEST(std::abs(normal_fourth / count - 3) < 5 * std::sqrt(96.0 / count));
}

BOOST_AUTO_TEST_CASE(below_hits_every_value_equally) {
  Random random(3, 1);
  std::array<int, 7> hits{};
  for (int i = 0; i < 70000; ++i) ++hits.at(random.below(hits.size()));
  for (int n : hits) BOOST_TEST(std::abs(n - 10000) < 5 * std::sqrt(10000));
  BOOST_TEST(random.below(1) == 0u);
}

BOOST_AUTO_TEST_CASE(impossible_probabilities_are_usage_errors) {
  BOOST_CHECK_THROW(make_dropout(1.0, 0, 0), UsageError);
  BOOST_CHECK_THROW(make_dropout(-0.1, 0, 0), UsageError);
  BOOST_CHECK_THROW(make_dropout(std::nan(""), 0, 0), UsageError);
  BOOST_TEST(!make_dropout(0, 0, 0).active());
  BOOST_TEST(make_dropout(0.5, 0, 0).scale() == 2.0);
  BOOST_TEST(make_dropout(0.9999999, 0, 0).threshold == 65535u);
}

BOOST_AUTO_TEST_SUITE_END()
