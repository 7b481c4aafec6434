#include "stages/predict.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "base/number.h"
#include "models/shards.h"
#include "tensor/kernels.h"

namespace heed {

namespace {

/// The `count` likeliest columns of a row.
Prediction likeliest(Matrix<const float> logits, std::int64_t row, std::int64_t count) {
  Prediction p;
  p.ids.resize(static_cast<std::size_t>(count));
  p.log_probability.resize(p.ids.size());
  log_softmax_top_k<float>(logits.row_range(row, 1), count, {p.log_probability.data(), 1, count},
                           {p.ids.data(), 1, count});
  return p;
}

/// The `count` likeliest words that a mask may hide: no special piece but unk, and no row that is no piece.
Prediction likeliest_words(Matrix<const float> logits, std::int64_t row, std::int64_t count,
                           std::int64_t position, const SpecialIds& special) {
  const std::int64_t unused = std::max<std::int64_t>(logits.cols - special.first_unused, 0),
                     more = std::ssize(kSpecialNames) + unused;
  const Prediction all = likeliest(logits, row, std::min(count + more, logits.cols));
  Prediction words{position, {}, {}};
  for (std::size_t i = 0; i < all.ids.size() && std::ssize(words.ids) < count; ++i) {
    if (all.ids[i] != special.unk && special.contains(all.ids[i])) continue;
    if (all.ids[i] >= special.first_unused) continue;
    words.ids.push_back(all.ids[i]);
    words.log_probability.push_back(all.log_probability[i]);
  }
  return words;
}

}  // namespace

std::vector<std::vector<Prediction>> predict(const LoadedModel& loaded, const PackedStates& memory,
                                             const std::vector<std::vector<std::int32_t>>& tokens,
                                             std::int64_t n_best, int threads, Inspection* inspection) {
  const Model<float>& model = *loaded.model;
  const std::int64_t choices = model.classes ? model.n_classes : model.encoder->sizes().vocab_size;
  const std::int64_t count = std::min(n_best > 0 ? n_best : model.classes ? choices : 1, choices);
  const std::int32_t mask = loaded.source.special().mask;
  std::vector<std::vector<Prediction>> result(static_cast<std::size_t>(memory.rows.sentences()));
  for_each_shard(memory.rows.sentences(), threads, [&](SentenceRange range) {
    InspectedPass pass(model, inspection, range.numbers());
    const Selection shard(memory, range.numbers());
    const Encoded<float> encoded = shard.on(pass);
    if (model.classes) {
      const Matrix<const float> logits = model.classes->logits(pass, encoded.states, *encoded.rows).value();
      for (std::int64_t s = 0; s < range.count; ++s)
        result[static_cast<std::size_t>(range.first + s)] = {likeliest(logits, s, count)};
      pass.keep();
      return;
    }
    std::vector<RowOf> rows;
    std::vector<Place> places;
    for (std::int64_t s = 0; s < range.count; ++s) {
      const auto& ids = tokens[static_cast<std::size_t>(range.first + s)];
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] != mask) continue;
        places.push_back({range.first + s, static_cast<std::int64_t>(i)});
        rows.push_back({0, encoded.rows->offset(s) + static_cast<std::int64_t>(i)});
      }
    }
    if (rows.empty()) return;
    const Var<float> states = select_rows<float>({encoded.states}, rows);
    const Matrix<const float> logits = model.needed_words().logits(pass, states).value();
    for (std::size_t i = 0; i < places.size(); ++i)
      result[static_cast<std::size_t>(places[i].sentence)].push_back(likeliest_words(
          logits, static_cast<std::int64_t>(i), count, places[i].position, loaded.source.special()));
  });
  return result;
}

std::string prediction_text(const LoadedModel& loaded,
                            const std::vector<std::vector<Prediction>>& predictions,
                            const std::vector<std::vector<std::int32_t>>& tokens, std::int64_t n_best,
                            std::int64_t first_sentence) {
  std::string out;
  for (std::size_t s = 0; s < predictions.size(); ++s) {
    if (loaded.model->classes) {
      const Prediction& p = predictions[s].front();
      for (std::size_t i = 0; i < p.ids.size(); ++i)
        out += concat(i ? "\t" : "", loaded.classes[static_cast<std::size_t>(p.ids[i])], "\t",
                      fixed(std::exp(static_cast<double>(p.log_probability[i])), 6));
      out += "\n";
    } else if (n_best > 1) {
      for (const Prediction& p : predictions[s]) {
        for (std::size_t i = 0; i < p.ids.size(); ++i)
          out += concat(first_sentence + static_cast<std::int64_t>(s), " ||| ", p.position, " ||| ",
                        loaded.source.piece(p.ids[i]), " ||| ",
                        fixed(static_cast<double>(p.log_probability[i]), 6), "\n");
      }
    } else {
      std::vector<std::int32_t> filled = tokens[s];
      for (const Prediction& p : predictions[s]) filled[static_cast<std::size_t>(p.position)] = p.ids.front();
      out += loaded.source.decode(filled) + "\n";
    }
  }
  return out;
}

TensorMap prediction_map(const LoadedModel& loaded, const std::vector<std::vector<Prediction>>& predictions) {
  const bool classes = loaded.model->classes.has_value();
  std::int64_t masks = 1, ranks = 1;
  for (const auto& list : predictions) {
    masks = std::max(masks, static_cast<std::int64_t>(list.size()));
    for (const Prediction& p : list) ranks = std::max(ranks, static_cast<std::int64_t>(p.ids.size()));
  }
  const auto sentences = static_cast<std::int64_t>(predictions.size());
  Shape shape{sentences, masks, ranks};
  std::vector<std::string> dims{"sentence", "mask", "rank"};
  if (classes) {
    shape.erase(shape.begin() + 1);
    dims.erase(dims.begin() + 1);
  }
  Tensor ids = Tensor::zeros<std::int32_t>(shape, dims), log_probability = Tensor::zeros<float>(shape, dims),
         names = Tensor::zeros<std::string>(shape, dims),
         position = Tensor::zeros<std::int32_t>({sentences, masks}, {"sentence", "mask"}),
         count = Tensor::zeros<std::int32_t>({sentences}, {"sentence"});
  std::fill(ids.values<std::int32_t>().begin(), ids.values<std::int32_t>().end(), -1);
  for (std::size_t s = 0; s < predictions.size(); ++s) {
    count.values<std::int32_t>()[s] = static_cast<std::int32_t>(predictions[s].size());
    for (std::size_t m = 0; m < predictions[s].size(); ++m) {
      const Prediction& p = predictions[s][m];
      const std::size_t at = s * static_cast<std::size_t>(masks) + m;
      position.values<std::int32_t>()[at] = static_cast<std::int32_t>(p.position);
      for (std::size_t r = 0; r < p.ids.size(); ++r) {
        const std::size_t i = at * static_cast<std::size_t>(ranks) + r;
        ids.values<std::int32_t>()[i] = p.ids[r];
        log_probability.values<float>()[i] = p.log_probability[r];
        names.values<std::string>()[i] =
            classes ? loaded.classes[static_cast<std::size_t>(p.ids[r])] : loaded.source.piece(p.ids[r]);
      }
    }
  }
  TensorMap map;
  map.add("predictions/ids", std::move(ids));
  map.add(classes ? "predictions/class" : "predictions/piece", std::move(names));
  if (!classes) {
    map.add("predictions/position", std::move(position));
    map.add("predictions/masks", std::move(count));
  }
  map.add("predictions/log_probability", std::move(log_probability));
  map.groups["predictions"] = {"log_probability", classes ? "Classes" : "Words that masks hide", {}, {}};
  return map;
}

}  // namespace heed
