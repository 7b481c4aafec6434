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
                   " do not share the space of its output: only a Transformer's decoder has a lens");
}

namespace {

std::string output_of(std::int64_t layer) {
  return layer == 0 ? "decoder/embedded" : concat("decoder/layer_", layer - 1, "/output");
}

/// The words head's result for a row.
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

/// The predictions of all layers for the tokens at all positions.
class Table {
 public:
  Table(const LoadedModel& loaded, const std::vector<Ids>& tokens, std::int64_t layers)
      : loaded_(loaded), tokens_(tokens), layers_(layers) {
    for (const Ids& ids : tokens) rows_.append(std::ssize(ids));
    const Shape shape{rows_.sentences(), layers, rows_.longest()};
    const std::vector<std::string> dims{"sentence", "layer", "position"};
    probability_ = best_probability_ = Tensor::zeros<float>(shape, dims);
    rank_ = Tensor::zeros<std::int32_t>(shape, dims);
    best_piece_ = Tensor::zeros<std::string>(shape, dims);
  }
  const Packing& rows() const { return rows_; }

  /// Adds the output of a layer [length of the sentence, d], after what follows the last layer. Thread-safe
  /// for different places.
  void read(std::int64_t sentence, std::int64_t layer, InferencePass& pass, Var<float> states) {
    const Matrix<const float> logits = loaded_.model->needed_words().logits(pass, states).value();
    const Ids& ids = tokens_[static_cast<std::size_t>(sentence)];
    for (std::int64_t p = 0; p < logits.rows; ++p) {
      const auto at = static_cast<std::size_t>((sentence * layers_ + layer) * rows_.longest() + p);
      const Verdict verdict =
          read_row({logits.row(p), static_cast<std::size_t>(logits.cols)}, ids[static_cast<std::size_t>(p)]);
      probability_.values<float>()[at] = verdict.probability;
      best_probability_.values<float>()[at] = verdict.best_probability;
      rank_.values<std::int32_t>()[at] = verdict.rank;
      best_piece_.values<std::string>()[at] = vocabulary().piece(verdict.best);
    }
  }

  TensorMap take(std::vector<std::string> labels) {
    Pieces pieces;
    for (const Ids& ids : tokens_) pieces.push_back(vocabulary().pieces(ids));
    probability_.attributes["long_name"] = std::string("probability");
    probability_.attributes["cell_text"] = std::string("best_piece");
    probability_.attributes["interpretation"] = std::string("image");
    TensorMap map;
    map.add("lens/length", lengths_of(rows_));
    map.add("lens/token", token_labels(pieces, "position", rows_.longest()));
    map.add("lens/layer_label", Tensor::of<std::string>(std::move(labels), {layers_}, {"layer"}));
    map.add("lens/rank", std::move(rank_));
    map.add("lens/best_piece", std::move(best_piece_));
    map.add("lens/best_probability", std::move(best_probability_));
    map.add("lens/probability", std::move(probability_));
    map.groups["lens"] = {"probability",
                          "The most likely token at each layer, and the probability of the one produced",
                          {"0", ".", "."},
                          {}};
    return map;
  }

 private:
  const text::Tokenizer& vocabulary() const {
    return loaded_.model->decoder ? loaded_.target : loaded_.source;
  }

  const LoadedModel& loaded_;
  const std::vector<Ids>& tokens_;
  std::int64_t layers_;
  Packing rows_;
  Tensor probability_, best_probability_, rank_, best_piece_;
};

std::vector<std::string> labels_of(std::int64_t layers) {
  std::vector<std::string> labels;
  for (std::int64_t layer = 0; layer < layers; ++layer) labels.push_back(std::to_string(layer));
  return labels;
}

}  // namespace

TensorMap logit_lens(const LoadedModel& loaded, const PackedStates& input, const Results& hypotheses,
                     const std::vector<Ids>& prompts, int threads, Inspection* inspection, bool whole_text) {
  const Model<float>& model = *loaded.model;
  std::vector<Ids> produced;
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    produced.push_back(after_prompt(prompts, s, hypotheses[s].front().ids));
    if (model.reads_as_given && !whole_text) produced.back().erase(produced.back().begin());  // it is given
  }
  const std::int64_t layers = model.needed_decoder().sizes().n_layers + 1;
  Table table(loaded, produced, layers);

  for_each_shard(table.rows().sentences(), threads, [&](SentenceRange range) {
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
        // The last layer's prediction is the model's, including edits.
        const bool last = layer + 1 == layers;
        const Matrix<const float> all =
            last ? given.states.value() : pass.recorded().at(output_of(layer)).matrix();
        InferencePass words(model);  // of its own, as logits are large
        const Var<float> states = words.tape->constant({all.row(given.rows.offset(i)), length, all.cols});
        const Packing row = Packing::uniform(1, length);
        table.read(s, layer, words, last ? states : model.decoder->finish(words, states, row));
      }
    }
  });
  std::vector<std::string> labels = labels_of(layers - 1);
  labels.insert(labels.begin(), "embedded");
  return table.take(std::move(labels));
}

void expect_encoder_lens(const Model<float>& model) {
  if (!model.decoder && model.words) return;
  fail<UsageError>("--lens: the model is of architecture ", model.architecture,
                   " and does not fill in masked words, so its layers predict nothing");
}

TensorMap encoder_lens(const LoadedModel& loaded, const TensorMap& frame, const Packing& rows,
                       const std::vector<Ids>& words, int threads, Values wanted) {
  const Model<float>& model = *loaded.model;
  const Tensor& states = frame.at("encoder/states");  // (sentence, layer, position, dim)
  const std::int64_t layers = model.needed_encoder().sizes().n_layers;
  const Shape& shape = states.shape();
  if (shape[1] != layers)
    fail("/encoder/states: holds ", shape[1], " layers, but --lens shows all ", layers,
         ": encode --all-layers");
  const std::size_t block = static_cast<std::size_t>(shape[2] * shape[3]);
  Table table(loaded, words, layers);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    Tensor one = Tensor::zeros<float>({shape[0], shape[2], shape[3]});
    for (std::int64_t s = 0; s < shape[0]; ++s)
      std::copy_n(states.values<float>().data() + static_cast<std::size_t>(s * layers + layer) * block, block,
                  one.values<float>().data() + static_cast<std::size_t>(s) * block);
    const std::vector<float> values = unpad("encoder/states", one, rows, wanted);
    for_each_shard(shape[0], threads, [&](SentenceRange range) {
      for (const std::int64_t s : range.numbers()) {
        InferencePass pass(model);
        const Packing row = Packing::uniform(1, rows.length(s));
        const Var<float> output =
            pass.tape->constant({values.data() + rows.offset(s) * shape[3], rows.length(s), shape[3]});
        // Runs no layer: only what follows the last one, which has already been applied to it.
        const bool last = layer + 1 == layers;
        table.read(s, layer, pass,
                   last ? output : model.encoder->encode(pass, {output, &row, {}}, layers, layers).states);
      }
    });
  }
  return table.take(labels_of(layers));
}

}  // namespace heed
