// BLEU of a model on the validation text: greedy translations, detokenised, against the lines of the file as
// they are (no tokenisation by the score).
#pragma once

#include "models/model.h"
#include "text/tokenizer.h"
#include "train/corpus.h"
#include "train/trainer.h"

namespace heed {

/// Everything referred to must outlive the scorer. The ranks share out the text.
BleuScorer make_bleu_scorer(const Model<float>& model, const Corpus& validation,
                            const text::Tokenizer& target, int threads, Exchange& exchange = alone());

}  // namespace heed
