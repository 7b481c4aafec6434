// Folders of sentence-transformers (https://github.com/huggingface/sentence-transformers): a model of transformers, BERT for example,
// beside a modules.json that says what vector is made of the states of a sentence: pooling, and by choice a layer
// (Dense) and normalisation.
#pragma once

#include <string>
#include <vector>

#include "models/foreign/family.h"

namespace heed::foreign {

/// The layer's folder in an export.
inline constexpr const char* kDenseFolder = "2_Dense";

/// Reads them into the config of the encoder. Returns the folder of the layer, whose weights have joined the source's; empty where there
/// is none. Throws Error on modules that are not supported.
std::string read_modules(const Source& source, EncoderOnlyConfig& config, std::vector<std::string>& notes);
/// The same way back: files of the folder.
void add_modules(const EncoderOnlyConfig& config, Exported& out);

}  // namespace heed::foreign
