// A model as the folder of another program: config.json, model.safetensors and, where it can be expressed, tokenizer.json; or one of Marian's
// own, model.npz and decoder.yml. The tensors
// are those of the family's mapping, read backwards, so that what was imported is written as it was.
#pragma once

#include <string>

#include "io/foreign/safetensors.h"
#include "models/model_file.h"

namespace heed::foreign {

/// Writes into `folder`, which is made; throws Error with every family's reasons when none of them has such a model, and when
/// there are files already. Returns what was written: "a gpt2 of 148 tensors".
std::string export_model(const LoadedModel& loaded, const std::string& folder,
                         io::FloatsAs floats = io::FloatsAs::float32);

}  // namespace heed::foreign
