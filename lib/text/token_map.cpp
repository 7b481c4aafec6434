#include "text/token_map.h"

#include <algorithm>
#include <utility>

#include "base/sentence_error.h"

namespace heed::text {
namespace {

/// Checks `length` and the ids of row `row`, and returns those before the padding.
std::vector<std::int32_t> row_ids(const std::string& path, std::span<const std::int32_t> row,
                                  std::int64_t number, std::int32_t length, const Tokenizer& tokenizer) {
  if (length < 0 || std::cmp_greater(length, row.size())) {
    throw SentenceError(number, concat("/", path, ": its length ", length, " does not fit the ", row.size(),
                                       " positions that there are"));
  }
  std::vector<std::int32_t> ids(row.begin(), row.begin() + length);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= tokenizer.size()) {
      throw SentenceError(
          number, concat("/", path, " is ", ids[i], " at position ", i, " (from 0), wanted an id below ",
                         tokenizer.size(), ": was it made with another vocabulary?"));
    }
  }
  return ids;
}

}  // namespace

TensorMap token_map(const std::vector<Sentence>& sentences, const Tokenizer& tokenizer,
                    const std::string& side) {
  const std::size_t count = sentences.size();
  std::size_t width = 0;
  for (const Sentence& sentence : sentences) width = std::max(width, sentence.ids.size());
  std::vector<std::int32_t> ids(count * width, std::max(tokenizer.special().pad, 0)), lengths;
  std::vector<std::string> texts, pieces(count * width);
  std::vector<std::int32_t> types(count * width);
  bool typed = false;
  for (std::size_t s = 0; s < count; ++s) {
    std::copy(sentences[s].ids.begin(), sentences[s].ids.end(),
              ids.begin() + static_cast<std::ptrdiff_t>(s * width));
    lengths.push_back(static_cast<std::int32_t>(sentences[s].ids.size()));
    texts.push_back(sentences[s].text);
    std::ranges::copy(tokenizer.pieces(sentences[s].ids),
                      pieces.begin() + static_cast<std::ptrdiff_t>(s * width));
    std::ranges::copy(sentences[s].types, types.begin() + static_cast<std::ptrdiff_t>(s * width));
    typed = typed || !sentences[s].types.empty();
  }
  const auto n = static_cast<std::int64_t>(count);
  TensorMap map;
  map.add("tokens/ids", Tensor::of<std::int32_t>(std::move(ids), {n, static_cast<std::int64_t>(width)},
                                                 {"sentence", "position"}));
  map.add("tokens/piece", Tensor::of<std::string>(std::move(pieces), {n, static_cast<std::int64_t>(width)},
                                                  {"sentence", "position"}));
  map.add("tokens/length", Tensor::of<std::int32_t>(std::move(lengths), {n}, {"sentence"}));
  if (typed)
    map.add("tokens/types", Tensor::of<std::int32_t>(std::move(types), {n, static_cast<std::int64_t>(width)},
                                                     {"sentence", "position"}));
  map.add("tokens/text", Tensor::of<std::string>(std::move(texts), {n}, {"sentence"}));
  Group& group = map.groups["tokens"];
  group.signal = "ids";
  group.title = "Piece ids of the " + side + " sentences";
  group.attributes["side"] = side;
  map.attributes["vocabulary_digest"] = tokenizer.digest();
  return map;
}

std::vector<std::vector<std::int32_t>> sentence_ids(const TensorMap& map, const Tokenizer& tokenizer) {
  const bool hypotheses = map.contains("hypotheses/ids");
  const std::string group = hypotheses ? "hypotheses" : "tokens";
  const Tensor& ids = map.at(group + "/ids");
  const Tensor& length = map.at(group + "/length");
  expect_shape("/" + group + "/ids", ids.shape(), hypotheses ? Shape{-1, -1, -1} : Shape{-1, -1});
  const std::int64_t n = ids.shape().front(), width = ids.shape().back();
  const std::int64_t ranks = hypotheses ? ids.shape()[1] : 1;
  expect_shape("/" + group + "/length", length.shape(), hypotheses ? Shape{n, ranks} : Shape{n});
  if (ranks == 0) fail("/", group, "/ids: no rank to read");
  auto values = ids.values<std::int32_t>();
  auto lengths = length.values<std::int32_t>();
  std::vector<std::vector<std::int32_t>> sentences;
  for (std::int64_t s = 0; s < n; ++s) {
    auto row = values.subspan(static_cast<std::size_t>(s * ranks * width), static_cast<std::size_t>(width));
    sentences.push_back(
        row_ids(group + "/ids", row, s, lengths[static_cast<std::size_t>(s * ranks)], tokenizer));
  }
  return sentences;
}

}  // namespace heed::text

namespace heed {

Tensor token_labels(const Pieces& pieces, const std::string& dim, std::int64_t width) {
  Tensor tensor =
      Tensor::zeros<std::string>({static_cast<std::int64_t>(pieces.size()), width}, {"sentence", dim});
  auto row = tensor.values<std::string>().begin();
  for (const auto& sentence : pieces) {
    if (static_cast<std::int64_t>(sentence.size()) > width) {
      fail("/tokens: a sentence has ", sentence.size(), " tokens, but there are ", width, " ", dim,
           " positions: do the tokens belong to these embeddings?");
    }
    std::copy(sentence.begin(), sentence.end(), row);
    row += width;
  }
  return tensor;
}

Pieces pieces_of(const TensorMap& frame, const text::Tokenizer& tokenizer, const Packing& rows) {
  Pieces pieces;
  if (!frame.contains("tokens/ids")) return pieces;
  for (const auto& ids : text::sentence_ids(frame, tokenizer)) pieces.push_back(tokenizer.pieces(ids));
  Packing packed;
  for (const auto& sentence : pieces) packed.append(static_cast<std::int64_t>(sentence.size()));
  return packed == rows ? pieces : Pieces{};
}

Pieces pieces_read(Pieces pieces, const text::Tokenizer& tokenizer, bool as_given) {
  if (as_given || tokenizer.special().bos == SpecialIds::kAbsent) return pieces;
  for (auto& sentence : pieces) {
    if (sentence.empty()) continue;
    sentence.pop_back();
    sentence.insert(sentence.begin(), tokenizer.piece(tokenizer.special().bos));
  }
  return pieces;
}

}  // namespace heed
