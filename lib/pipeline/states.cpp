#include "pipeline/states.h"

#include <algorithm>

#include "base/error.h"
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

void expect_states(const std::string& name, const Tensor& tensor, const Shape& wanted) {
  if (tensor.dtype() != DType::f32)
    fail(name, ": holds ", name_of(tensor.dtype()), " values, wanted float32");
  expect_shape(name, tensor.shape(), wanted);
}

}  // namespace

Matrix<const float> PackedStates::matrix() const {
  const std::int64_t n = rows.rows();
  return {values.data(), n, n == 0 ? 0 : static_cast<std::int64_t>(values.size()) / n};
}

PackedStates read_embeddings(const TensorMap& frame, std::int64_t d_embedding) {
  const Tensor& values = frame.at("embeddings/values");
  expect_states("/embeddings/values", values, {-1, -1, d_embedding});
  const Attribute* side = attribute_of(frame, "embeddings", "side");
  if (side && *side == Attribute(std::string("target"))) {
    fail("/embeddings: made for the target side (embed --side target), but the encoder reads the source");
  }
  PackedStates states;
  states.rows = packing_of("embeddings/length", frame.at("embeddings/length"), values.shape()[1]);
  states.values = unpad("embeddings/values", values, states.rows);
  return states;
}

PackedStates read_encoder_states(const TensorMap& frame, std::int64_t layers, std::int64_t d_model) {
  const Tensor& kept = frame.at("encoder/states");
  expect_states("/encoder/states", kept, {-1, -1, -1, d_model});
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
  states.values = unpad("encoder/states", last, states.rows);
  return states;
}

}  // namespace heed
