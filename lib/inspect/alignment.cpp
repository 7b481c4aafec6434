#include "inspect/alignment.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/number.h"

namespace heed {

namespace {

/// The block of a layer for a sentence's first translation in weights (sentence, [rank,] layer, head, query,
/// key).
struct Blocks {
  const float* values;
  std::int64_t sentences, ranks, layers, heads, queries, keys;
  bool is_ranked;

  explicit Blocks(const Tensor& weights) {
    const Shape& shape = weights.shape();
    const std::size_t first = shape.size() - 4;
    if ((shape.size() != 5 && shape.size() != 6) || shape[first] < 1 || shape[first + 1] < 1 ||
        (shape.size() == 6 && shape[1] < 1))
      fail("/cross_attention/weights: shape ", to_string(shape),
           ", wanted [sentence, layer, head, query, key] with a layer and a head at least, or a rank before "
           "them");
    expect_float32("/cross_attention/weights", weights.dtype());
    values = weights.values<float>().data();
    sentences = shape[0], ranks = first == 2 ? shape[1] : 1, is_ranked = first == 2;
    layers = shape[first], heads = shape[first + 1], queries = shape[first + 2], keys = shape[first + 3];
  }
  const float* at(std::int64_t sentence, std::int64_t layer) const {
    return values + (sentence * ranks * layers + layer) * heads * queries * keys;
  }
};

/// The key with the largest weight, or sum of weights over the heads [first, last), among the first ones, of
/// which `keys` has the word numbers, below 0 if a key is no word; ties go to the earlier one. None if the
/// query attends to none of them: beyond a window's end, or only at </s>.
std::optional<std::int64_t> strongest_key(const Blocks& blocks, const float* layer, std::int64_t first,
                                          std::int64_t last, std::int64_t query,
                                          const std::vector<std::int32_t>& keys) {
  std::optional<std::int64_t> best;
  float most = 0;
  for (std::int64_t key = 0; key < std::ssize(keys); ++key) {
    if (keys[static_cast<std::size_t>(key)] < 0) continue;
    float sum = 0;
    for (std::int64_t head = first; head < last; ++head)
      sum += layer[(head * blocks.queries + query) * blocks.keys + key];
    if (sum > most) {
      most = sum;
      best = key;
    }
  }
  return best;
}

/// The word number of each piece, without those of an end and what follows it; -1: a mark before the first
/// word, such as the code of a language.
std::vector<std::int32_t> words_of(const text::Tokenizer& tokenizer, const std::vector<std::int32_t>& ids,
                                   const std::vector<std::int32_t>& more_ends) {
  std::vector<std::int32_t> words = tokenizer.word_of(ids);
  const auto is_end = [&](std::int32_t id) {
    return id == tokenizer.special().eos || tokenizer.is_language(id) ||
           std::ranges::count(more_ends, id) > 0;
  };
  while (!words.empty() && is_end(ids[words.size() - 1])) words.pop_back();
  if (!words.empty() && tokenizer.is_mark(ids.front()))
    for (std::int32_t& word : words) --word;
  return words;
}

/// Row s of labels (sentence, [rank,] dim), of rank 0, up to its padding.
std::vector<std::int32_t> labelled_ids(const TensorMap& attention, const std::string& name, std::int64_t s,
                                       const text::Tokenizer& tokenizer) {
  const Tensor& labels = attention.at(name);
  const Shape& shape = labels.shape();
  const std::int64_t width = shape.back(), ranks = shape.size() == 3 ? shape[1] : 1;
  std::vector<std::int32_t> ids;
  for (const std::string& piece : labels.values<std::string>().subspan(
           static_cast<std::size_t>(s * ranks * width), static_cast<std::size_t>(width))) {
    if (piece.empty()) break;
    ids.push_back(tokenizer.vocabulary().id(piece));
  }
  return ids;
}

}  // namespace

WordNumbers word_numbers(const text::Tokenizer& source, const std::vector<std::int32_t>& source_ids,
                         const text::Tokenizer& target, const std::vector<std::int32_t>& target_ids,
                         const std::vector<std::int32_t>& more_ends) {
  return {words_of(source, source_ids, {}), words_of(target, target_ids, more_ends)};
}

std::vector<WordNumbers> word_numbers(const TensorMap& attention, const text::Tokenizer& source,
                                      const text::Tokenizer& target,
                                      const std::vector<std::int32_t>& more_ends) {
  const Blocks blocks(attention.at("cross_attention/weights"));
  const auto expect_labels = [&](const std::string& name, Shape wanted) {
    if (!attention.contains(name))
      fail("/", name, " is missing",
           name.ends_with("key_token") ? ": it is kept of sentences with /tokens" : "");
    const Tensor& labels = attention.at(name);
    if (labels.dtype() != DType::string)
      fail("/", name, ": holds ", name_of(labels.dtype()), ", wanted strings");
    if (blocks.is_ranked && name.ends_with("query_token")) wanted.insert(wanted.begin() + 1, blocks.ranks);
    expect_shape("/" + name, labels.shape(), wanted);
  };
  expect_labels("cross_attention/query_token", {blocks.sentences, blocks.queries});
  expect_labels("cross_attention/key_token", {blocks.sentences, blocks.keys});
  std::vector<WordNumbers> words;
  for (std::int64_t s = 0; s < blocks.sentences; ++s)
    words.push_back(word_numbers(source, labelled_ids(attention, "cross_attention/key_token", s, source),
                                 target, labelled_ids(attention, "cross_attention/query_token", s, target),
                                 more_ends));
  return words;
}

std::vector<std::string> pharaoh_links(const Tensor& weights, std::int64_t layer, std::int64_t head,
                                       const std::vector<WordNumbers>& words) {
  const Blocks blocks(weights);
  if (blocks.sentences != std::ssize(words))
    fail("/cross_attention/weights: of ", blocks.sentences, " sentences, wanted ", words.size());
  if (layer < 0 || layer >= blocks.layers)
    fail<UsageError>("--align-layer is ", layer, ", but the decoder has layers 0 to ", blocks.layers - 1);
  if (head >= blocks.heads)
    fail<UsageError>("--align-head is ", head, ", but the decoder has heads 0 to ", blocks.heads - 1);
  const std::int64_t first = head < 0 ? 0 : head, last = head < 0 ? blocks.heads : head + 1;
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < words.size(); ++s) {
    const float* block = blocks.at(static_cast<std::int64_t>(s), layer);
    std::set<std::pair<std::int32_t, std::int32_t>> links;
    for (std::size_t query = 0; query < words[s].target.size(); ++query) {
      if (words[s].target[query] < 0) continue;
      if (const auto key =
              strongest_key(blocks, block, first, last, static_cast<std::int64_t>(query), words[s].source))
        links.emplace(words[s].source[static_cast<std::size_t>(*key)], words[s].target[query]);
    }
    std::string line;
    for (const auto& [source, target] : links) line += concat(line.empty() ? "" : " ", source, "-", target);
    lines.push_back(std::move(line));
  }
  return lines;
}

HeadChoice head_choice(std::int64_t layer, const std::string& head, const std::string& gold) {
  if (layer < -1) fail<UsageError>("--align-layer is ", layer, ", wanted a layer from 0 on, or -1");
  HeadChoice choice{layer, -1, gold};
  if ((head == "best") != !gold.empty())
    fail<UsageError>(
        "--align-head best and --align-gold FILE belong together: the best head is the one nearest to the "
        "gold links");
  if (head == "best" || head == "mean") return choice;
  if (!parse(head, choice.head) || choice.head < 0)
    fail<UsageError>("--align-head is '", escaped(head), "', wanted mean, best, or a head from 0 on");
  return choice;
}

Aligner::Aligner(const HeadChoice& choice, io::TextWriter& lines) : choice_(choice), lines_(lines) {
  if (!choice.gold.empty()) gold_.emplace(choice.gold);
}

void Aligner::add(const Tensor& weights, const std::vector<WordNumbers>& words) {
  if (gold_) return compare(weights, words);
  const std::int64_t layers = Blocks(weights).layers;
  const std::int64_t layer = choice_.layer >= 0 ? choice_.layer : std::max<std::int64_t>(layers - 2, 0);
  for (const std::string& line : pharaoh_links(weights, layer, choice_.head, words))
    lines_.write(line + "\n");
}

void Aligner::compare(const Tensor& weights, const std::vector<WordNumbers>& words) {
  const Blocks blocks(weights);
  if (candidates_.empty()) {
    for (std::int64_t layer = 0; layer < blocks.layers; ++layer) {
      for (std::int64_t head = 0; head < blocks.heads && (choice_.layer < 0 || choice_.layer == layer);
           ++head)
        candidates_.push_back({layer, head, {}, {}});
    }
    if (candidates_.empty())
      fail<UsageError>("--align-layer is ", choice_.layer, ", but the decoder has layers 0 to ",
                       blocks.layers - 1);
  }
  std::vector<text::Links> gold;
  for (std::string line; gold.size() < words.size();) {
    if (!gold_->next(line))
      fail(escaped(gold_->name()), ": has ", gold_->line_number(), " lines, the input has more sentences");
    gold.push_back(text::parse_links(line, concat(escaped(gold_->name()), ":", gold_->line_number())));
  }
  for (Candidate& candidate : candidates_) {
    const auto lines = pharaoh_links(weights, candidate.layer, candidate.head, words);
    for (std::size_t s = 0; s < lines.size(); ++s) {
      candidate.lines += lines[s] + "\n";
      candidate.error.add(text::parse_links(lines[s], "links"), gold[s]);
    }
  }
}

void Aligner::finish() {
  if (!gold_) return;
  if (std::string line; gold_->next(line))
    fail(escaped(gold_->name()), ": has more lines than the input has sentences");
  if (candidates_.empty()) return;
  const auto error_of = [](const Candidate& one) { return one.error.empty() ? 0 : one.error.score().error; };
  const Candidate& best =
      *std::min_element(candidates_.begin(), candidates_.end(),
                        [&](const Candidate& a, const Candidate& b) { return error_of(a) < error_of(b); });
  logging::note(concat("layer ", best.layer, ", head ", best.head, " is nearest to the gold links: AER ",
                       fixed(error_of(best), 2), " %"));
  lines_.write(best.lines);
}

}  // namespace heed
