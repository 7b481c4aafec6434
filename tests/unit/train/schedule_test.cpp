#include "train/schedule.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"

using namespace heed;

namespace {

TrainConfig config(const std::string& schedule, double rate, std::int64_t warmup) {
  TrainConfig c;
  c.schedule = schedule;
  c.learning_rate = rate;
  c.warmup = warmup;
  return c;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(schedule)

BOOST_AUTO_TEST_CASE(noam_follows_equation_3) {
  const TrainConfig c = config("noam", 2, 4000);
  const auto tolerance = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(learning_rate(c, 512, 1, 0, 1) == 2 / std::sqrt(512.0) / (4000 * std::sqrt(4000.0)), tolerance);
  BOOST_TEST(learning_rate(c, 512, 4000, 0, 1) == 2 / std::sqrt(512.0 * 4000), tolerance);
  BOOST_TEST(learning_rate(c, 512, 16000, 0, 1) == 2 / std::sqrt(512.0 * 16000), tolerance);
}

BOOST_AUTO_TEST_CASE(inverse_sqrt_rises_to_its_peak_and_falls) {
  const TrainConfig c = config("inverse-sqrt", 0.005, 2000);
  const auto tolerance = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(learning_rate(c, 128, 500, 0, 1) == 1e-7 + (0.005 - 1e-7) / 4, tolerance);
  BOOST_TEST(learning_rate(c, 128, 2000, 0, 1) == 0.005, tolerance);
  BOOST_TEST(learning_rate(c, 128, 8000, 0, 1) == 0.0025, tolerance);
}

BOOST_AUTO_TEST_CASE(linear_falls_to_zero_at_the_limit_that_comes_first) {
  TrainConfig c = config("linear", 0.5, 10);
  c.max_epochs = 20;
  const auto tolerance = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(learning_rate(c, 7, 1000, 0, 1) == 0.5);
  BOOST_TEST(learning_rate(c, 7, 1000, 5, 1) == 0.375, tolerance);
  BOOST_TEST(learning_rate(c, 7, 1000, 20, 1) == 0);
  BOOST_TEST(learning_rate(c, 7, 5, 10, 1) == 1e-7 + (0.25 - 1e-7) / 2, tolerance);
  c.max_updates = 1000;
  BOOST_TEST(learning_rate(c, 7, 501, 5, 1) == 0.25, tolerance);
  BOOST_TEST(learning_rate(c, 7, 251, 15, 1) == 0.125, tolerance);
  c.max_epochs = c.max_updates = 0;
  BOOST_CHECK_EXCEPTION(check(c), UsageError, [](const Error& e) {
    return std::string(e.what()).starts_with("--schedule linear");
  });
}

BOOST_AUTO_TEST_CASE(constant_and_plateau) {
  BOOST_TEST(learning_rate(config("constant", 0.25, 0), 7, 1, 0, 0.5) == 0.25);
  BOOST_TEST(learning_rate(config("constant", 0.25, 10), 7, 99, 0, 0.5) == 0.25);
  BOOST_TEST(learning_rate(config("plateau", 0.25, 0), 7, 99, 0, 0.5) == 0.125);
}

BOOST_AUTO_TEST_CASE(halving_begins_after_some_epochs) {
  TrainConfig c = config("halving", 0.75, 0);  // Sutskever et al.: from epoch 5 on every half epoch
  c.halve_after = 5;
  c.halve_every = 0.5;
  auto rate = [&](double epochs) { return learning_rate(c, 7, 1000, epochs, 1); };
  BOOST_TEST(rate(0) == 0.75);
  BOOST_TEST(rate(4.999) == 0.75);
  BOOST_TEST(rate(5) == 0.375);
  BOOST_TEST(rate(5.499) == 0.375);
  BOOST_TEST(rate(5.5) == 0.1875);
  BOOST_TEST(rate(7.25) == 0.75 / 32);
}

BOOST_AUTO_TEST_CASE(impossible_options_are_refused_by_name) {
  TrainConfig c;
  c.beta2 = 1;
  BOOST_CHECK_EXCEPTION(check(c), UsageError,
                        [](const Error& e) { return std::string(e.what()).starts_with("beta2 is 1,"); });
  c = {};
  c.learning_rate = std::nan("");
  BOOST_CHECK_THROW(check(c), UsageError);
  c = {};
  c.stop_on = "bleu";
  BOOST_CHECK_THROW(check(c), UsageError);
  BOOST_CHECK_NO_THROW(check(TrainConfig{}));
}

BOOST_AUTO_TEST_SUITE_END()
