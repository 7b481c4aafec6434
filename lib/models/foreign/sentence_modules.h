// Folders of sentence-transformers (https://github.com/huggingface/sentence-transformers): a transformers
// model, for example BERT, with a modules.json that defines the embedding of a sentence: pooling, and
// optionally one or two layers (Dense) and normalisation.
#pragma once

#include <string>
#include <vector>

#include "models/foreign/family.h"

namespace heed::foreign {

/// Reads the modules into the config of the encoder. Returns the folders of Dense layers, whose weights have been
/// added to the source's. Throws Error on modules that are not supported.
std::vector<std::string> read_modules(const Source& source, EncoderOnlyConfig& config,
                                      std::vector<std::string>& notes);
/// The inverse: adds the files to the export, with these folders of Dense layers.
void add_modules(const EncoderOnlyConfig& config, const std::vector<std::string>& dense, Exported& out);

}  // namespace heed::foreign
