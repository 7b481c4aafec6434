// Subword regularisation: other segmentations of the same text, sampled anew in each epoch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/philox.h"

namespace heed::text {

/// How the pieces of a line are sampled.
struct PieceDraw {
  double bpe_dropout = 0;    ///< for vocabularies that merge
  double unigram_alpha = 0;  ///< for Unigram vocabularies; 0: the most likely pieces
  Random random;
};

/// The rank of the merge of two neighbours, lowest first; none: they do not merge.
using MergeRank = std::function<std::optional<double>(const std::string& left, const std::string& right)>;

/// Merges neighbours, lowest rank first, the leftmost of equal ones, until none fits or all that fit are
/// skipped: before each merge each of them is skipped with this probability (BPE-dropout: Provilkov,
/// Emelianenko, Voita 2020, algorithm 1).
std::vector<std::string> merge_with_dropout(std::vector<std::string> parts, const MergeRank& rank,
                                            double dropout, Random& random);

/// The logarithm of a piece's probability; none: there is no such piece.
using PieceScore = std::function<std::optional<double>(std::string_view piece)>;

/// Samples pieces of `text`, at most `longest` characters each; every single character must be a piece. A
/// segmentation is sampled with the product of its pieces' probabilities to the power alpha (Kudo 2018,
/// section 3.2), by forward filtering and backward sampling over all segmentations.
std::vector<std::string> draw_unigrams(std::string_view text, const PieceScore& score, std::size_t longest,
                                       double alpha, Random& random);

}  // namespace heed::text
