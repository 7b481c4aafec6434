// Numbers of the schemes of positions that are published.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "nn/positional_encoding.h"

using namespace heed;

BOOST_AUTO_TEST_SUITE(positions)

// First distance of each bucket of T5's 32 buckets up to 128: of an encoder's half, and of a decoder.
BOOST_AUTO_TEST_CASE(buckets_begin_where_those_of_t5_do) {
  const std::vector<std::int64_t> half{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91},
      all{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
          16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (std::size_t b = 0; b < half.size(); ++b) {
    const auto bucket = static_cast<std::int32_t>(b);
    BOOST_TEST(relative_bucket(-half[b], false, 32, 128) == bucket);
    if (b > 0) BOOST_TEST(relative_bucket(half[b], false, 32, 128) == 16 + bucket);
    if (b > 0) BOOST_TEST(relative_bucket(1 - half[b], false, 32, 128) == bucket - 1);
  }
  for (std::size_t b = 0; b < all.size(); ++b) {
    const auto bucket = static_cast<std::int32_t>(b);
    BOOST_TEST(relative_bucket(-all[b], true, 32, 128) == bucket);
    if (b > 0) BOOST_TEST(relative_bucket(1 - all[b], true, 32, 128) == bucket - 1);
    BOOST_TEST(relative_bucket(all[b], true, 32, 128) == 0);  // what comes after is masked
  }
  BOOST_TEST(relative_bucket(-100'000, true, 32, 128) == 31);
}

BOOST_AUTO_TEST_CASE(slopes_are_those_of_the_paper) {
  const std::vector<double> of_eight = alibi_bias<double>(1, 8), of_six = alibi_bias<double>(2, 6);
  for (int h = 0; h < 8; ++h) {
    BOOST_TEST(of_eight[static_cast<std::size_t>(h)] == -std::exp2(-(h + 1)));
    BOOST_TEST(of_eight[static_cast<std::size_t>(8 + h)] == 0);
  }
  const double six[] = {1 / 4.0, 1 / 16.0, 1 / 64.0, 1 / 256.0, 1 / 2.0, 1 / 8.0};
  for (std::size_t h = 0; h < 6; ++h) BOOST_TEST(of_six[h] == -2 * six[h]);
}

// Bands of wave lengths of Llama 3.1: base 500,000, factor 8, low 1, high 4, original length 8,192; of YaRN
// with the same.
BOOST_AUTO_TEST_CASE(rotary_waves_are_lengthened) {
  RotarySettings plain{.base = 500'000}, linear = plain, llama3 = plain, yarn = plain;
  linear.scaling = RotaryScaling::linear;
  llama3.scaling = RotaryScaling::llama3;
  yarn.scaling = RotaryScaling::yarn;
  linear.factor = llama3.factor = yarn.factor = 8;
  yarn.attention_factor = 1.25;
  const std::int64_t d = 128, half = d / 2;
  const auto frequencies = [&](const RotarySettings& settings) {
    const std::vector<double> table = rotary_turns<double>(2, d, settings);
    std::vector<double> f;  // of position 1 the angle is the frequency
    for (std::int64_t i = 0; i < half; ++i)
      f.push_back(
          std::atan2(table[static_cast<std::size_t>(d + half + i)], table[static_cast<std::size_t>(d + i)]));
    return f;
  };
  const std::vector<double> f = frequencies(plain), by_linear = frequencies(linear),
                            by_llama3 = frequencies(llama3), by_yarn = frequencies(yarn);
  int kept = 0, divided = 0, between = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    BOOST_TEST(f[i] == std::pow(500'000.0, -static_cast<double>(i) / 64), boost::test_tools::tolerance(1e-9));
    BOOST_TEST(by_linear[i] == f[i] / 8, boost::test_tools::tolerance(1e-9));
    const double wave = 2 * std::numbers::pi / f[i];
    if (wave < 8192 / 4.0) {
      BOOST_TEST(by_llama3[i] == f[i], boost::test_tools::tolerance(1e-9));
      ++kept;
    } else if (wave > 8192) {
      BOOST_TEST(by_llama3[i] == f[i] / 8, boost::test_tools::tolerance(1e-9));
      ++divided;
    } else {
      const double s = (8192 / wave - 1) / 3;
      BOOST_TEST(by_llama3[i] == (1 - s) * f[i] / 8 + s * f[i], boost::test_tools::tolerance(1e-9));
      ++between;
    }
  }
  BOOST_TEST(kept > 20);
  BOOST_TEST(divided > 20);
  BOOST_TEST(between > 3);
  // The last that llama3 keeps and the first that it divides: YaRN's ramp goes by pairs from one to the
  // other.
  for (int i = 0; i < kept + between + divided; ++i) {
    const double s = std::clamp((kept + between - i) / (between + 1.0), 0.0, 1.0);
    const auto pair = static_cast<std::size_t>(i);
    BOOST_TEST(by_yarn[pair] == (1 - s) * f[pair] / 8 + s * f[pair], boost::test_tools::tolerance(1e-9));
  }
  for (const double turn : rotary_turns<double>(1, d, yarn)) BOOST_TEST((turn == 1.25 || turn == 0));
}

BOOST_AUTO_TEST_CASE(halves_are_the_interleaved_sinusoids_in_another_order) {
  const std::int64_t n = 50, d = 12;
  const std::vector<double> mixed = sinusoidal_positions<double>(n, d),
                            halves = sinusoidal_positions<double>(n, d, Positions::sinusoidal_halves),
                            t2t = sinusoidal_positions<double>(n, d, Positions::sinusoidal_t2t);
  for (std::int64_t p = 0; p < n; ++p) {
    for (std::int64_t k = 0; k < d / 2; ++k) {
      const auto at = [&](std::int64_t j) { return static_cast<std::size_t>(p * d + j); };
      BOOST_TEST(halves[at(k)] == mixed[at(2 * k)]);
      BOOST_TEST(halves[at(d / 2 + k)] == mixed[at(2 * k + 1)]);
    }
    // The lowest frequency is 1 / 10,000, the highest 1.
    BOOST_TEST(t2t[static_cast<std::size_t>(p * d + d / 2 - 1)] == std::sin(static_cast<double>(p) * 1e-4),
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(t2t[static_cast<std::size_t>(p * d)] == std::sin(static_cast<double>(p)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
