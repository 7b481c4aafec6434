#include "pipeline/encode.h"

#include "base/error.h"
#include "nn/positional_encoding.h"
#include "pipeline/shards.h"
#include "pipeline/states.h"
#include "tensor/padding.h"

namespace heed {

namespace {

void replace(TensorMap& frame, const std::string& path, Tensor tensor) {
  frame.erase(path);
  frame.add(path, std::move(tensor));
}

}  // namespace

void embed_frame(const Model<float>& model, Side side, TensorMap& frame) {
  const PackedTokens tokens = tokens_of(frame, "tokens", model.vocabulary_size(side));
  InferencePass pass(model);
  replace(frame, "embeddings/values", pad(model.embed(pass, side, tokens).value(), tokens.rows));
  replace(frame, "embeddings/length", lengths_of(tokens.rows));
  frame.groups["embeddings"] = {"values",
                                "Embeddings with positions",
                                {"0", ".", "."},
                                {{"side", side == Side::source ? "source" : "target"}}};
}

TensorMap position_map(std::int64_t count, std::int64_t d_model) {
  TensorMap map;
  map.add("positions/values", Tensor::of<float>(sinusoidal_positions<float>(count, d_model), {count, d_model},
                                                {"position", "dim"}));
  map.groups["positions"] = {"values", "Sinusoidal positions", {}, {}};
  return map;
}

void encode_frame(const Model<float>& model, const EncodeOptions& options, int threads, TensorMap& frame) {
  const std::int64_t last = options.last < 0 ? model.n_encoder_layers() : options.last;
  if (options.first < 0 || options.first >= last || last > model.n_encoder_layers()) {
    fail<UsageError>("--layers ", options.first, ":", last,
                     ": the encoder has layers 0:", model.n_encoder_layers());
  }
  const std::int64_t d = model.d_model();
  const PackedStates input = options.first == 0 ? read_embeddings(frame, model.d_embedding())
                                                : read_encoder_states(frame, options.first, d);
  const std::int64_t width = input.rows.longest(), sentences = input.rows.sentences();
  const std::int64_t kept = options.all_layers ? last - options.first : 1;
  Tensor states = Tensor::zeros<float>({sentences, kept, width, d}, {"sentence", "layer", "position", "dim"});
  for_each_shard(sentences, threads, [&](SentenceRange range) {
    InferencePass pass(model);
    const Packing rows = slice(input.rows, range);
    Var<float> x = pass.tape->constant(slice(input.matrix(), input.rows, range));
    for (std::int64_t layer = options.first; layer < last; ++layer) {
      x = model.encode(pass, x, rows, layer, layer + 1);
      const std::int64_t slot = layer - (last - kept);
      if (slot < 0) continue;
      for (std::int64_t s = 0; s < range.count; ++s) {
        float* out = states.values<float>().data() + ((range.first + s) * kept + slot) * width * d;
        std::copy_n(x.value().row(rows.offset(s)), rows.length(s) * d, out);
      }
    }
  });
  replace(frame, "encoder/states", std::move(states));
  replace(frame, "encoder/mask", mask_of(input.rows));
  replace(frame, "encoder/length", lengths_of(input.rows));
  frame.groups["encoder"] = {"states", "Encoder states", {"0", "0", ".", "."}, {{"layers_done", last}}};
}

}  // namespace heed
