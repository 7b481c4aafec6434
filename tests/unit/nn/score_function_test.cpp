#include "nn/attention/score_function.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"
#include "nn/attention/window.h"

using namespace heed;

BOOST_AUTO_TEST_SUITE(score_functions)

BOOST_AUTO_TEST_CASE(names_and_back) {
  for (const std::string& name : score_function_names()) BOOST_CHECK_EQUAL(score_function(name).name, name);
  BOOST_CHECK_THROW(score_function("sum"), UsageError);
  for (const std::string& name : kWindows.words)
    BOOST_CHECK_EQUAL(kWindows.words[static_cast<std::size_t>(kWindows(name))], name);
  BOOST_CHECK_THROW(kWindows("local"), UsageError);
}

BOOST_AUTO_TEST_CASE(help_tells_formulas_and_parameters) {
  const std::string help = score_function_help();
  BOOST_CHECK(help.find("  --score general: q W k; score/weight W [q, k]\n") != std::string::npos);
  BOOST_CHECK(help.find("concat/bias b [a], if any") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_window_holds_the_keys_within_d) {
  for (const double p : {-3.0, -0.5, 0.0, 0.49, 2.0, 2.5, 6.999, 7.0, 9.0, 40.0}) {
    for (const std::int64_t d : {1, 2, 10}) {
      for (const std::int64_t keys : {1, 3, 8}) {
        const KeyWindow window = window_around(p, d, keys);
        BOOST_TEST_CONTEXT("p " << p << " d " << d << " keys " << keys) {
          BOOST_CHECK(window.count >= 0 && (window.count == 0 || window.first + window.count <= keys));
          for (std::int64_t s = 0; s < keys; ++s) {
            const bool inside = s >= window.first && s < window.first + window.count;
            BOOST_CHECK_EQUAL(inside, std::abs(static_cast<double>(s) - p) <= static_cast<double>(d));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_factor_is_a_gaussian_of_deviation_half_d) {
  BOOST_CHECK_EQUAL(window_factor(3, 3, 4), 1.0);
  BOOST_CHECK_CLOSE(window_factor(5, 3, 4), std::exp(-0.5), 1e-10);
  BOOST_CHECK_CLOSE(window_factor(1, 3, 2), std::exp(-2.0), 1e-10);
}

BOOST_AUTO_TEST_SUITE_END()
