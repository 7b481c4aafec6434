#include "train/valid_bleu.h"

#include <algorithm>

#include "base/parallel.h"
#include "decode/search.h"
#include "models/hypotheses.h"
#include "text/bleu.h"
#include "train/gradients.h"

namespace heed {

namespace {

/// Target tokens of the references in one batch of translations.
constexpr std::int64_t tokens_per_batch = 1024;

std::vector<TokenIds> translate(const Model<float>& model, const PackedWeights<float>& weights,
                                const Corpus& corpus, std::span<const std::int64_t> sentences) {
  Tape<float> tape;
  Pass<float> pass(tape, model.parameters);
  const Encoded<float> memory = encode_sources(model, pass, corpus, sentences);
  const Packing& source = *memory.rows;
  Hypotheses<float> hypotheses(model, weights, source.sentences(), &memory);
  std::vector<std::int64_t> limits;
  for (std::int64_t i = 0; i < source.sentences(); ++i) {
    limits.push_back(usual_max_length(source.length(i), model.needed_decoder().sizes().max_length));
  }
  auto next = [&](std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) {
    return hypotheses.read(tokens, parents);
  };
  BeamOptions beam;
  beam.special = model.searched();
  std::vector<TokenIds> translations;
  for (std::vector<Hypothesis>& best : beam_search(next, limits, beam)) {
    translations.push_back(std::move(best.front().ids));
  }
  return translations;
}

}  // namespace

BleuScorer make_bleu_scorer(const Model<float>& model, const Corpus& validation,
                            const text::Tokenizer& target, int threads) {
  const std::vector<Batch> batches = make_validation_batches(validation, tokens_per_batch);
  return [=, &model, &validation, &target](const std::atomic<bool>& stop) -> std::optional<double> {
    const PackedWeights<float> weights(model.parameters.values());  // as they are now
    std::vector<std::string> lines(static_cast<std::size_t>(validation.size()));
    parallel_for(static_cast<std::int64_t>(batches.size()), threads, [&](std::int64_t batch) {
      if (stop) return;
      const std::vector<std::int64_t>& sentences = batches[static_cast<std::size_t>(batch)].shards.front();
      const std::vector<TokenIds> translations = translate(model, weights, validation, sentences);
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        lines[static_cast<std::size_t>(sentences[i])] = target.decode(translations[i]);
      }
    });
    if (stop) return std::nullopt;
    text::BleuOptions options;
    options.tokenize = "none";
    const text::Bleu bleu(options);
    text::Statistics sum;
    for (std::size_t i = 0; i < lines.size(); ++i)
      text::add_to(sum, bleu.compare(lines[i], std::span(&validation.reference[i], 1)));
    return bleu.score(sum).score;
  };
}

}  // namespace heed
