#include "train/optimizer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tensor/philox.h"
#include "train/snapshots.h"

using namespace heed;

namespace {

/// Adam, algorithm 1 of Kingma and Ba 2015, as it stands there.
struct PlainAdam {
  double beta1, beta2, eps, rate;
  std::vector<double> m, v;
  void apply(std::int64_t t, const std::vector<double>& g, std::vector<double>& p) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(beta1, static_cast<double>(t)));
      const double v_hat = v[i] / (1 - std::pow(beta2, static_cast<double>(t)));
      p[i] -= rate * m_hat / (std::sqrt(v_hat) + eps);
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer)

BOOST_AUTO_TEST_CASE(adam_equals_the_paper) {
  constexpr std::size_t size = 40003;  // more than one range
  TrainConfig config;
  Optimizer optimizer(config, size, 3);
  PlainAdam plain{
      config.beta1, config.beta2, config.eps, 0.03, std::vector<double>(size), std::vector<double>(size)};
  std::vector<float> p(size), g(size);
  std::vector<double> plain_p(size), plain_g(size);
  Random random(1, 2);
  for (std::size_t i = 0; i < size; ++i) plain_p[i] = p[i] = static_cast<float>(random.normal());
  for (std::int64_t t = 1; t <= 4; ++t) {
    for (std::size_t i = 0; i < size; ++i) plain_g[i] = g[i] = static_cast<float>(random.normal());
    optimizer.apply(t, 0.03, 1, g, p);
    plain.apply(t, plain_g, plain_p);
  }
  double worst = 0;
  for (std::size_t i = 0; i < size; ++i)
    worst = std::max(worst, std::abs(plain_p[i] - static_cast<double>(p[i])));
  BOOST_TEST(worst < 2e-6);
  BOOST_TEST(std::all_of(g.begin(), g.end(), [](float x) { return x == 0; }));  // ready for the next update
}

BOOST_AUTO_TEST_CASE(sgd_clips_long_gradients) {
  TrainConfig config;
  config.optimizer = "sgd";
  config.clip = 2.5;
  Optimizer optimizer(config, 2, 1);
  std::vector<float> p{1, 2}, g{3, 4};
  optimizer.apply(1, 0.1, 5, g, p);  // norm 5 becomes 2.5
  BOOST_TEST(p[0] == 0.85f);
  BOOST_TEST(p[1] == 1.8f);
  g = {0.6f, 0.8f};
  optimizer.apply(2, 0.1, 1, g, p);  // short enough
  BOOST_TEST(p[0] == 0.79f, boost::test_tools::tolerance(1e-6f));
}

BOOST_AUTO_TEST_CASE(mean_of_parameters) {
  ParameterMean mean;
  mean.add(std::vector<float>{1, -2, 0.5f});
  mean.add(std::vector<float>{2, -4, 0.25f});
  mean.add(std::vector<float>{6, 0, 0});
  BOOST_TEST(mean.mean() == (std::vector<float>{3, -2, 0.25f}));
}

BOOST_AUTO_TEST_SUITE_END()
