// The list of families. To add one: a line here, a line in families.cpp, and a file of its own.
#pragma once

#include "models/foreign/family.h"

namespace heed::foreign {

extern const Family kBert;        ///< bert.cpp: BERT, RoBERTa
extern const Family kDistilBert;  ///< distilbert.cpp
extern const Family kGpt2;        ///< gpt2.cpp
extern const Family kLlama;       ///< llama.cpp: Llama, Qwen2, Qwen3, Mistral
extern const Family kMarian;      ///< marian.cpp: transformers' format
extern const Family kMarianNpz;   ///< marian_npz.cpp: Marian's own format
extern const Family kSockeye;     ///< sockeye.cpp
extern const Family kT5;          ///< t5.cpp
extern const Family kVit;         ///< vit.cpp

}  // namespace heed::foreign
