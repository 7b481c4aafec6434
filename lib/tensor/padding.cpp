#include "tensor/padding.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/sentence_error.h"

namespace heed {

namespace {

template <class I>
Packing packed(const std::string& name, std::span<const I> lengths, std::int64_t longest) {
  Packing rows;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto refuse = [&](const auto&... why) {
      throw SentenceError(static_cast<std::int64_t>(i),
                          concat("/", name, " is ", lengths[i], ", wanted ", why...));
    };
    if (lengths[i] < 1) refuse("at least 1: there is nothing to read");
    if (lengths[i] > longest) refuse("at most the ", longest, " positions that there are");
    rows.append(lengths[i]);
  }
  return rows;
}

}  // namespace

Packing packing_of(const std::string& name, const Tensor& lengths, std::int64_t longest) {
  const bool wide = lengths.dtype() == DType::i64;
  if ((!wide && lengths.dtype() != DType::i32) || lengths.shape().size() != 1) {
    fail("/", name, ": ", name_of(lengths.dtype()), " ", to_string(lengths.shape()),
         ", wanted int32 or int64 [sentence]");
  }
  return wide ? packed(name, lengths.values<std::int64_t>(), longest)
              : packed(name, lengths.values<std::int32_t>(), longest);
}

Tensor lengths_of(const Packing& rows) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t i = 0; i < rows.sentences(); ++i)
    lengths.push_back(static_cast<std::int32_t>(rows.length(i)));
  return Tensor::of<std::int32_t>(std::move(lengths), {rows.sentences()}, {"sentence"});
}

Tensor mask_of(const Packing& rows) {
  Tensor mask = Tensor::zeros<std::uint8_t>({rows.sentences(), rows.longest()}, {"sentence", "position"});
  for (std::int64_t i = 0; i < rows.sentences(); ++i) {
    std::fill_n(mask.values<std::uint8_t>().begin() + i * rows.longest(), rows.length(i), std::uint8_t{1});
  }
  mask.attributes["dtype"] = std::string("bool");
  return mask;
}

Tensor pad(Matrix<const float> packed, const Packing& rows) {
  const std::int64_t width = rows.longest(), d = packed.cols;
  Tensor padded = Tensor::zeros<float>({rows.sentences(), width, d}, {"sentence", "position", "dim"});
  float* out = padded.values<float>().data();
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t i = 0; i < rows.length(s); ++i)
      std::copy_n(packed.row(rows.offset(s) + i), d, out + (s * width + i) * d);
  }
  return padded;
}

std::vector<float> unpad(const std::string& name, const Tensor& padded, const Packing& rows, Values wanted) {
  expect_float32("/" + name, padded.dtype());
  expect_shape("/" + name, padded.shape(), {rows.sentences(), -1, -1});
  const std::int64_t width = padded.shape()[1], d = padded.shape()[2];
  if (rows.longest() > width)
    fail("/", name, ": has ", width, " positions, but a sentence is ", rows.longest(), " long");
  std::vector<float> packed;
  packed.reserve(static_cast<std::size_t>(rows.rows() * d));
  const float* in = padded.values<float>().data();
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    const float* begin = in + s * width * d;
    const float* end = begin + rows.length(s) * d;
    const float* bad = std::find_if(begin, end, [](float x) { return !std::isfinite(x); });
    if (bad != end && wanted == Values::finite) {
      const std::int64_t at = bad - begin;
      throw SentenceError(s, concat("/", name, " is ", *bad, " at position ", at / d, ", dim ", at % d,
                                    " (from 0), wanted finite values (or --allow-nonfinite)"));
    }
    packed.insert(packed.end(), begin, end);
  }
  return packed;
}

PackedTokens tokens_of(const TensorMap& map, const std::string& group, std::int64_t vocabulary_size) {
  const Tensor& ids = map.at(group + "/ids");
  if (ids.dtype() != DType::i32 || ids.shape().size() != 2) {
    fail("/", group, "/ids: ", name_of(ids.dtype()), " ", to_string(ids.shape()),
         ", wanted int32 [sentence, position]");
  }
  const std::int64_t width = ids.shape()[1];
  const Packing rows = packing_of(group + "/length", map.at(group + "/length"), width);
  if (rows.sentences() != ids.shape()[0]) {
    fail("/", group, "/length: has ", rows.sentences(), " sentences, /", group, "/ids has ", ids.shape()[0]);
  }
  const Tensor* types = map.contains(group + "/types") ? &map.at(group + "/types") : nullptr;
  if (types && (types->dtype() != DType::i32 || types->shape() != ids.shape())) {
    fail("/", group, "/types: ", name_of(types->dtype()), " ", to_string(types->shape()), ", wanted int32 ",
         to_string(ids.shape()), " as in /", group, "/ids");
  }
  PackedTokens tokens;
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    auto of_sentence = [&](const Tensor& tensor) {
      return tensor.values<std::int32_t>().subspan(static_cast<std::size_t>(s * width),
                                                   static_cast<std::size_t>(rows.length(s)));
    };
    const auto sentence = of_sentence(ids);
    if (types) std::ranges::copy(of_sentence(*types), std::back_inserter(tokens.types));
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      if (sentence[i] < 0 || sentence[i] >= vocabulary_size) {
        throw SentenceError(s, concat("/", group, "/ids is ", sentence[i], " at position ", i,
                                      " (from 0), outside the vocabulary of ", vocabulary_size,
                                      ": was it tokenized with another vocabulary?"));
      }
    }
    tokens.append(sentence);
  }
  return tokens;
}

}  // namespace heed
