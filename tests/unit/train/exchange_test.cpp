#include "train/exchange.h"

#include <boost/test/data/test_case.hpp>
#include <map>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "io/frame_stream.h"
#include "models/bahdanau.h"
#include "models/luong.h"
#include "models/xu.h"
#include "mpi/patience.h"
#include "support.h"
#include "support/thread_exchange.h"
#include "text/tokenizer.h"
#include "train/launch.h"
#include "train/ranges.h"
#include "train/valid_bleu.h"

using namespace heed;
using namespace heed::test;

namespace {

/// Ids that no sentence has make a slice for each of 8 ranks.
constexpr std::int64_t kManyWords = 2600;

std::unique_ptr<Model<float>> initialized(std::unique_ptr<Model<float>> model) {
  model->parameters.initialize(3);
  return model;
}

/// Rows of 256 numbers lie apart in memory.
std::unique_ptr<Model<float>> transformer_of(std::int64_t d_model, std::int64_t n_heads) {
  TransformerConfig config;
  config.source_vocab_size = source_size;
  config.target_vocab_size = kManyWords;
  config.n_encoder_layers = 1;
  config.n_decoder_layers = 1;
  config.d_model = d_model;
  config.d_ff = 256;
  config.n_heads = n_heads;
  config.max_length = 32;
  config.tied = "decoder";
  config.dropout = 0.2;
  return initialized(build<float>(config));
}

std::unique_ptr<Model<float>> transformer() {
  return transformer_of(96, 3);
}

template <class Config>
std::unique_ptr<Model<float>> recurrent(Config config = {}) {
  config.source_vocab_size = source_size;
  config.target_vocab_size = kManyWords;
  config.d_embedding = 56;
  config.d_hidden = 56;
  config.d_align = 12;
  config.init = "xavier";
  config.dropout = 0.2;
  return initialized(build<float>(config));
}

struct Kind {
  std::string name;
  std::unique_ptr<Model<float>> (*model)();
  void (*recipe)(TrainConfig&);
};

const std::vector<Kind> kinds{
    {"Transformer, Adam, clipped", transformer, [](TrainConfig& c) { c.clip = 0.5; }},
    {"Bahdanau, Adadelta", [] { return recurrent<BahdanauConfig>(); },
     [](TrainConfig& c) {
       c.optimizer = "adadelta";
       c.beta2 = 0.95;
       c.learning_rate = 1;
       c.schedule = "constant";
     }},
    {"Luong, gradient descent",
     [] {
       LuongConfig config;
       config.n_layers = 1;
       return recurrent(config);
     },
     [](TrainConfig& c) {
       c.optimizer = "sgd";
       c.schedule = "halving";
       c.mean_over = "sentences";
     }},
    {"Xu, REINFORCE",
     [] {
       XuConfig config;
       config.attend_to = "drawn";
       return recurrent(config);
     },
     [](TrainConfig&) {}}};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << kind.name;
}

/// Under a sanitizer the first alone: the others take minutes.
std::vector<Kind> tested_kinds() {
#ifdef __SANITIZE_ADDRESS__
  return {kinds.front()};
#else
  return kinds;
#endif
}

/// What the ranks of a run share, and how one of them begins.
struct Run {
  Corpus training = reversing_corpus(60, 1), validation = reversing_corpus(9, 2);
  text::Tokenizer words = text::Tokenizer::of_ids(kManyWords, kDefaultSpecialIds);
  const Kind& kind;
  std::string output;
  std::function<void(TrainSetup&, std::atomic<bool>& stop, Model<float>&)> change = [](auto&...) {};

  Run(const Kind& of_kind, std::string file) : kind(of_kind), output(std::move(file)) {
    for (std::size_t i = 0; i < validation.target.size(); ++i)
      validation.reference[i] = words.decode(validation.target[i]);
  }

  TrainSetup setup() const {
    TrainSetup setup = small_setup(output);
    setup.config.shards = 8;
    setup.config.batch_tokens = 60;
    setup.config.max_epochs = 2;
    setup.config.valid_bleu = true;
    setup.config.validate_every = 7;
    kind.recipe(setup.config);
    return setup;
  }

  Trainer::Outcome by(int ranks, bool resume = false) {
    Trainer::Outcome outcome{};
    run_ranks(ranks, [&](Exchange& exchange) {
      const auto model = kind.model();
      std::atomic<bool> stop{false};
      TrainSetup s = setup();
      s.exchange = &exchange;
      s.bleu = make_bleu_scorer(*model, validation, words, 1, exchange);
      change(s, stop, *model);
      Trainer trainer(*model, training, validation, s);
      if (resume && !trainer.resume()) throw std::logic_error("nothing to resume");
      const Trainer::Outcome ended = trainer.run(stop);
      if (exchange.rank() == 0) outcome = ended;
    });
    return outcome;
  }

  /// All that the run leaves, but times.
  std::string files() const {
    TensorMap checkpoint = io::read_map(output + ".checkpoint");
    std::vector<std::string> clocks;
    for (const auto& [name, tensor] : checkpoint.tensors())
      if (name.ends_with("second") || name.ends_with("seconds")) clocks.push_back(name);
    if (clocks.size() != 3) throw std::logic_error("other clocks than expected");
    for (const std::string& name : clocks) checkpoint.erase(name);
    const std::string timeless = output + ".timeless";
    io::write_map(timeless, checkpoint);
    std::istringstream table(bytes_of(output + ".metrics.tsv"));
    std::string metrics, row, cell;
    while (std::getline(table, row)) {
      std::istringstream cells(row);
      for (int column = 0; std::getline(cells, cell, '\t'); ++column)
        if (column != 8 && column != 9) metrics += cell + '\t';
    }
    return bytes_of(output) + bytes_of(timeless) + metrics;
  }
};

Run run_of(const Kind& kind, const TemporaryFolder& folder, const std::string& name) {
  std::filesystem::create_directory(folder / name);
  return {kind, folder / (name + "/m.h5")};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exchange, *boost::unit_test::fixture<Quiet>())

BOOST_DATA_TEST_CASE(any_number_of_ranks_leaves_the_same_bytes, boost::unit_test::data::make(tested_kinds()),
                     kind) {
  const TemporaryFolder folder;
  BOOST_TEST(range_count(static_cast<std::int64_t>(kind.model()->parameters.values().size())) >= 8);
  std::string one;
  for (const int ranks : {1, 2, 3, 5, 8}) {
    Run run = run_of(kind, folder, std::to_string(ranks));
    BOOST_TEST((run.by(ranks) == Trainer::Outcome::finished));
    if (ranks == 1) one = run.files();
    BOOST_TEST((run.files() == one), ranks << " ranks leave other files than one");
  }
  BOOST_TEST(one.size() > 2u * 262144 * 4);
}

BOOST_AUTO_TEST_CASE(eight_ranks_then_three_then_one_end_in_the_same_bytes) {
  const TemporaryFolder folder;
  Run whole = run_of(kinds[0], folder, "whole");
  whole.by(1);
  Run parts = run_of(kinds[0], folder, "parts");
  for (const auto& [ranks, until] : {std::pair(8, 3), {3, 8}, {1, 11}, {2, 0}}) {
    parts.change = [until](TrainSetup& s, auto&...) { s.config.max_updates = until; };
    parts.by(ranks, until != 3);
  }
  BOOST_TEST((parts.files() == whole.files()));
}

BOOST_AUTO_TEST_CASE(a_signal_to_one_rank_stops_all_after_the_same_update) {
  const TemporaryFolder folder;
  Run whole = run_of(kinds[0], folder, "whole");
  whole.by(1);
  for (const bool while_validating : {false, true}) {
    Run run = run_of(kinds[0], folder, while_validating ? "validating" : "training");
    run.change = [=](TrainSetup& s, std::atomic<bool>& stop, auto&) {
      if (s.exchange->rank() != 1) return;
      if (while_validating) {
        s.bleu = [&stop, bleu = s.bleu](const std::atomic<bool>& same) {
          stop = true;
          return bleu(same);
        };
      } else {
        s.redraw = [&stop](std::int64_t epoch) { stop = epoch == 1; };
      }
    };
    BOOST_TEST((run.by(3) == Trainer::Outcome::stopped));
    BOOST_TEST(!std::filesystem::exists(run.output));
    run.change = [](auto&...) {};
    run.by(2, true);
    BOOST_TEST((run.files() == whole.files()));
  }
}

BOOST_AUTO_TEST_CASE(checkpoints_and_the_end_by_the_clock_are_by_that_of_the_first_rank) {
  const TemporaryFolder folder;
  for (const auto& [name, minutes] :
       {std::pair("checkpoints", &TrainConfig::checkpoint_minutes), {"end", &TrainConfig::max_minutes}}) {
    for (const int fast : {0, 1}) {
      Run run = run_of(kinds[0], folder, concat(name, fast));
      run.change = [fast, minutes](TrainSetup& s, auto&...) {
        s.config.max_updates = 3;
        if (s.exchange->rank() == fast) s.config.*minutes = 1e-9;
      };
      run.by(2);
      TrainState state;
      const auto model = transformer();
      const auto step_of = [&](const std::string& checkpoint) {
        load_checkpoint(checkpoint, run.setup().identity, state, *model);
        return state.step;
      };
      const RunFiles files(run.output);
      const bool saves = minutes == &TrainConfig::checkpoint_minutes;
      BOOST_TEST(step_of(files.checkpoint) == (saves || fast == 1 ? 3 : 0));
      BOOST_TEST(std::filesystem::exists(files.previous_checkpoint) == (saves && fast == 0));
      if (saves && fast == 0) BOOST_TEST(step_of(files.previous_checkpoint) == 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(all_ranks_diverge_at_the_same_update_with_one_report) {
  const TemporaryFolder folder;
  std::string one;
  for (const int ranks : {1, 3, 8}) {
    Run run = run_of(kinds[0], folder, std::to_string(ranks));
    run.change = [](TrainSetup& s, auto&...) {
      s.config.learning_rate = 3e8;
      s.config.warmup = 0;
      s.config.clip = 0;
    };
    std::string report;
    try {
      run.by(ranks);
    } catch (const DivergedError& error) {
      report = error.what();
    }
    if (ranks == 1) one = report;
    BOOST_TEST(report.find("first in ") != std::string::npos);
    BOOST_TEST(report == one);
  }
}

BOOST_AUTO_TEST_CASE(more_ranks_than_shards_are_refused) {
  const TemporaryFolder folder;
  Run run = run_of(kinds[0], folder, "m");
  BOOST_CHECK_EXCEPTION(run.by(9), UsageError, [](const Error& error) {
    return std::string(error.what()).find("9 ranks, but a batch has only 8 shards") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(ranks_at_other_batches_are_noticed) {
  const TemporaryFolder folder;
  Run run = run_of(kinds[0], folder, "m");
  run.change = [](TrainSetup& s, auto&...) {
    if (s.exchange->rank() == 2) s.seed = 12;
  };
  BOOST_CHECK_EXCEPTION(run.by(3), Error, [](const Error& error) {
    return std::string(error.what()).find("rank 2 on here is at update 1, with another batch than rank 0") ==
           0;
  });
}

/// Parameters that differ stand for processors that do.
BOOST_AUTO_TEST_CASE(other_arithmetic_is_noticed_when_the_first_shard_is_empty) {
  const TemporaryFolder folder;
  const Run run = run_of(kinds[0], folder, "m");
  BOOST_REQUIRE(make_batches(run.training, 5, 8, run.setup().seed, 0)[0].shards.front().empty());
  const auto probe = [&](bool equal) {
    run_ranks(2, [&](Exchange& exchange) {
      const auto model = transformer();
      TrainSetup s = run.setup();
      s.config.batch_tokens = 5;
      s.exchange = &exchange;
      if (exchange.rank() == 1 && !equal)
        for (float& x : model->parameters.values()) x += 1e-3f;
      Trainer(*model, run.training, run.validation, s).expect_same_arithmetic();
    });
  };
  BOOST_CHECK_NO_THROW(probe(true));
  BOOST_CHECK_EXCEPTION(probe(false), Error, [](const Error& error) {
    return std::string(error.what()).find("rank 1 on here: what the gradient of a batch comes to is ") == 0;
  });
}

BOOST_AUTO_TEST_CASE(what_several_ranks_find_wrong_the_first_of_them_says) {
  for (const int first : {0, 2}) {
    std::atomic<int> said{0}, after{0};
    const auto work = [&](Exchange& exchange) {
      try {
        together(exchange, [&] {
          if (exchange.rank() >= first) fail<UsageError>("rank ", exchange.rank());
        });
        ++after;
      } catch (const Error&) {
        ++said;
        throw;
      }
    };
    BOOST_CHECK_EXCEPTION(run_ranks(4, work), UsageError,
                          [&](const Error& error) { return error.what() == concat("rank ", first); });
    BOOST_TEST(said == 1);
    BOOST_TEST(after == 0);
  }
  int done = 0;
  together(alone(), [&] { ++done; });
  BOOST_TEST(done == 1);
  BOOST_CHECK_THROW(together(alone(), [] { fail("no"); }), Error);
}

/// A long reading of texts, a checkpoint or a resumed run's number of updates makes the watchdog wait no
/// longer.
BOOST_AUTO_TEST_CASE(patience_grows_with_updates_alone) {
  using std::chrono::seconds;
  const Patience::Clock::time_point start{};
  Patience patience(seconds(60));
  std::int64_t at = 0;
  const auto begin = [&](std::int64_t after, std::int64_t step) {
    at += after;
    patience.begin(start + seconds(at), step);
  };
  begin(5, 0);
  begin(5000, 0);     // texts
  begin(5000, 7000);  // --resume
  begin(1, 7000);
  BOOST_TEST((patience.length() == seconds(60)));
  begin(8, 7001);
  BOOST_TEST((patience.length() == seconds(80)));
  begin(5000, 7001);  // a checkpoint
  begin(2, 7002);
  BOOST_TEST((patience.length() == seconds(80)));
  BOOST_TEST((patience.began() == start + seconds(at)));
}

BOOST_AUTO_TEST_CASE(a_resumed_run_says_after_which_update_it_is) {
  const TemporaryFolder folder;
  Run run = run_of(kinds[0], folder, "m");
  run.change = [](TrainSetup& s, auto&...) { s.config.max_updates = 2; };
  run.by(1);
  run_ranks(2, [&](Exchange& exchange) {
    const auto model = transformer();
    TrainSetup s = run.setup();
    s.exchange = &exchange;
    Trainer trainer(*model, run.training, run.validation, s);
    if (!trainer.resume() || exchange.step != 2) throw std::logic_error("not after update 2");
  });
}

BOOST_AUTO_TEST_CASE(damaged_parameters_are_noticed_at_the_checkpoint) {
  const TemporaryFolder folder;
  Run run = run_of(kinds[0], folder, "m");
  run.change = [](TrainSetup& s, std::atomic<bool>&, Model<float>& model) {
    s.config.max_updates = s.config.validate_every = 3;
    if (s.exchange->rank() != 1) return;
    s.bleu = [&model, bleu = s.bleu](const std::atomic<bool>& stop) {
      const std::optional<double> score = bleu(stop);
      model.parameters.values()[0] += 1e-6f;
      return score;
    };
  };
  BOOST_CHECK_EXCEPTION(run.by(2), Error, [](const Error& error) {
    return std::string(error.what()).find("rank 1 on here: the digest of the parameters is ") == 0;
  });
}

BOOST_AUTO_TEST_CASE(other_fields_are_refused_by_rank_host_field_and_both_values) {
  for (const int ranks : {2, 5}) {
    BOOST_CHECK_EXCEPTION(
        run_ranks(ranks,
                  [&](Exchange& exchange) {
                    const bool last = exchange.rank() == ranks - 1;
                    expect_same(exchange, {{"seed", "1"}, {"source text", last ? "" : "a:b"}}, "mend it");
                  }),
        Error, [&](const Error& error) {
          return error.what() ==
                 concat("rank ", ranks - 1,
                        " on here: source text is not there, on rank 0 on here it is a:b: mend it");
        });
    run_ranks(ranks, [](Exchange& exchange) { expect_same(exchange, {{"seed", "1"}}, ""); });
  }
}

BOOST_AUTO_TEST_CASE(launchers_say_in_the_environment_who_is_one_of_several) {
  const auto found = [](std::map<std::string, std::string> environment) -> std::string {
    const std::optional<Launch> launch = find_launch([&](const char* name) -> const char* {
      const auto variable = environment.find(name);
      return variable == environment.end() ? nullptr : variable->second.c_str();
    });
    return launch ? concat(launch->variable, " ", launch->rank.value_or(-1), " ", launch->size.value_or(-1))
                  : "";
  };
  BOOST_TEST(found({}) == "");
  BOOST_TEST(found({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}}) ==
             "OMPI_COMM_WORLD_SIZE 1 4");
  BOOST_TEST(found({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}}) == "");
  BOOST_TEST(found({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}) == "PMI_SIZE 0 2");
  BOOST_TEST(found({{"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_PROCID", "2"}, {"PMIX_RANK", "2"}}) ==
             "SLURM_STEP_NUM_TASKS 2 3");
  BOOST_TEST(found({{"SLURM_STEP_NUM_TASKS", "1"}, {"PMIX_RANK", "0"}}) == "");
  BOOST_TEST(found({{"PMIX_RANK", "2"}}) == "PMIX_RANK 2 -1");
  BOOST_TEST(found({{"PMI_SIZE", "many"}}) == "");
}

/// A ring's all-reduce sends as much: 2 (R - 1) / R times the parameters.
BOOST_AUTO_TEST_CASE(an_update_sends_what_the_formula_says) {
  const Corpus corpus = reversing_corpus(60, 1);
  for (const auto& [d_model, n_heads] : {std::pair(96, 3), {256, 4}}) {
    for (const int ranks : {2, 4, 8}) {
      std::atomic<std::size_t> sent{0};
      std::int64_t parameters = 0, elements = 0;
      run_ranks(ranks, [&](ThreadExchange& exchange) {
        const auto model = transformer_of(d_model, n_heads);
        TrainConfig config;
        Gradients gradients(*model, Objective(*model), corpus, 1, 1, config, false, exchange);
        gradients.compute(make_batches(corpus, 1000, 8, 1, 0)[0], 1);
        gradients.slices().all_gather(model->parameters.values());
        sent += exchange.bytes_sent();
        if (exchange.rank() > 0) return;
        parameters = model->parameters.count();
        elements = std::ssize(model->parameters.values());
      });
      BOOST_TEST(static_cast<double>(sent) == 2.0 * (ranks - 1) * 4 * static_cast<double>(parameters),
                 boost::test_tools::tolerance(0.01));
      if (d_model == 256) BOOST_TEST(static_cast<double>(elements) > 1.05 * static_cast<double>(parameters));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
