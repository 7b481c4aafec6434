#include "stages/lens.h"

#include <algorithm>
#include <cmath>

#include "models/shards.h"
#include "nn/recording.h"
#include "stages/given.h"
#include "tensor/padding.h"
#include "text/token_map.h"

namespace heed {

void expect_lens(const Model<float>& model) {
  if (model.needed_decoder().sizes().self_attends) return;
  fail<UsageError>("--lens: the layers of a ", model.architecture,
                   " are not in the space that its words are read from: it needs a Transformer's decoder");
}

namespace {

std::string output_of(std::int64_t layer) {
  return layer == 0 ? "decoder/embedded" : concat("decoder/layer_", layer - 1, "/output");
}

/// What the words head makes of a row.
struct Verdict {
  float probability, best_probability;
  std::int32_t rank, best;
};

Verdict read_row(std::span<const float> logits, std::int32_t produced) {
  const float own = logits[static_cast<std::size_t>(produced)];
  const auto best = std::ranges::max_element(logits);
  double sum = 0;
  std::int32_t rank = 1;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    sum += std::exp(static_cast<double>(logits[j]) - *best);
    rank += logits[j] > own || (logits[j] == own && std::cmp_less(j, produced));
  }
  return {static_cast<float>(std::exp(static_cast<double>(own) - *best) / sum), static_cast<float>(1 / sum),
          rank, static_cast<std::int32_t>(best - logits.begin())};
}

}  // namespace

TensorMap logit_lens(const LoadedModel& loaded, const PackedStates& input, const Results& hypotheses,
                     const std::vector<Ids>& prompts, int threads, Inspection* inspection, bool whole_text) {
  const Model<float>& model = *loaded.model;
  std::vector<Ids> produced;
  Packing rows;
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    produced.push_back(after_prompt(prompts, s, hypotheses[s].front().ids));
    if (model.reads_as_given && !whole_text) produced.back().erase(produced.back().begin());  // it is given
    rows.append(std::ssize(produced.back()));
  }
  const std::int64_t sentences = rows.sentences(), layers = model.needed_decoder().sizes().n_layers + 1,
                     width = rows.longest();
  const std::vector<std::string> dims{"sentence", "layer", "position"};
  Tensor probability = Tensor::zeros<float>({sentences, layers, width}, dims), best_probability = probability;
  Tensor rank = Tensor::zeros<std::int32_t>({sentences, layers, width}, dims);
  Tensor best_piece = Tensor::zeros<std::string>({sentences, layers, width}, dims);

  for_each_shard(sentences, threads, [&](SentenceRange range) {
    InspectedPass pass(model, inspection, range.numbers(), [&](const std::string& name) {
      return name == "decoder/embedded" || (name.starts_with("decoder/layer_") && name.ends_with("/output") &&
                                            std::ranges::count(name, '/') == 2);
    });
    const Selection shard(input, range.numbers());
    PackedTokens target;
    std::vector<SampleStream> streams;
    for (const std::int64_t s : range.numbers()) {
      const Hypothesis& h = hypotheses[static_cast<std::size_t>(s)].front();
      target.append(h.ids);
      if (h.drawn) streams.push_back(*h.drawn);
    }
    const Given given = read_given(pass, model, shard.on(pass), target, streams, whole_text);
    for (std::int64_t i = 0; i < range.count; ++i) {
      const std::int64_t s = range.first + i, length = given.rows.length(i);
      const Ids& ids = produced[static_cast<std::size_t>(s)];
      if (std::cmp_not_equal(length, ids.size()))
        fail("the lens of a language model needs the prompt's /tokens: ", length, " states, ", ids.size(),
             " tokens");
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        const Matrix<const float> all = pass.recorded().at(output_of(layer)).matrix();
        InferencePass words(model);  // of its own, as logits are large
        const Var<float> states = words.tape->constant({all.row(given.rows.offset(i)), length, all.cols});
        Packing row;
        row.append(length);
        const Matrix<const float> logits =
            model.needed_words().logits(words, model.decoder->finish(words, states, row)).value();
        for (std::int64_t p = 0; p < length; ++p) {
          const auto at = static_cast<std::size_t>((s * layers + layer) * width + p);
          const Verdict verdict = read_row({logits.row(p), static_cast<std::size_t>(logits.cols)},
                                           ids[static_cast<std::size_t>(p)]);
          probability.values<float>()[at] = verdict.probability;
          best_probability.values<float>()[at] = verdict.best_probability;
          rank.values<std::int32_t>()[at] = verdict.rank;
          best_piece.values<std::string>()[at] = loaded.target.piece(verdict.best);
        }
      }
    }
  });

  Pieces pieces;
  for (const Ids& ids : produced) pieces.push_back(loaded.target.pieces(ids));
  std::vector<std::string> labels{"embedded"};
  for (std::int64_t layer = 1; layer < layers; ++layer) labels.push_back(std::to_string(layer - 1));
  probability.attributes["long_name"] = std::string("probability");
  probability.attributes["cell_text"] = std::string("best_piece");
  probability.attributes["interpretation"] = std::string("image");
  TensorMap map;
  map.add("lens/length", lengths_of(rows));
  map.add("lens/token", token_labels(pieces, "position", width));
  map.add("lens/layer_label", Tensor::of<std::string>(labels, {layers}, {"layer"}));
  map.add("lens/rank", std::move(rank));
  map.add("lens/best_piece", std::move(best_piece));
  map.add("lens/best_probability", std::move(best_probability));
  map.add("lens/probability", std::move(probability));
  map.groups["lens"] = {"probability",
                        "The most likely token by each layer, and the probability of the one produced",
                        {"0", ".", "."},
                        {}};
  return map;
}

}  // namespace heed
