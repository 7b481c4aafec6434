#include "models/model.h"

#include <algorithm>

#include "base/error.h"
#include "base/sentence_error.h"
#include "models/architectures.h"
#include "models/config_json.h"

namespace heed {

std::string name_of(Side side) {
  return side == Side::source ? "source" : "target";
}

namespace {

template <class Part>
const Part& needed(const Part* part, const std::string& architecture, const char* name) {
  if (!part) fail<UsageError>("the model is of architecture ", architecture, ", which has no ", name);
  return *part;
}

}  // namespace

template <class T>
const PartSizes& Model<T>::sizes(Side side) const {
  if (side == Side::source) return needed_encoder().sizes();
  return needed_decoder().sizes();
}

template <class T>
const Encoder<T>& Model<T>::needed_encoder() const {
  return needed(encoder.get(), architecture, "encoder");
}

template <class T>
const Decoder<T>& Model<T>::needed_decoder() const {
  return needed(decoder.get(), architecture, "decoder");
}

template <class T>
const WordsHead& Model<T>::needed_words() const {
  return needed(words ? &*words : nullptr, architecture, "output words");
}

template <class T>
void Model<T>::set_precision(Precision precision, Unpacked unpacked) {
  packed.reset();
  if (precision == Precision::float32 && unpacked == Unpacked::kept) return;
  auto needs_float32 = [](const auto& part) { return part && !part->sizes().any_precision; };
  if (precision != Precision::float32 && (needs_float32(encoder) || needs_float32(decoder)))
    fail<UsageError>("the model is of architecture ", architecture,
                     ", whose recurrent layers are computed in float32 only");
  packed = std::make_unique<PackedWeights<T>>(parameters.values(), precision, unpacked);
  // Before any thread reads its rows while another packs it.
  if (unpacked == Unpacked::released && precision == Precision::float32 && words && words->tied)
    packed->find(parameters.view(words->weight).t());
}

template <class T>
Var<T> Model<T>::embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const {
  if (side == Side::source && images)
    fail<UsageError>("the model reads images, not words: wanted embed --pixels");
  if (side == Side::source) return needed_encoder().embed(pass, tokens);
  return needed_decoder().embed(pass, tokens, DecoderState<T>(tokens.rows.sentences()).continuation());
}

template <class T>
Encoded<T> Model<T>::encode(Pass<T>& pass, const PackedTokens& tokens) const {
  Encoded<T> embedded{embed(pass, Side::source, tokens), &tokens.rows, {}};
  if (documents) embedded.segments = &pass.tape->own(documents->segments(tokens));
  return encoder->encode(pass, embedded, 0, encoder->sizes().n_layers);
}

template <class T>
Encoded<T> Model<T>::encode(Pass<T>& pass, Var<T> embedded, const Packing& rows) const {
  return needed_encoder().encode(pass, {embedded, &rows, {}}, 0, encoder->sizes().n_layers);
}

template <class T>
Var<T> Model<T>::class_logits(Pass<T>& pass, const Encoded<T>& encoded) const {
  if (!classes) fail<UsageError>("the model is of architecture ", architecture, ", which has no classes");
  const Encoded<T> read = documents ? documents->read(pass, encoded) : encoded;
  return classes->logits(pass, read.states, *read.rows);
}

template <class T>
CrossEntropySums Model<T>::class_loss(Pass<T>& pass, const Encoded<T>& encoded,
                                      std::span<const std::int32_t> labels, double smoothing, T scale) const {
  return cross_entropy(class_logits(pass, encoded), labels, smoothing, scale);
}

template <class T>
PackedTokens Model<T>::read_alone(const PackedTokens& sentences) const {
  if (!reads_as_given) return shifted_right(sentences);
  for (std::int64_t s = 0; s < sentences.rows.sentences(); ++s)
    if (sentences.rows.length(s) == 0)
      throw SentenceError(s, "an empty prompt, wanted text: nothing begins a sentence of this model");
  return sentences;
}

template <class T>
PackedTokens Model<T>::shifted_right(const PackedTokens& target) const {
  if (target_special.bos == SpecialIds::kAbsent)
    fail("the vocabulary has no piece that begins a sentence (bos), which the decoder reads first");
  PackedTokens shifted{target.ids, target.rows};
  for (std::int64_t s = 0; s < target.rows.sentences(); ++s) {
    const auto begin = static_cast<std::size_t>(target.rows.offset(s));
    const auto length = static_cast<std::size_t>(target.rows.length(s));
    if (length == 0) fail("an empty target sentence cannot be decoded: at least <eos> is needed");
    shifted.ids[begin] = target_special.bos;
    std::copy_n(&target.ids[begin], length - 1, &shifted.ids[begin + 1]);
  }
  return shifted;
}

template <class T>
Decoded<T> Model<T>::decode(Pass<T>& pass, const Encoded<T>* memory, const PackedTokens& target,
                            const std::vector<SampleStream>& streams) const {
  return decode(pass, memory, embed(pass, Side::target, shifted_right(target)), target.rows, streams);
}

template <class T>
Decoded<T> Model<T>::decode(Pass<T>& pass, const Encoded<T>* memory, Var<T> embedded, const Packing& rows,
                            const std::vector<SampleStream>& streams) const {
  if (memory && memory->rows->sentences() != rows.sentences())
    fail("decode: ", memory->rows->sentences(), " source and ", rows.sentences(), " target sentences");
  DecoderState<T> state = needed_decoder().start(pass, rows.sentences(), memory);
  state.streams = streams;
  return decoder->read(pass, state, embedded, rows);
}

template <class T>
CrossEntropySums Model<T>::loss(Pass<T>& pass, const Decoded<T>& decoded, const PackedTokens& target,
                                double smoothing, T scale, double baseline) const {
  std::vector<double> nll;
  CrossEntropySums sums = needed_words().loss(pass, decoded.states, target.ids, smoothing, scale,
                                              decoded.extra_loss ? &nll : nullptr);
  if (decoded.extra_loss) sums.loss += decoded.extra_loss(nll, baseline, static_cast<double>(scale));
  return sums;
}

template <class T>
std::unique_ptr<Model<T>> make_model(const std::string& config_json) {
  std::unique_ptr<Model<T>> model;
  with_architecture(architecture_of(config_json), [&](const auto& architecture) {
    typename std::decay_t<decltype(architecture)>::Config config;
    from_json(config_json, fields_of(config));
    model = build<T>(config);
  });
  return model;
}

std::string default_config_json(const std::string& architecture) {
  std::string json;
  with_architecture(architecture, [&](const auto& known) {
    json = to_json(typename std::decay_t<decltype(known)>::Config());
  });
  return json;
}

template struct Model<float>;
template struct Model<double>;
template std::unique_ptr<Model<float>> make_model(const std::string&);
template std::unique_ptr<Model<double>> make_model(const std::string&);

}  // namespace heed
