// What the tests of lib/train share: a toy language pair and a small Transformer.
#pragma once

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>

#include "base/log.h"
#include "models/transformer.h"
#include "support/temporary_folder.h"
#include "train/corpus.h"
#include "train/trainer.h"

namespace heed::test {

inline constexpr std::int64_t source_size = 13, target_size = 17;

/// `count` sentences of 2 to 7 tokens; the translation is the sentence backwards, one id higher.
inline Corpus reversing_corpus(std::int64_t count, std::uint64_t seed) {
  Corpus corpus;
  Random random(seed, 5);
  for (std::int64_t i = 0; i < count; ++i) {
    TokenIds source, target;
    const auto length = static_cast<std::int64_t>(1 + random.below(6));
    for (std::int64_t k = 0; k < length; ++k)
      source.push_back(static_cast<std::int32_t>(4 + random.below(9)));
    for (auto id = source.rbegin(); id != source.rend(); ++id) target.push_back(*id + 1);
    source.push_back(kDefaultSpecialIds.eos);
    target.push_back(kDefaultSpecialIds.eos);
    corpus.source.push_back(source);
    corpus.target.push_back(target);
    corpus.reference.push_back("line " + std::to_string(i));
  }
  return corpus;
}

inline std::unique_ptr<Model<float>> small_transformer(std::uint64_t seed = 3, double dropout = 0.2,
                                                       std::int64_t d_model = 12) {
  TransformerConfig config;
  config.source_vocab_size = source_size;
  config.target_vocab_size = target_size;
  config.n_encoder_layers = 1;
  config.n_decoder_layers = 2;
  config.d_model = d_model;
  config.d_ff = 20;
  config.n_heads = 3;
  config.max_length = 32;
  config.tied = "decoder";
  config.dropout = dropout;
  auto model = build<float>(config);
  model->parameters.initialize(seed);
  return model;
}

inline TrainSetup small_setup(const std::string& output) {
  TrainSetup setup;
  setup.config.batch_tokens = 40;
  setup.config.shards = 3;
  setup.config.learning_rate = 0.01;
  setup.config.warmup = 6;
  setup.config.clip = 1.5;
  setup.config.max_epochs = 3;
  setup.config.average = 2;
  setup.seed = 11;
  setup.output = output;
  setup.identity = {{"learning_rate", "0.01"}, {"source text", "abc"}};
  return setup;
}

/// Keeps the trainer's notes out of the test's output.
struct Quiet {
  Quiet() { logging::configure({"test", logging::Level::quiet, logging::When::never}); }
};

/// Trains a small Transformer on 30 pairs, 7 for validation; `change` sees the setup first.
template <class Change>
Trainer::Outcome train_small(const std::string& output, Change&& change, bool resume = false,
                             TrainState* state = nullptr) {
  const std::atomic<bool> stop{false};
  const Corpus training = reversing_corpus(30, 1), validation = reversing_corpus(7, 2);
  auto model = small_transformer();
  TrainSetup setup = small_setup(output);
  change(setup);
  Trainer trainer(*model, training, validation, setup);
  if (resume) BOOST_REQUIRE(trainer.resume());
  const Trainer::Outcome outcome = trainer.run(stop);
  if (state) *state = trainer.state();
  return outcome;
}

}  // namespace heed::test
