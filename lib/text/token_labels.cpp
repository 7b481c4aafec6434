#include "text/token_labels.h"

#include <algorithm>

#include "base/error.h"
#include "text/token_map.h"

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

Pieces shifted_right(Pieces pieces, const text::Tokenizer& tokenizer) {
  for (auto& sentence : pieces) {
    if (sentence.empty()) continue;
    sentence.pop_back();
    sentence.insert(sentence.begin(), tokenizer.piece(tokenizer.special().bos));
  }
  return pieces;
}

}  // namespace heed
