#include "models/packed_states.h"

#include <algorithm>

#include "base/sentence_error.h"
#include "tensor/kernels.h"
#include "tensor/padding.h"

namespace heed {

namespace {

/// The attribute of a group, if it has one of that name.
const Attribute* attribute_of(const TensorMap& frame, const std::string& group, const std::string& name) {
  const auto found = frame.groups.find(group);
  if (found == frame.groups.end()) return nullptr;
  const auto attribute = found->second.attributes.find(name);
  return attribute == found->second.attributes.end() ? nullptr : &attribute->second;
}

/// `last`: meaning of the last size.
void expect_states(const std::string& name, const Tensor& tensor, const Shape& wanted,
                   const std::string& last) {
  expect_float32(name, tensor.dtype());
  expect_shape(name, tensor.shape(), wanted, concat(wanted.back(), " is the model's ", last));
}

/// /encoder/final_h and final_c of `layers` layers. Sentences are the states' own.
void read_final_states(const TensorMap& frame, FinalWidths widths, std::int64_t layers, Values wanted,
                       PackedStates& states) {
  const std::int64_t sentences = states.rows.sentences(), both = widths.h + widths.c;
  for (std::int64_t l = 0; both > 0 && l < layers; ++l)
    states.final_states.emplace_back(static_cast<std::size_t>(sentences * both));
  auto read = [&](const std::string& name, std::int64_t width, std::int64_t column) {
    if (width == 0) return;
    const Tensor& tensor = frame.at(name);
    expect_states("/" + name, tensor, {sentences, layers, width}, "recurrent state");
    const float* from = tensor.values<float>().data();
    for (std::int64_t s = 0; s < sentences; ++s) {
      for (std::int64_t l = 0; l < layers; ++l, from += width) {
        if (wanted == Values::finite && !all_finite<float>({from, static_cast<std::size_t>(width)}))
          throw SentenceError(s, concat("/", name, " of recurrent layer ", l,
                                        " (from 0) is not finite (--allow-nonfinite lets it pass)"));
        std::copy_n(
            from, width,
            &states.final_states[static_cast<std::size_t>(l)][static_cast<std::size_t>(s * both + column)]);
      }
    }
  };
  read("encoder/final_h", widths.h, 0);
  read("encoder/final_c", widths.c, widths.h);
}

}  // namespace

void expect_tokens_of(Side side, const TensorMap& frame, const Model<float>& model) {
  const Attribute* made_for = attribute_of(frame, "tokens", "side");
  const bool one_side = !model.encoder || !model.decoder;
  if (one_side || !made_for || *made_for == Attribute(name_of(side))) return;
  const bool source = side == Side::source;
  fail("/tokens: made for the ", source ? "target" : "source", " side (tokenize --side), wanted the ",
       name_of(side), ": ",
       source ? "what is embedded here is read by the encoder; for the decoder: embed --side target"
              : "--side target embeds what the decoder reads");
}

std::optional<Segments> segments_of(const TensorMap& frame, const Model<float>& model, const Packing& rows) {
  if (!model.documents) return std::nullopt;
  if (!frame.contains("tokens/ids"))
    fail("/tokens: is missing: its pieces are needed to find the ends of a document's sentences");
  const PackedTokens tokens = tokens_of(frame, "tokens", model.sizes(Side::source).vocab_size);
  if (!(tokens.rows == rows))
    fail("/tokens: its lengths differ from those of the states: are they of the same text?");
  return model.documents->segments(tokens);
}

PackedStates read_embeddings(const TensorMap& frame, const Model<float>& model, Side side, Values wanted) {
  const Tensor& values = frame.at("embeddings/values");
  const PartSizes& sizes = model.sizes(side);
  expect_states("/embeddings/values", values, {-1, -1, sizes.d_embedding},
                sizes.d_embedding == sizes.d_model ? "d_model" : "d_embedding");
  const Attribute* made_for = attribute_of(frame, "embeddings", "side");
  if (made_for && *made_for != Attribute(name_of(side))) {
    fail("/embeddings: made for the ", side == Side::source ? "target" : "source",
         " side (embed --side), but the ",
         side == Side::source ? "encoder reads the source" : "decoder reads the target");
  }
  PackedStates states;
  states.rows = packing_of("embeddings/length", frame.at("embeddings/length"), values.shape()[1]);
  states.values = unpad("embeddings/values", values, states.rows, wanted);
  if (side == Side::source) states.segments = segments_of(frame, model, states.rows);
  return states;
}

PackedStates read_encoder_states(const TensorMap& frame, const Model<float>& model, std::int64_t layers,
                                 Values wanted) {
  const Tensor& kept = frame.at("encoder/states");
  expect_states("/encoder/states", kept, {-1, -1, -1, model.needed_encoder().sizes().d_model}, "d_model");
  const Shape shape = kept.shape();  // [sentence, layer, position, dim]
  if (shape[1] < 1) fail("/encoder/states: shape ", to_string(shape), " has no layer");
  if (const Attribute* done = attribute_of(frame, "encoder", "layers_done")) {
    const auto* count = std::get_if<std::int64_t>(done);
    if (!count) fail("/encoder: the attribute layers_done is not an integer");
    if (*count != layers) {
      fail("/encoder: holds the output of ", *count, " layers, wanted that of ", layers,
           ": which encode --layers ran before?");
    }
  }
  PackedStates states;
  states.rows = packing_of("encoder/length", frame.at("encoder/length"), shape[2]);
  Tensor last = Tensor::zeros<float>({shape[0], shape[2], shape[3]});
  const std::int64_t block = shape[2] * shape[3];
  for (std::int64_t s = 0; s < shape[0]; ++s) {
    std::copy_n(kept.values<float>().data() + ((s + 1) * shape[1] - 1) * block, block,
                last.values<float>().data() + s * block);
  }
  states.values = unpad("encoder/states", last, states.rows, wanted);
  read_final_states(frame, model.needed_encoder().sizes().final_states, layers, wanted, states);
  states.segments = segments_of(frame, model, states.rows);
  return states;
}

PackedStates memory_of(const TensorMap& frame, const Model<float>& model, Values wanted) {
  return read_encoder_states(frame, model, model.needed_encoder().sizes().n_layers, wanted);
}

PackedStates selected(const PackedStates& states, std::span<const std::int64_t> sentences) {
  PackedStates part;
  const std::int64_t rows = states.rows.rows(), count = states.rows.sentences();
  const std::int64_t width = rows == 0 ? 0 : static_cast<std::int64_t>(states.values.size()) / rows;
  part.final_states.resize(states.final_states.size());
  if (states.segments) part.segments.emplace();
  for (std::int64_t s : sentences) {
    part.rows.append(states.rows.length(s));
    if (states.segments) {
      const auto& [rows_of, of_sentence] = *states.segments;
      part.segments->of_sentence.append(of_sentence.length(s));
      for (std::int64_t i = of_sentence.offset(s); i < of_sentence.offset(s + 1); ++i)
        part.segments->rows.append(rows_of.length(i));
    }
    const auto first = states.values.begin() + states.rows.offset(s) * width;
    part.values.insert(part.values.end(), first, first + states.rows.length(s) * width);
    for (std::size_t l = 0; l < states.final_states.size(); ++l) {
      const std::vector<float>& all = states.final_states[l];
      const std::int64_t final_width = static_cast<std::int64_t>(all.size()) / count;
      part.final_states[l].insert(part.final_states[l].end(), all.begin() + s * final_width,
                                  all.begin() + (s + 1) * final_width);
    }
  }
  return part;
}

Encoded<float> Selection::on(Pass<float>& pass) const {
  auto constant = [&](const std::vector<float>& values, std::int64_t rows) {
    const std::int64_t width = rows == 0 ? 0 : static_cast<std::int64_t>(values.size()) / rows;
    return pass.tape->constant({values.data(), rows, width});
  };
  Encoded<float> encoded{constant(part_.values, part_.rows.rows()), &part_.rows, {}};
  if (part_.segments) encoded.segments = &*part_.segments;
  for (const auto& values : part_.final_states)
    encoded.final_states.push_back(constant(values, part_.rows.sentences()));
  return encoded;
}

}  // namespace heed
