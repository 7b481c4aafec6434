#include "train/trainer.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "io/atomic_file.h"
#include "models/bahdanau.h"
#include "support.h"

using namespace heed;
using namespace heed::test;

namespace {

const auto as_it_is = [](TrainSetup&) {};

bool says(const Error& error, const std::string& words) {
  return std::string(error.what()).find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trainer, *boost::unit_test::fixture<Quiet>())

BOOST_AUTO_TEST_CASE(learns_and_writes_its_files) {
  const TemporaryFolder folder;
  TrainState state;
  const auto outcome = train_small(
      folder / "m.h5",
      [](TrainSetup& s) {
        s.config.max_epochs = 25;
        s.config.average = 0;
      },
      false, &state);
  BOOST_TEST((outcome == Trainer::Outcome::finished));
  BOOST_TEST(state.epoch == 25);
  BOOST_REQUIRE(state.metrics.size() == 25u);
  BOOST_TEST(state.metrics.back().train_loss < 0.8 * state.metrics.front().train_loss);
  BOOST_TEST(state.metrics.back().step == state.step);
  BOOST_TEST(std::filesystem::exists(folder / "m.h5.checkpoint"));
  BOOST_TEST(bytes_of(folder / "m.h5.metrics.tsv").starts_with("step\tepoch\t"));
  BOOST_TEST(!std::filesystem::exists(folder / "m.h5.lock"));
}

BOOST_AUTO_TEST_CASE(the_number_of_threads_changes_no_bit) {
  const TemporaryFolder folder;
  std::string one;
  for (int threads : {1, 2, 4}) {
    const std::string model = folder / ("m" + std::to_string(threads) + ".h5");
    train_small(model, [=](TrainSetup& s) { s.threads = threads; });
    if (threads == 1) one = bytes_of(model);
    BOOST_TEST((bytes_of(model) == one), threads << " threads gave another model than 1");
  }
}

BOOST_AUTO_TEST_CASE(the_mean_is_over_tokens_or_sentences) {
  const Corpus corpus = reversing_corpus(9, 3);
  const auto model = small_transformer();
  const Batch batch = make_batches(corpus, 1000, 2, 1, 0)[0];
  BOOST_REQUIRE(batch.tokens > 9);
  auto norm = [&](const std::string& mean_over) {
    TrainConfig config;
    config.mean_over = mean_over;
    Gradients gradients(*model, Objective(*model), corpus, 1, 1, config);
    gradients.compute(batch, 1);
    return gradients.norm();
  };
  BOOST_TEST(norm("sentences") == norm("tokens") * static_cast<double>(batch.tokens) / 9,
             boost::test_tools::tolerance(1e-5));
}

/// Where products round their factors, loss and gradient are those of float32 but for that, and no thread
/// changes a bit.
void check_bfloat16(const Model<float>& model) {
  const Corpus corpus = reversing_corpus(60, 3);
  const Batch batch = make_batches(corpus, 1000, 2, 1, 0)[0];
  struct Result {
    double loss;
    std::vector<float> gradient;
  };
  auto compute = [&](const std::string& precision, int threads) {
    TrainConfig config;
    config.precision = precision;
    Gradients gradients(model, Objective(model), corpus, threads, 1, config);
    const double loss = gradients.compute(batch, 1).loss;
    const std::span<const float> flat = gradients.flat();
    return Result{loss, {flat.begin(), flat.end()}};
  };
  const Result exact = compute("float32", 1), rounded = compute("bfloat16", 1),
               again = compute("bfloat16", 2);
  BOOST_TEST(rounded.loss != exact.loss);
  BOOST_TEST(rounded.loss == exact.loss, boost::test_tools::tolerance(1e-3));
  double square = 0, difference = 0;
  for (std::size_t i = 0; i < exact.gradient.size(); ++i) {
    square += exact.gradient[i] * double{exact.gradient[i]};
    difference += std::pow(double{rounded.gradient[i]} - exact.gradient[i], 2);
  }
  BOOST_TEST(std::sqrt(difference / square) <
             0.05);  // each factor is off by up to 0.004 of itself, and sums cancel
  BOOST_TEST(difference > 0);
  BOOST_TEST(again.loss == rounded.loss);
  BOOST_TEST((again.gradient == rounded.gradient));
  BOOST_CHECK_THROW(compute("int8", 1), UsageError);
}

BOOST_AUTO_TEST_CASE(bfloat16_rounds_the_factors_of_products) {
  check_bfloat16(*small_transformer(3, 0, 24));
}

BOOST_AUTO_TEST_CASE(bfloat16_rounds_the_factors_of_a_recurrent_model) {
  BahdanauConfig config;
  config.source_vocab_size = source_size;
  config.target_vocab_size = target_size;
  config.d_embedding = 20;
  config.d_hidden = 24;
  config.d_align = 20;
  config.d_maxout = 16;
  config.init = "xavier";
  const auto model = build<float>(config);
  model->parameters.initialize(3);
  check_bfloat16(*model);
}

BOOST_AUTO_TEST_CASE(seed_and_shards_belong_to_the_run) {
  const TemporaryFolder folder;
  train_small(folder / "a.h5", as_it_is);
  train_small(folder / "b.h5", [](TrainSetup& s) { s.seed = 12; });
  BOOST_TEST((bytes_of(folder / "a.h5") != bytes_of(folder / "b.h5")));
}

BOOST_AUTO_TEST_CASE(resumes_to_the_bit_from_every_update) {
  const TemporaryFolder folder;
  TrainState whole;
  auto often = [](TrainSetup& s) { s.config.validate_every = 4; };  // also in the middle of epochs
  train_small(folder / "whole.h5", often, false, &whole);
  const std::string wanted = bytes_of(folder / "whole.h5");
  BOOST_REQUIRE(whole.step > 9);
  for (std::int64_t cut = 1; cut <= whole.step; ++cut) {
    const std::string model = folder / ("cut" + std::to_string(cut) + ".h5");
    train_small(model, [&](TrainSetup& s) {
      often(s);
      s.config.max_updates = cut;
    });
    BOOST_TEST((cut == whole.step || bytes_of(model) != wanted));
    TrainState state;
    train_small(model, often, true, &state);
    BOOST_TEST((bytes_of(model) == wanted), "cut after update " << cut);
    BOOST_TEST(state.metrics.size() == whole.metrics.size());
  }
}

BOOST_AUTO_TEST_CASE(a_stop_saves_and_the_run_goes_on_to_the_bit) {
  const TemporaryFolder folder;
  train_small(folder / "whole.h5", as_it_is);

  const Corpus training = reversing_corpus(30, 1), validation = reversing_corpus(7, 2);
  auto model = small_transformer();
  std::atomic<bool> stop{false};
  TrainSetup setup = small_setup(folder / "m.h5");
  setup.config.valid_bleu = true;
  setup.bleu = [&](const std::atomic<bool>&) -> std::optional<double> {
    stop = true;  // a signal in the middle of the first validation
    return std::nullopt;
  };
  {
    Trainer trainer(*model, training, validation, setup);
    BOOST_TEST((trainer.run(stop) == Trainer::Outcome::stopped));
    BOOST_TEST(trainer.state().epoch == 0);  // the validation is done again
    BOOST_TEST(trainer.state().metrics.empty());
  }
  BOOST_TEST(!std::filesystem::exists(folder / "m.h5"));
  train_small(folder / "m.h5", as_it_is, true);
  BOOST_TEST((bytes_of(folder / "m.h5") == bytes_of(folder / "whole.h5")));
}

BOOST_AUTO_TEST_CASE(stops_early_and_returns_to_the_best) {
  const TemporaryFolder folder;
  // The validation text contradicts the training text, so learning makes it worse after a while.
  const Corpus training = reversing_corpus(30, 1);
  Corpus validation = reversing_corpus(7, 2);
  for (std::size_t s = 0; s < validation.target.size(); ++s) {
    TokenIds& sentence = validation.target.held(s);
    for (std::size_t i = 0; i + 1 < sentence.size(); ++i) sentence[i] = 4;
  }
  auto model = small_transformer();
  TrainSetup setup = small_setup(folder / "m.h5");
  setup.config.max_epochs = 60;
  setup.config.patience = 3;
  setup.config.average = 0;
  Trainer trainer(*model, training, validation, setup);
  const std::atomic<bool> stop{false};
  trainer.run(stop);
  const TrainState& state = trainer.state();
  BOOST_TEST(state.epoch < 60);
  BOOST_TEST(state.without_gain == 3);
  BOOST_TEST(state.best.epoch == state.epoch - 3);
  double best = std::numeric_limits<double>::infinity();
  for (const MetricsRow& row : state.metrics) best = std::min(best, row.valid_loss);
  Validator validator(*model, Objective(*model), validation, 40, 1);
  BOOST_TEST(validator.run(stop)->loss == best, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(averages_the_last_epochs) {
  const TemporaryFolder folder;
  const Corpus training = reversing_corpus(30, 1), validation = reversing_corpus(7, 2);
  auto model = small_transformer();
  Trainer trainer(*model, training, validation, small_setup(folder / "m.h5"));
  const std::atomic<bool> stop{false};
  trainer.run(stop);
  const TrainState& state = trainer.state();
  BOOST_REQUIRE(state.epochs.size() == 2u);
  BOOST_TEST(state.epochs[0].name == "epoch_0002.h5");
  BOOST_TEST(state.epochs[1].name == "epoch_0003.h5");
  const SnapshotStore store(folder / "m.h5.epochs", *model, {});
  const std::vector<float> a = store.load(state.epochs[0]), b = store.load(state.epochs[1]);
  const auto result = model->parameters.values();
  for (std::size_t i = 0; i < a.size(); ++i) {
    BOOST_REQUIRE(result[i] ==
                  static_cast<float>((static_cast<double>(a[i]) + static_cast<double>(b[i])) / 2));
  }
  BOOST_TEST((a != b));
}

BOOST_AUTO_TEST_CASE(divergence_keeps_the_last_good_checkpoint) {
  const TemporaryFolder folder;
  train_small(folder / "m.h5", [](TrainSetup& s) { s.config.max_updates = 5; });
  const std::string good = bytes_of(folder / "m.h5.checkpoint");

  const Corpus training = reversing_corpus(30, 1), validation = reversing_corpus(7, 2);
  auto model = small_transformer();
  TrainSetup setup = small_setup(folder / "m.h5");
  setup.config.checkpoint_every = 1;
  Trainer trainer(*model, training, validation, setup);
  BOOST_REQUIRE(trainer.resume());
  model->parameters.view("decoder/layer_1/feed_forward/inner/weight")(1, 2) =
      std::numeric_limits<float>::quiet_NaN();
  const std::atomic<bool> stop{false};
  BOOST_CHECK_EXCEPTION(trainer.run(stop), DivergedError, [](const Error& e) {
    return says(e, "update 6: loss nan") && says(e, "parameter decoder/layer_1/feed_forward/inner/weight") &&
           says(e, "learning rate") && says(e, "(update 5)");
  });
  BOOST_TEST((bytes_of(folder / "m.h5.checkpoint") == good));
}

BOOST_AUTO_TEST_CASE(a_huge_learning_rate_diverges) {
  const TemporaryFolder folder;
  BOOST_CHECK_THROW(train_small(folder / "m.h5",
                                [](TrainSetup& s) {
                                  s.config.optimizer = "sgd";
                                  s.config.learning_rate = 1e30;
                                  s.config.clip = 0;
                                }),
                    DivergedError);
  BOOST_TEST(!std::filesystem::exists(folder / "m.h5"));
}

BOOST_AUTO_TEST_CASE(the_last_update_may_diverge_too) {
  const TemporaryFolder folder;
  const auto once = [](TrainSetup& s) {
    s.config.optimizer = "sgd";
    s.config.clip = 0;
    s.config.max_updates = 1;  // so that no further update shows it
  };
  // Parameters so large that the validation loss is NaN, and such that are infinite.
  for (const auto& [rate, words] :
       {std::pair{1e30, "update 1: validation loss "}, {1e300, "update 1: parameters that are not finite"}}) {
    BOOST_CHECK_EXCEPTION(train_small(folder / "m.h5",
                                      [&](TrainSetup& s) {
                                        once(s);
                                        s.config.learning_rate = rate;
                                      }),
                          DivergedError, [&](const Error& e) { return says(e, words); });
    BOOST_TEST(!std::filesystem::exists(folder / "m.h5"));
  }
}

BOOST_AUTO_TEST_CASE(another_run_is_not_resumed) {
  const TemporaryFolder folder;
  train_small(folder / "m.h5", [](TrainSetup& s) { s.config.max_updates = 2; });
  auto changed = [](TrainSetup& s) { s.identity[1].value = "abd"; };
  BOOST_CHECK_EXCEPTION(train_small(folder / "m.h5", changed, true), OtherRunError,
                        [](const Error& e) { return says(e, "source text was abc, now it is abd"); });
  auto removed = [](TrainSetup& s) { s.identity[1].value = ""; };
  BOOST_CHECK_EXCEPTION(train_small(folder / "m.h5", removed, true), OtherRunError,
                        [](const Error& e) { return says(e, "source text was abc, now it is none"); });
}

BOOST_AUTO_TEST_CASE(an_option_younger_than_the_checkpoint_must_be_at_its_default) {
  const TemporaryFolder folder;
  train_small(folder / "m.h5", [](TrainSetup& s) { s.config.max_updates = 2; });
  auto with_option = [](bool by_default) {
    return [by_default](TrainSetup& s) {
      s.config.max_updates = 2;
      s.identity.push_back({"layer_norm", "true", by_default});
    };
  };
  BOOST_CHECK_EXCEPTION(train_small(folder / "m.h5", with_option(false), true), OtherRunError,
                        [](const Error& e) { return says(e, "layer_norm was not there, now it is true"); });
  BOOST_CHECK_NO_THROW(train_small(folder / "m.h5", with_option(true), true));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_shards_summed_from_left_to_right_is_refused) {
  const TemporaryFolder folder;
  for (const std::int64_t shards : {3, 4}) {
    auto run = [=](bool says_sum) {
      return [=](TrainSetup& s) {
        s.config.max_updates = 2;
        s.config.shards = shards;
        if (says_sum) s.identity.push_back(sum_identity(shards));
      };
    };
    const std::string older = folder / concat("older", shards, ".h5"),
                      model = folder / concat("m", shards, ".h5");
    train_small(older, run(false));
    if (shards == 3) {  // the same either way
      BOOST_CHECK_NO_THROW(train_small(older, run(true), true));
    } else {
      BOOST_CHECK_EXCEPTION(train_small(older, run(true), true), OtherRunError, [](const Error& e) {
        return says(e, "sum was not there, now it is tree: the gradients of 4 shards") &&
               says(e, "--init-from");
      });
    }
    train_small(model, run(true));
    BOOST_CHECK_NO_THROW(train_small(model, run(true), true));
  }
}

BOOST_AUTO_TEST_CASE(an_option_that_is_no_longer_given_is_another_run) {
  const TemporaryFolder folder;
  train_small(folder / "m.h5", [](TrainSetup& s) {
    s.config.max_updates = 2;
    s.identity.push_back({"activation", "gelu", false});
  });
  BOOST_CHECK_EXCEPTION(train_small(
                            folder / "m.h5", [](TrainSetup&) {}, true),
                        OtherRunError,
                        [](const Error& e) { return says(e, "activation was gelu, now it is not given"); });
}

BOOST_AUTO_TEST_CASE(a_damaged_checkpoint_is_named_with_the_good_one) {
  const TemporaryFolder folder;
  const std::string model = folder / "m.h5";
  train_small(folder / "whole.h5", as_it_is);
  auto short_run = [](TrainSetup& s) {
    s.config.checkpoint_every = 3;
    s.config.max_updates = 7;
  };
  train_small(model, short_run);
  std::string bytes = bytes_of(model + ".checkpoint");
  bytes.resize(bytes.size() / 2);
  std::ofstream(model + ".checkpoint", std::ios::binary) << bytes;
  BOOST_CHECK_EXCEPTION(train_small(model, as_it_is, true), Error,
                        [&](const Error& e) { return says(e, "--resume-previous continues from"); });

  const Corpus training = reversing_corpus(30, 1), validation = reversing_corpus(7, 2);
  auto parameters = small_transformer();
  const std::atomic<bool> stop{false};
  Trainer trainer(*parameters, training, validation, small_setup(model));
  trainer.resume_previous();
  BOOST_TEST(trainer.state().step == 6);
  trainer.run(stop);
  BOOST_TEST((bytes_of(model) == bytes_of(folder / "whole.h5")));
}

BOOST_AUTO_TEST_CASE(a_second_trainer_is_refused) {
  const TemporaryFolder folder;
  const RunFiles files(folder / "m.h5");
  {
    const RunLock lock(files);
    BOOST_CHECK_EXCEPTION(RunLock second(files), Error,
                          [](const Error& e) { return says(e, "process " + std::to_string(getpid())); });
  }
  BOOST_CHECK_NO_THROW(RunLock again(files));
}

BOOST_AUTO_TEST_CASE(a_lock_that_a_killed_trainer_left_is_no_obstacle) {
  const TemporaryFolder folder;
  const RunFiles files(folder / "m.h5");
  std::ofstream(files.lock) << "4711 and some more\n";
  {
    const RunLock lock(files);
    BOOST_TEST(bytes_of(files.lock) == std::to_string(getpid()) + "\n");
  }
  BOOST_TEST(!std::filesystem::exists(files.lock));
}

BOOST_AUTO_TEST_CASE(an_output_that_cannot_be_written_is_refused_first) {
  const TemporaryFolder folder;
  BOOST_CHECK_EXCEPTION(train_small(folder / "missing/m.h5", as_it_is), Error,
                        [](const Error& e) { return says(e, "missing"); });
  std::filesystem::create_directory(folder / "m.h5");
  BOOST_CHECK_THROW(train_small(folder / "m.h5", as_it_is), Error);
}

BOOST_AUTO_TEST_SUITE_END()
