// BLEU of a model on the validation text: greedy translations, detokenised, against the unchanged lines of
// the file (the score does not tokenize them).
#pragma once

#include "models/model.h"
#include "text/tokenizer.h"
#include "train/corpus.h"
#include "train/trainer.h"

namespace heed {

/// All arguments must outlive the scorer. The ranks divide the text. Translations begin with target.first(),
/// as those of decode do.
BleuScorer make_bleu_scorer(const Model<float>& model, const Corpus& validation,
                            const text::Tokenizer& target, int threads, Exchange& exchange = alone());

}  // namespace heed
