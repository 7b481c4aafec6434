#include "stages/results.h"

#include <algorithm>

#include "base/error.h"
#include "base/number.h"
#include "tensor/padding.h"
#include "text/unicode.h"

namespace heed {

namespace {

std::int64_t most_ranks(const Results& hypotheses) {
  std::size_t most = 1;
  for (const auto& list : hypotheses) most = std::max(most, list.size());
  return static_cast<std::int64_t>(most);
}

/// Calls use(sentence, rank, hypothesis) for all.
template <class Use>
void for_each(const Results& hypotheses, Use&& use) {
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    for (std::size_t r = 0; r < hypotheses[s].size(); ++r) use(s, r, hypotheses[s][r]);
  }
}

}  // namespace

Ranked::Ranked(const Results& hypotheses, bool has_rank)
    : sentences(static_cast<std::int64_t>(hypotheses.size())),
      ranks(most_ranks(hypotheses)),
      has_rank(has_rank) {}

Ids after_prompt(const std::vector<Ids>& prompts, std::size_t sentence, const Ids& ids) {
  Ids all = prompts.empty() ? Ids{} : prompts[sentence];
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

namespace {

std::string text_of(const std::vector<Ids>& prompts, std::size_t sentence, const Hypothesis& h,
                    const text::Tokenizer& tokenizer) {
  Ids ids = after_prompt(prompts, sentence, h.ids);
  if (h.ends_otherwise) ids.pop_back();
  return tokenizer.decode(ids);
}

}  // namespace

std::string translated_text(const Results& hypotheses, const std::vector<Ids>& prompts,
                            std::int64_t first_sentence, bool n_best, const text::Tokenizer& tokenizer) {
  std::string out;
  for_each(hypotheses, [&](std::size_t s, std::size_t, const Hypothesis& h) {
    const std::string text = text::one_line(text_of(prompts, s, h, tokenizer));
    const auto sentence = first_sentence + static_cast<std::int64_t>(s);
    out += n_best ? concat(sentence, " ||| ", text, " ||| ", fixed(h.score, 6)) : text;
    out += "\n";
  });
  return out;
}

std::string scored_text(const Results& hypotheses, const text::Tokenizer& tokenizer) {
  std::string out;
  for (const auto& list : hypotheses) {
    const Hypothesis& h = list.front();
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < h.ids.size(); ++i)
      pieces.push_back(tokenizer.piece(h.ids[i]) + ":" + fixed(h.token_log_probability[i], 6));
    out += fixed(h.score, 6) + "\t" + joined(pieces, " ") + "\n";
  }
  return out;
}

TensorMap hypothesis_map(const Results& hypotheses, const std::vector<Ids>& prompts,
                         const text::Tokenizer& tokenizer) {
  const Ranked ranked(hypotheses, true);
  std::size_t longest = 1;
  for_each(hypotheses, [&](auto, auto, const Hypothesis& h) { longest = std::max(longest, h.ids.size()); });
  const Shape shape{ranked.sentences, ranked.ranks},
      long_shape{ranked.sentences, ranked.ranks, static_cast<std::int64_t>(longest)};
  const std::vector<std::string> dims{"sentence", "rank"}, long_dims{"sentence", "rank", "position"};
  Tensor score = Tensor::zeros<float>(shape, dims), length = Tensor::zeros<std::int32_t>(shape, dims),
         finished = Tensor::zeros<std::uint8_t>(shape, dims), text = Tensor::zeros<std::string>(shape, dims),
         ids = Tensor::zeros<std::int32_t>(long_shape, long_dims),
         token = Tensor::zeros<std::string>(long_shape, long_dims),
         log_probability = Tensor::zeros<float>(long_shape, long_dims);
  finished.attributes["dtype"] = std::string("bool");
  for_each(hypotheses, [&](std::size_t s, std::size_t r, const Hypothesis& h) {
    const auto sentence = static_cast<std::int64_t>(s), rank = static_cast<std::int64_t>(r);
    const std::size_t at = s * static_cast<std::size_t>(ranked.ranks) + r;
    score.values<float>()[at] = static_cast<float>(h.score);
    length.values<std::int32_t>()[at] = static_cast<std::int32_t>(h.ids.size());
    finished.values<std::uint8_t>()[at] = h.finished;
    text.values<std::string>()[at] = text::without_nul(text_of(prompts, s, h, tokenizer));
    std::ranges::copy(h.ids, matrix_at<std::int32_t>(ids, {sentence}).row(rank));
    std::ranges::copy(tokenizer.pieces(h.ids),
                      token.values<std::string>().begin() + static_cast<std::ptrdiff_t>(at * longest));
    std::ranges::copy(h.token_log_probability, matrix_at<float>(log_probability, {sentence}).row(rank));
  });
  TensorMap map;
  map.add("hypotheses/score", std::move(score));
  map.add("hypotheses/ids", std::move(ids));
  map.add("hypotheses/token", std::move(token));
  map.add("hypotheses/length", std::move(length));
  map.add("hypotheses/finished", std::move(finished));
  map.add("hypotheses/token_logprob", std::move(log_probability));
  map.add("hypotheses/text", std::move(text));
  map.groups["hypotheses"] = {"score", "Translations", {}, {}};
  return map;
}

void add_attention(TensorMap& map, const std::string& name, const std::string& kind, const std::string& title,
                   Tensor weights, Tensor query_length, Tensor key_length) {
  weights.attributes["long_name"] = std::string("attention weight");
  weights.attributes["kind"] = kind;
  weights.attributes["interpretation"] = std::string("image");
  std::vector<std::string> slice(weights.shape().size() - 2, "0");
  slice.insert(slice.end(), {".", "."});
  map.add(name + "/weights", std::move(weights));
  map.add(name + "/query_length", std::move(query_length));
  map.add(name + "/key_length", std::move(key_length));
  map.groups[name] = {"weights", title, slice, {}};
}

void label_decoder_attention(TensorMap& attention, const Results& hypotheses, bool has_rank,
                             const std::vector<Ids>& prompts, const std::vector<Ids>& source,
                             const LoadedModel& loaded, bool whole_text) {
  const bool as_given = loaded.model->reads_as_given;
  const Ranked ranked(hypotheses, has_rank);
  Pieces produced, read, places;  // of all hypotheses, one after the other
  for_each(hypotheses, [&](std::size_t s, std::size_t, const Hypothesis& h) {
    Ids ids = after_prompt(prompts, s, h.ids);
    // A decoder alone that reads text as it is: the labels are what it reads.
    if (as_given && whole_text) ids = source[s];
    if (as_given) ids.pop_back();
    produced.push_back(loaded.target.pieces(ids));
  });
  read = pieces_read(produced, loaded.target, as_given);
  std::size_t longest = 1;
  for (const auto& pieces : produced) longest = std::max(longest, pieces.size());
  auto labels = [&](const Pieces& pieces, const std::string& dim) {
    const auto width = static_cast<std::int64_t>(longest);
    Tensor tensor = ranked.zeros<std::string>({width}, {dim});
    std::size_t next = 0;
    for_each(hypotheses, [&](std::size_t s, std::size_t r, const Hypothesis&) {
      const auto row = (static_cast<std::int64_t>(s) * ranked.ranks + static_cast<std::int64_t>(r)) * width;
      std::ranges::copy(pieces[next++], tensor.values<std::string>().begin() + row);
    });
    return tensor;
  };
  const bool crosses = attention.contains("cross_attention/weights");
  if (crosses) attention.add("cross_attention/query_token", labels(produced, "query"));
  if (attention.contains("self_attention/weights")) {
    attention.add("self_attention/query_token", labels(produced, "query"));
    attention.add("self_attention/key_token", labels(read, "key"));
  }
  if (!crosses || source.empty()) return;
  Pieces keys;
  std::size_t most = 1;
  for (const auto& ids : source) {
    keys.push_back(loaded.source.pieces(ids));
    most = std::max(most, ids.size());
  }
  attention.add("cross_attention/key_token", token_labels(keys, "key", static_cast<std::int64_t>(most)));
}

}  // namespace heed
