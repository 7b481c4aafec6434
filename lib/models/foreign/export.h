// Writes a model as the folder of another program: config.json, model.safetensors and, where it can be
// expressed, tokenizer.json; or in Marian's own format, model.npz and decoder.yml. The tensors follow the
// family's mapping in reverse, so an imported model is written back unchanged.
#pragma once

#include <string>

#include "io/foreign/safetensors.h"
#include "models/model_file.h"

namespace heed::foreign {

/// Creates `folder`; throws Error with every family's reasons if none of them has such a model, and if there
/// are files already. Returns a description: "a gpt2 of 148 tensors".
std::string export_model(const LoadedModel& loaded, const std::string& folder,
                         io::FloatsAs floats = io::FloatsAs::float32);

}  // namespace heed::foreign
