#include "pipeline/encode.h"

#include "base/error.h"
#include "nn/positional_encoding.h"
#include "pipeline/shards.h"
#include "tensor/padding.h"

namespace heed {

namespace {

void replace(TensorMap& frame, const std::string& path, Tensor tensor) {
  frame.erase(path);
  frame.add(path, std::move(tensor));
}

/// What the first layer to run reads, packed.
struct EncoderInput {
  Packing rows;
  std::vector<float> values;  ///< [rows, d]
};

EncoderInput read_embeddings(const TensorMap& frame) {
  const Tensor& values = frame.at("embeddings/values");
  expect_shape("/embeddings/values", values.shape(), {-1, -1, -1});
  EncoderInput input;
  input.rows = packing_of("embeddings/length", frame.at("embeddings/length"), values.shape()[1]);
  input.values = unpad("embeddings/values", values, input.rows);
  return input;
}

/// The layer before options.first, as an earlier `encode --layers` left it.
EncoderInput read_states(const TensorMap& frame, std::int64_t first) {
  const Tensor& states = frame.at("encoder/states");
  expect_shape("/encoder/states", states.shape(), {-1, -1, -1, -1});
  const Shape shape = states.shape();
  EncoderInput input;
  input.rows = packing_of("encoder/length", frame.at("encoder/length"), shape[2]);
  const auto group = frame.groups.find("encoder");
  const auto done = group == frame.groups.end() ? Attributes::const_iterator{}
                                                : group->second.attributes.find("layers_done");
  if (group != frame.groups.end() && done != group->second.attributes.end() &&
      std::get<std::int64_t>(done->second) != first) {
    fail("/encoder: holds the output of ", std::get<std::int64_t>(done->second), " layers, but layer ", first,
         " is to run next");
  }
  Tensor last = Tensor::zeros<float>({shape[0], shape[2], shape[3]});
  const std::int64_t block = shape[2] * shape[3];
  for (std::int64_t s = 0; s < shape[0]; ++s) {
    std::copy_n(states.values<float>().data() + ((s + 1) * shape[1] - 1) * block, block,
                last.values<float>().data() + s * block);
  }
  input.values = unpad("encoder/states", last, input.rows);
  return input;
}

}  // namespace

void embed_frame(const Model<float>& model, Side side, TensorMap& frame) {
  const PackedTokens tokens = tokens_of(frame, "tokens", model.vocabulary_size(side));
  InferencePass pass(model);
  replace(frame, "embeddings/values", pad(model.embed(pass, side, tokens).value(), tokens.rows));
  replace(frame, "embeddings/length", lengths_of(tokens.rows));
  frame.groups["embeddings"] = {"values", "Embeddings with positions", {"0", ".", "."}, {}};
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
  const EncoderInput input = options.first == 0 ? read_embeddings(frame) : read_states(frame, options.first);
  const std::int64_t d = model.d_model(), width = input.rows.longest(), sentences = input.rows.sentences();
  const std::int64_t d_in = options.first == 0 ? model.d_embedding() : d;
  if (static_cast<std::int64_t>(input.values.size()) != input.rows.rows() * d_in) {
    fail(options.first == 0 ? "/embeddings/values" : "/encoder/states", ": the last dimension is ",
         input.rows.rows() == 0 ? 0 : static_cast<std::int64_t>(input.values.size()) / input.rows.rows(),
         ", wanted ", options.first == 0 ? "d_embedding = " : "d_model = ", d_in,
         ": was it made with another model?");
  }
  const std::int64_t kept = options.all_layers ? last - options.first : 1;
  Tensor states = Tensor::zeros<float>({sentences, kept, width, d}, {"sentence", "layer", "position", "dim"});
  for_each_shard(sentences, threads, [&](SentenceRange range) {
    InferencePass pass(model);
    const Packing rows = slice(input.rows, range);
    Var<float> x =
        pass.tape->constant(slice({input.values.data(), input.rows.rows(), d_in}, input.rows, range));
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
