// The layers of Llama's family, which language models (llama.cpp) and encoders of sentences (llama_encoder.cpp) share.
// Their settings are those of a decoder alone, whatever the stack.
#pragma once

#include <string>

#include "models/decoder_only.h"
#include "models/foreign/llama_kinds.h"

namespace heed::foreign::llama {

/// The embeddings, after a prefix.
inline constexpr char kTable[] = "embed_tokens.weight";
inline constexpr char kPrefix[] = "model.";

/// Reads all fields of the layers. `both_ways`: positions see what follows them, too.
DecoderOnlyConfig read_layers(ConfigFields& fields, const Kind& kind, bool both_ways = false);
/// Maps embeddings, layers and the last norm. `fused`: as in Phi-3; `root`: the prefix of their names; `stack`: the
/// scope of ours, "decoder" or "encoder".
void map_layers(const DecoderOnlyConfig& config, bool fused, const std::string& root,
                const std::string& stack, Mappings& map);
/// The member of the family as which a model is exported.
const Kind& exported_kind(const TransformerOptions& config, const LoadedModel& loaded);
/// Requires its layers. Returns the word for their activation.
std::string want_layers(const TransformerOptions& config, const Kind& kind, Requirements& require);
/// `config`: a copy, as its fields are listed for writing, too.
void state_layers(DecoderOnlyConfig config, const Kind& kind, const std::string& activation, bool both_ways,
                  Json& out);
/// The beginning of the names of transformers' classes: "Qwen3".
std::string class_name(const Kind& kind);
/// Whether a folder is an encoder (llama_encoder.cpp).
bool is_encoder(const Source& source);
ForeignModel describe_encoder(const Source& source);
std::optional<Exported> express_encoder(const LoadedModel& loaded, std::vector<std::string>& reasons);

}  // namespace heed::foreign::llama
