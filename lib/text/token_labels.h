// The pieces of sentences as labels of axes.
#pragma once

#include <string>
#include <vector>

#include "tensor/packing.h"
#include "tensor/tensor_map.h"
#include "text/tokenizer.h"

namespace heed {

using Pieces = std::vector<std::vector<std::string>>;

/// str (sentence, dim), dim of size `width`, "" after the end of a sentence. Throws Error when one is longer.
Tensor token_labels(const Pieces& pieces, const std::string& dim, std::int64_t width);

/// The pieces of the frame's /tokens; none when it has no /tokens, or lengths other than those of `rows`.
Pieces pieces_of(const TensorMap& frame, const text::Tokenizer& tokenizer, const Packing& rows);

/// The decoder input for these as targets: <s>, then all but the last.
Pieces shifted_right(Pieces pieces, const text::Tokenizer& tokenizer);

}  // namespace heed
