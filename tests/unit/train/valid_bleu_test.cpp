#include "train/valid_bleu.h"

#include <algorithm>

#include "support.h"
#include "text/tokenizer.h"

using namespace heed;
using namespace heed::test;

BOOST_AUTO_TEST_SUITE(valid_bleu)

/// A model that says one word, whatever it has read, as often as the maximal length allows.
BOOST_AUTO_TEST_CASE(translations_begin_as_the_texts_of_the_target_do) {
  constexpr std::int32_t word = 8, first = 7;
  TransformerConfig config;
  config.source_vocab_size = source_size;
  config.target_vocab_size = target_size;
  config.n_encoder_layers = config.n_decoder_layers = 1;
  config.d_model = 12;
  config.d_ff = 20;
  config.n_heads = 3;
  config.max_length = 10;
  config.tied = "decoder";
  config.output_bias = true;
  const auto model = build<float>(config);
  std::ranges::fill(model->parameters.values(), 0.0f);
  model->parameters.view("decoder/output/bias").data[word] = 1;
  const text::Tokenizer plain = text::Tokenizer::of_ids(target_size, kDefaultSpecialIds),
                        target = plain.beginning_with(first);
  TokenIds said(10, word);
  said.front() = first;
  Corpus corpus;
  corpus.source.push_back({5, 6, kDefaultSpecialIds.eos});
  corpus.target.push_back({first, word, kDefaultSpecialIds.eos});
  corpus.reference.push_back(target.decode(said));
  const std::atomic<bool> stop{false};
  BOOST_TEST(make_bleu_scorer(*model, corpus, target, 1)(stop).value() == 100.0,
             boost::test_tools::tolerance(1e-6));
  BOOST_TEST(make_bleu_scorer(*model, corpus, plain, 1)(stop).value() < 99.0);
}

BOOST_AUTO_TEST_SUITE_END()
