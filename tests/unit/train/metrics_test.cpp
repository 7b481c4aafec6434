#include "train/metrics.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;

namespace {

Metrics two_rows() {
  MetricsRow first, second;
  first.step = 120;
  first.epoch = 1;
  first.train_loss = 5.25;
  first.valid_loss = 4.5;
  first.valid_bleu = 12.5;
  first.seconds = 61;
  second.step = 240;
  second.epoch = 2;
  second.valid_loss = 0;
  second.target_tokens_per_second = 9000;
  return {first, second};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(metrics)

BOOST_AUTO_TEST_CASE(survive_a_tensor_map) {
  TensorMap map;
  metrics_to_map(two_rows(), "x/", true, map);
  const Metrics back = metrics_from_map(map, "x/");
  BOOST_REQUIRE(back.size() == 2u);
  BOOST_TEST(back[0].step == 120);
  BOOST_TEST(back[0].train_loss == 5.25);
  BOOST_TEST(back[0].valid_bleu == 12.5);
  BOOST_TEST(back[0].seconds == 61);
  BOOST_TEST(back[1].epoch == 2);
  BOOST_TEST(back[1].target_tokens_per_second == 9000);
}

BOOST_AUTO_TEST_CASE(the_clock_stays_out_of_model_files) {
  TensorMap map;
  metrics_to_map(two_rows(), "x/", false, map);
  BOOST_TEST(map.contains("x/valid_loss"));
  BOOST_TEST(!map.contains("x/seconds"));
  BOOST_TEST(!map.contains("x/target_tokens_per_second"));
}

BOOST_AUTO_TEST_CASE(columns_of_unequal_length_are_refused) {
  TensorMap map;
  metrics_to_map(two_rows(), "x/", true, map);
  map.erase("x/epoch");
  map.add("x/epoch", Tensor::of<std::int64_t>({1, 2, 3}, {3}));
  BOOST_CHECK_THROW(metrics_from_map(map, "x/"), Error);
}

BOOST_AUTO_TEST_CASE(table) {
  const std::string table = metrics_to_tsv(two_rows());
  BOOST_TEST(table ==
             "step\tepoch\ttrain_loss\tvalid_loss\tvalid_accuracy\tvalid_bleu\tlearning_rate\tgradient_norm\t"
             "target_tokens_per_second\tseconds\tvalid_perplexity\n"
             "120\t1\t5.25\t4.5\t-1\t12.5\t0\t0\t0\t61\t90.01713\n"
             "240\t2\t0\t0\t-1\t-1\t0\t0\t9000\t0\t1\n");
}

BOOST_AUTO_TEST_SUITE_END()
