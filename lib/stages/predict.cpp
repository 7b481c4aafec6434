#include "stages/predict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "base/number.h"
#include "models/shards.h"
#include "stages/results.h"
#include "tensor/kernels.h"
#include "tensor/padding.h"

namespace heed {

namespace {

/// The `count` likeliest columns of a row.
Prediction likeliest(Matrix<const float> logits, std::int64_t row, std::int64_t count) {
  Prediction p;
  p.ids.resize(static_cast<std::size_t>(count));
  p.score.resize(p.ids.size());
  log_softmax_top_k<float>(logits.row_range(row, 1), count, {p.score.data(), 1, count},
                           {p.ids.data(), 1, count});
  return p;
}

/// Independent classes: the `count` with the largest probability sigmoid(x); for a regression the first
/// `count` numbers.
Prediction by_itself(Matrix<const float> logits, std::int64_t row, std::int64_t count, ProblemType problem) {
  Prediction p;
  p.ids.resize(static_cast<std::size_t>(logits.cols));
  std::iota(p.ids.begin(), p.ids.end(), 0);
  if (problem == ProblemType::multi_label)
    std::ranges::stable_sort(p.ids, std::greater(), [&](std::int32_t c) { return logits(row, c); });
  p.ids.resize(static_cast<std::size_t>(count));
  for (const std::int32_t c : p.ids) {
    const float x = logits(row, c);
    if (problem == ProblemType::regression)
      p.score.push_back(x);
    else
      p.score.push_back(std::min(x, 0.0F) - std::log1p(std::exp(-std::abs(x))));
  }
  return p;
}

/// The `count` most likely words for a mask: no special piece except unk, and no row without a piece.
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
    words.score.push_back(all.score[i]);
  }
  return words;
}

/// The weights of a document's words and of its sentences, for all documents of a frame.
class DocumentAttention {
 public:
  explicit DocumentAttention(const PackedStates& memory)
      : documents_(memory.rows.sentences()),
        words_(memory.rows),
        sentences_(memory.segments->of_sentence),
        of_words_(weights(sentences_.longest(), words_.longest())),
        of_sentences_(weights(1, sentences_.longest())) {}

  static bool wants(const std::string& name) {
    return name == "word_attention/weights" || name == "sentence_attention/weights";
  }
  /// Thread-safe for documents that do not overlap.
  void keep(const Recording<float>& recording, SentenceRange range) {
    for (std::int64_t s = 0; s < range.count; ++s) {
      copy_rows(recording.at("word_attention/weights").block(s, 0),
                matrix_at<float>(of_words_, {range.first + s}));
      copy_rows(recording.at("sentence_attention/weights").block(s, 0),
                matrix_at<float>(of_sentences_, {range.first + s}));
    }
  }
  TensorMap take() {
    TensorMap map;
    Tensor one = Tensor::zeros<std::int32_t>({documents_}, {"sentence"});
    std::ranges::fill(one.values<std::int32_t>(), 1);
    add_attention(map, "word_attention", "words", "Attention of each sentence to its words",
                  std::move(of_words_), lengths_of(sentences_), lengths_of(words_));
    add_attention(map, "sentence_attention", "sentences", "Attention of the document to its sentences",
                  std::move(of_sentences_), std::move(one), lengths_of(sentences_));
    return map;
  }

 private:
  Tensor weights(std::int64_t queries, std::int64_t keys) const {
    return Tensor::zeros<float>({documents_, 1, 1, queries, keys},
                                {"sentence", "layer", "head", "query", "key"});
  }

  std::int64_t documents_;
  const Packing &words_, &sentences_;
  Tensor of_words_, of_sentences_;
};

}  // namespace

std::vector<std::vector<Prediction>> predict(const LoadedModel& loaded, const PackedStates& memory,
                                             const std::vector<std::vector<std::int32_t>>& tokens,
                                             std::int64_t n_best, int threads, Inspection* inspection,
                                             TensorMap* attention) {
  const Model<float>& model = *loaded.model;
  const std::int64_t choices = model.classes ? model.n_classes : model.encoder->sizes().vocab_size;
  const std::int64_t count = std::min(n_best > 0 ? n_best : model.classes ? choices : 1, choices);
  const std::int32_t mask = loaded.source.special().mask;
  std::vector<std::vector<Prediction>> result(static_cast<std::size_t>(memory.rows.sentences()));
  std::optional<DocumentAttention> kept;
  if (attention) kept.emplace(memory);
  for_each_shard(memory.rows.sentences(), threads, [&](SentenceRange range) {
    InspectedPass pass(model, inspection, range.numbers(),
                       kept ? &DocumentAttention::wants : Recording<float>::Wanted());
    const Selection shard(memory, range.numbers());
    const Encoded<float> encoded = shard.on(pass);
    if (model.classes) {
      const Matrix<const float> logits = model.class_logits(pass, encoded).value();
      const ProblemType problem = model.classes->problem;
      for (std::int64_t s = 0; s < range.count; ++s) {
        std::vector<Prediction>& own = result[static_cast<std::size_t>(range.first + s)];
        if (!model.classes->of_tokens()) {
          own = {problem == ProblemType::single_label ? likeliest(logits, s, count)
                                                      : by_itself(logits, s, count, problem)};
          continue;
        }
        for (std::int64_t i = 0; i < encoded.rows->length(s); ++i) {
          own.push_back(likeliest(logits, encoded.rows->offset(s) + i, count));
          own.back().position = i;
        }
      }
      if (kept) kept->keep(pass.recorded(), range);
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
  if (attention) *attention = kept->take();
  return result;
}

namespace {

/// The labels of a sentence's words. Special pieces have none, except those that represent text.
std::string word_labels(const LoadedModel& loaded, const std::vector<Prediction>& predictions,
                        const std::vector<std::int32_t>& ids) {
  const SpecialIds& special = loaded.source.special();
  const std::vector<std::int32_t> words = loaded.source.word_of(ids);
  std::vector<std::string> labels;
  std::int32_t last = -1;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_text = ids[i] == special.unk || ids[i] == special.mask || !special.contains(ids[i]);
    if (!is_text || std::exchange(last, words[i]) == words[i]) continue;
    labels.push_back(loaded.classes[static_cast<std::size_t>(predictions[i].ids.front())]);
  }
  return joined(labels, "\t") + "\n";
}

/// A line for each piece of a sentence, or for each of its masks, with the most likely results.
std::string ranked_text(const LoadedModel& loaded, const std::vector<Prediction>& predictions,
                        const std::vector<std::int32_t>& tokens, std::int64_t sentence) {
  std::string out;
  for (const Prediction& p : predictions) {
    for (std::size_t i = 0; i < p.ids.size(); ++i) {
      const std::string what = loaded.model->classes
                                   ? concat(loaded.source.piece(tokens[static_cast<std::size_t>(p.position)]),
                                            " ||| ", loaded.classes[static_cast<std::size_t>(p.ids[i])])
                                   : loaded.source.piece(p.ids[i]);
      out += concat(sentence, " ||| ", p.position, " ||| ", what, " ||| ",
                    fixed(static_cast<double>(p.score[i]), 6), "\n");
    }
  }
  return out;
}

}  // namespace

std::string prediction_text(const LoadedModel& loaded,
                            const std::vector<std::vector<Prediction>>& predictions,
                            const std::vector<std::vector<std::int32_t>>& tokens, std::int64_t n_best,
                            std::int64_t first_sentence) {
  std::string out;
  for (std::size_t s = 0; s < predictions.size(); ++s) {
    const std::optional<ClassesHead>& head = loaded.model->classes;
    if (head && !head->of_tokens()) {
      const Prediction& p = predictions[s].front();
      for (std::size_t i = 0; i < p.ids.size(); ++i) {
        const auto score = static_cast<double>(p.score[i]);
        out += concat(i ? "\t" : "", loaded.classes[static_cast<std::size_t>(p.ids[i])], "\t",
                      fixed(head->problem == ProblemType::regression ? score : std::exp(score), 6));
      }
      out += "\n";
    } else if (n_best > 1) {
      out += ranked_text(loaded, predictions[s], tokens[s], first_sentence + static_cast<std::int64_t>(s));
    } else if (head) {
      out += word_labels(loaded, predictions[s], tokens[s]);
    } else {
      std::vector<std::int32_t> filled = tokens[s];
      for (const Prediction& p : predictions[s]) filled[static_cast<std::size_t>(p.position)] = p.ids.front();
      out += loaded.source.decode(filled) + "\n";
    }
  }
  return out;
}

TensorMap prediction_map(const LoadedModel& loaded, const std::vector<std::vector<Prediction>>& predictions) {
  const bool classes = loaded.model->classes.has_value(),
             of_tokens = classes && loaded.model->classes->of_tokens(),
             numbers = classes && loaded.model->classes->problem == ProblemType::regression;
  std::int64_t masks = 1, ranks = 1;
  for (const auto& list : predictions) {
    masks = std::max(masks, static_cast<std::int64_t>(list.size()));
    for (const Prediction& p : list) ranks = std::max(ranks, static_cast<std::int64_t>(p.ids.size()));
  }
  const auto sentences = static_cast<std::int64_t>(predictions.size());
  Shape shape{sentences, masks, ranks};
  std::vector<std::string> dims{"sentence", of_tokens ? "position" : "mask", "rank"};
  if (classes && !of_tokens) {
    shape.erase(shape.begin() + 1);
    dims.erase(dims.begin() + 1);
  }
  Tensor ids = Tensor::zeros<std::int32_t>(shape, dims), scores = Tensor::zeros<float>(shape, dims),
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
        scores.values<float>()[i] = p.score[r];
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
  if (of_tokens) map.add("predictions/length", std::move(count));
  const std::string name = numbers ? "value" : "log_probability";
  map.add("predictions/" + name, std::move(scores));
  map.groups["predictions"] = {name, classes ? "Classes" : "Words that masks hide", {}, {}};
  return map;
}

}  // namespace heed
