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
constexpr std::int64_t kTokensPerBatch = 1024;

std::vector<TokenIds> translate(const Model<float>& model, const PackedWeights<float>& weights,
                                const Corpus& corpus, std::span<const std::int64_t> sentences,
                                std::int32_t first) {
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
  beam.first = first;
  beam.scored = false;
  std::vector<TokenIds> translations;
  for (std::vector<Hypothesis>& best : beam_search(next, limits, beam)) {
    translations.push_back(std::move(best.front().ids));
  }
  return translations;
}

}  // namespace

BleuScorer make_bleu_scorer(const Model<float>& model, const Corpus& validation,
                            const text::Tokenizer& target, int threads, Exchange& exchange) {
  const std::vector<Batch> batches = make_validation_batches(validation, kTokensPerBatch);
  return
      [=, &model, &validation, &target, &exchange](const std::atomic<bool>& stop) -> std::optional<double> {
        const PackedWeights<float> weights(model.parameters.values());  // as they are now
        text::BleuOptions options;
        options.tokenize = "none";
        const text::Bleu bleu(options);
        const Cuts cuts = even_cuts(batches.size(), exchange.size());
        const auto me = static_cast<std::size_t>(exchange.rank());
        const std::size_t count = cuts[me + 1] - cuts[me];
        std::vector<text::Statistics> sums(count);
        parallel_for(static_cast<std::int64_t>(count), threads, [&](std::int64_t i) {
          if (stop) return;
          const auto at = static_cast<std::size_t>(i);
          const std::vector<std::int64_t>& sentences = batches[cuts[me] + at].shards.front();
          const std::vector<TokenIds> translations =
              translate(model, weights, validation, sentences, target.first());
          for (std::size_t k = 0; k < sentences.size(); ++k) {
            const std::string& reference = validation.reference[static_cast<std::size_t>(sentences[k])];
            text::add_to(sums[at], bleu.compare(target.decode(translations[k]), std::span(&reference, 1)));
          }
        });
        if (agree(exchange, {.stop = stop}).stop) return std::nullopt;
        // Counts are whole numbers: their sum does not depend on the order.
        text::Statistics sum(bleu.compare("", std::vector<std::string>{""}).size());
        for (const text::Statistics& part : sums) text::add_to(sum, part);
        const auto ranks = static_cast<std::size_t>(exchange.size());
        text::Statistics of_ranks(ranks * sum.size());
        std::ranges::copy(sum, of_ranks.begin() + static_cast<std::ptrdiff_t>(me * sum.size()));
        all_gather(exchange, std::span(of_ranks), even_cuts(of_ranks.size(), exchange.size()));
        std::ranges::fill(sum, 0.0);
        for (std::size_t rank = 0; rank < ranks; ++rank)
          text::add_to(sum, std::span(of_ranks).subspan(rank * sum.size(), sum.size()));
        return bleu.score(sum).score;
      };
}

}  // namespace heed
