// The list of families. To add one: a line here, a line in families.cpp, and a file of its own.
#pragma once

#include "models/foreign/family.h"

namespace heed::foreign {

extern const Family kBart;          ///< bart.cpp: BART, mBART, M2M-100, NLLB-200
extern const Family kBert;          ///< bert.cpp: BERT, RoBERTa, XLM-RoBERTa, CamemBERT, MPNet, ELECTRA
extern const Family kDistilBert;    ///< distilbert.cpp
extern const Family kGpt2;          ///< gpt2.cpp
extern const Family kGptNeoX;       ///< gpt_neox.cpp: GPT-NeoX, Phi, StarCoder2, OPT
extern const Family kLlama;         ///< llama.cpp: Llama, Qwen2, Qwen3, Mistral, Gemma, OLMo 2, Phi-3
extern const Family kMarian;        ///< marian.cpp: transformers' format
extern const Family kMarianNative;  ///< marian_native.cpp: Marian's own formats
extern const Family kModernBert;    ///< modernbert.cpp
extern const Family kSockeye;       ///< sockeye.cpp
extern const Family kT5;            ///< t5.cpp
extern const Family kVit;           ///< vit.cpp

}  // namespace heed::foreign
