// Other segmentations of the same text, drawn anew in each epoch of a training: subword regularisation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/philox.h"

namespace heed::text {

/// How the pieces of a line are drawn.
struct PieceDraw {
  double bpe_dropout = 0;    ///< of vocabularies that merge
  double unigram_alpha = 0;  ///< of Unigram vocabularies; 0: the likeliest pieces
  Random random;
};

/// The rank of the merge of two neighbours, the least first; none: they do not merge.
using MergeRank = std::function<std::optional<double>(const std::string& left, const std::string& right)>;

/// Merges neighbours, those of the least rank first, the leftmost of equal ones, until none fits or all that fit are left out:
/// before each merge each of them is, with that probability (BPE-dropout: Provilkov, Emelianenko, Voita 2020, algorithm 1).
std::vector<std::string> merge_with_dropout(std::vector<std::string> parts, const MergeRank& rank,
                                            double dropout, Random& random);

/// The logarithm of a piece's probability; none: there is no such piece.
using PieceScore = std::function<std::optional<double>(std::string_view piece)>;

/// Pieces of `text`, which has one for each of its characters, of at most `longest` characters each; those of a segmentation are
/// drawn with the product of their probabilities, to the power alpha (Kudo 2018, section 3.2): by forward filtering and
/// backward sampling over all of them.
std::vector<std::string> draw_unigrams(std::string_view text, const PieceScore& score, std::size_t longest,
                                       double alpha, Random& random);

}  // namespace heed::text
