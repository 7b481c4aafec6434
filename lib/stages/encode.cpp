#include "stages/encode.h"

#include <algorithm>

#include "base/error.h"
#include "models/packed_states.h"
#include "models/shards.h"
#include "nn/positional_encoding.h"
#include "tensor/padding.h"
#include "text/token_map.h"

namespace heed {

namespace {

void replace(TensorMap& frame, const std::string& path, Tensor tensor) {
  frame.erase(path);
  frame.add(path, std::move(tensor));
}

/// The last states of the recurrent layers, f32 (sentence, recurrent_layer, dim), filled shard by shard.
class FinalTensor {
 public:
  FinalTensor(std::int64_t sentences, std::int64_t layers, std::int64_t width)
      : tensor_(Tensor::zeros<float>({sentences, layers, width}, {"sentence", "recurrent_layer", "dim"})) {}

  void set(SentenceRange range, std::int64_t layer, Matrix<const float> states) {
    const std::int64_t layers = tensor_.shape()[1], width = tensor_.shape()[2];
    for (std::int64_t s = 0; s < range.count; ++s) {
      std::copy_n(states.row(s), width,
                  tensor_.values<float>().data() + ((range.first + s) * layers + layer) * width);
    }
  }
  Tensor take() { return std::move(tensor_); }

 private:
  Tensor tensor_;
};

}  // namespace

void embed_frame(const Model<float>& model, Side side, TensorMap& frame, Inspection* inspection) {
  const PackedTokens given = tokens_of(frame, "tokens", model.sizes(side).vocab_size);
  // A decoder alone continues from what it read: <s>, and the text without its end.
  const bool read = side == Side::target && !model.encoder;
  const PackedTokens tokens = read ? model.shifted_right(given) : given;
  if (inspection) {
    inspection->begin(frame, tokens.rows, side);
    inspection->start_trace();
  }
  InspectedPass pass(model, inspection, SentenceRange{0, tokens.rows.sentences()}.numbers());
  replace(frame, "embeddings/values", pad(model.embed(pass, side, tokens).value(), tokens.rows));
  replace(frame, "embeddings/length", lengths_of(tokens.rows));
  frame.groups["embeddings"] = {"values",
                                "Embeddings with positions",
                                {"0", ".", "."},
                                {{"side", side == Side::source ? "source" : "target"}}};
  pass.keep();
  if (inspection) inspection->end(frame);
}

void label_read(TensorMap& frame, const text::Tokenizer& tokenizer) {
  const Packing rows = packing_of("embeddings/length", frame.at("embeddings/length"),
                                  frame.at("embeddings/values").shape()[1]);
  const Pieces pieces = shifted_right(pieces_of(frame, tokenizer, rows), tokenizer);
  replace(frame, "embeddings/token", token_labels(pieces, "position", rows.longest()));
}

TensorMap position_map(std::int64_t count, std::int64_t d_model) {
  TensorMap map;
  map.add("positions/values", Tensor::of<float>(sinusoidal_positions<float>(count, d_model), {count, d_model},
                                                {"position", "dim"}));
  map.groups["positions"] = {"values", "Sinusoidal positions", {}, {}};
  return map;
}

Stages encoder_stages(const Model<float>& model, const EncodeOptions& options) {
  Stages stages;
  if (!model.encoder) {
    if (options.first != 0 || options.last >= 0)
      fail<UsageError>("--layers: a decoder alone runs all of its layers; --all-layers keeps their outputs");
    stages.decode = true;
    return stages;
  }
  const std::int64_t layers = model.encoder->sizes().n_layers;
  stages.first = options.first;
  stages.last = options.last < 0 ? layers : options.last;
  if (stages.first < 0 || stages.first >= stages.last || stages.last > layers) {
    fail<UsageError>("--layers ", options.first, ":", options.last < 0 ? "" : std::to_string(options.last),
                     ": the encoder has layers 0:", layers);
  }
  return stages;
}

namespace {

/// The output of each layer of a decoder alone, by its name in the pass.
std::vector<std::string> output_names(std::int64_t layers) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i + 1 < layers; ++i) names.push_back(concat("decoder/layer_", i, "/output"));
  names.emplace_back("decoder/output");
  return names;
}

}  // namespace

void encode_frame(const Model<float>& model, const EncodeOptions& options, int threads, TensorMap& frame,
                  Inspection* inspection) {
  const Side side = model.encoder ? Side::source : Side::target;
  const PartSizes& part = model.sizes(side);
  const std::int64_t last = model.encoder ? encoder_stages(model, options).last : part.n_layers;
  const std::int64_t d = part.d_model;
  const PackedStates input = options.first == 0 ? read_embeddings(frame, model, side)
                                                : read_encoder_states(frame, model, options.first);
  const std::int64_t width = input.rows.longest(), sentences = input.rows.sentences();
  const std::int64_t kept = options.all_layers ? last - options.first : 1;
  Tensor states = Tensor::zeros<float>({sentences, kept, width, d}, {"sentence", "layer", "position", "dim"});
  const FinalWidths widths = model.encoder ? model.encoder->sizes().final_states : FinalWidths{};
  FinalTensor final_h(sentences, last, widths.h), final_c(sentences, last, widths.c);
  if (inspection) {
    inspection->begin(frame, input.rows, side);
    inspection->start_trace();
  }
  const std::vector<std::string> names = model.encoder ? std::vector<std::string>{} : output_names(last);
  for_each_shard(sentences, threads, [&](SentenceRange range) {
    InspectedPass pass(model, inspection, range.numbers(),
                       [&](const std::string& name) { return std::ranges::count(names, name) > 0; });
    const Selection shard(input, range.numbers());
    const Packing& rows = shard.rows();
    Encoded<float> x = shard.on(pass);
    if (!model.encoder) model.decode(pass, nullptr, x.states, rows);
    for (std::int64_t layer = options.first; layer < last; ++layer) {
      if (model.encoder) x = model.encoder->encode(pass, x, layer, layer + 1);
      const std::int64_t slot = layer - (last - kept);
      if (slot < 0) continue;
      const Matrix<const float> output =
          model.encoder ? x.states.value()
                        : pass.recorded().at(names[static_cast<std::size_t>(layer)]).matrix();
      for (std::int64_t s = 0; s < range.count; ++s) {
        float* out = states.values<float>().data() + ((range.first + s) * kept + slot) * width * d;
        std::copy_n(output.row(rows.offset(s)), rows.length(s) * d, out);
      }
    }
    for (std::size_t layer = 0; layer < x.final_states.size(); ++layer) {
      const Matrix<const float> state = x.final_states[layer].value();
      final_h.set(range, static_cast<std::int64_t>(layer), state.columns(0, widths.h));
      final_c.set(range, static_cast<std::int64_t>(layer), state.columns(widths.h, widths.c));
    }
    pass.keep();
  });
  frame.erase("encoder/final_h");
  frame.erase("encoder/final_c");
  if (widths.h > 0) frame.add("encoder/final_h", final_h.take());
  if (widths.c > 0) frame.add("encoder/final_c", final_c.take());
  replace(frame, "encoder/states", std::move(states));
  replace(frame, "encoder/mask", mask_of(input.rows));
  replace(frame, "encoder/length", lengths_of(input.rows));
  frame.groups["encoder"] = {"states",
                             model.encoder ? "Encoder states" : "Decoder states",
                             {"0", "0", ".", "."},
                             {{"layers_done", last}}};
  if (inspection) inspection->end(frame);
}

}  // namespace heed
