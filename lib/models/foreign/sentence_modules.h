// Folders of sentence-transformers (https://github.com/huggingface/sentence-transformers): a transformers
// model, for example BERT, with a modules.json that defines the embedding of a sentence: pooling, and
// optionally a layer (Dense) and normalisation.
#pragma once

#include <string>
#include <vector>

#include "models/foreign/family.h"

namespace heed::foreign {

/// The folder of the Dense layer in an export.
inline constexpr const char* kDenseFolder = "2_Dense";

/// Reads the modules into the config of the encoder. Returns the folder of the Dense layer, whose weights
/// have been added to the source's; empty if there is none. Throws Error on modules that are not supported.
std::string read_modules(const Source& source, EncoderOnlyConfig& config, std::vector<std::string>& notes);
/// The inverse: adds the files to the export.
void add_modules(const EncoderOnlyConfig& config, Exported& out);

}  // namespace heed::foreign
