#include "stages/encode.h"

#include <algorithm>
#include <optional>

#include "base/choice.h"
#include "base/fields.h"
#include "base/number.h"
#include "io/provenance.h"
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

}  // namespace

void embed_frame(const Model<float>& model, Side side, TensorMap& frame, Inspection* inspection) {
  expect_tokens_of(side, frame, model);
  const PackedTokens given = tokens_of(frame, "tokens", model.sizes(side).vocab_size);
  // A decoder alone continues from what it read.
  const bool read = side == Side::target && !model.encoder;
  const PackedTokens tokens = read ? model.read_alone(given) : given;
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

TensorMap embed_images(const Model<float>& model, const Pictures& pictures, Inspection* inspection) {
  const ImagePatches& images = *model.images;
  const std::vector<std::int64_t> all = SentenceRange{0, pictures.count()}.numbers();
  TensorMap frame;
  Packing rows;
  for (std::int64_t i = 0; i < pictures.count(); ++i) rows.append(images.rows());
  if (inspection) {
    inspection->begin(frame, rows, Side::source);
    inspection->start_trace();
  }
  InspectedPass pass(model, inspection, all);
  frame.add("embeddings/values",
            pad(images.embed<float>(pass, pictures.values(images, all), rows).value(), rows));
  frame.add("embeddings/length", lengths_of(rows));
  frame.groups["embeddings"] = {"values", "Patches with positions", {"0", ".", "."}, {{"side", "source"}}};
  pass.keep();
  if (inspection) inspection->end(frame);
  return frame;
}

namespace {

void run_embed_images(const EmbedOptions& options, const InspectionConfig& inspect, const LoadedModel& loaded,
                      const Stages& stages, std::uint64_t seed) {
  PictureReader reader(options.pixels, *loaded.model->images);
  Inspection inspection(inspect, loaded, stages, options.write, seed);
  io::FrameWriter writer(options.output, options.write, options.keep);
  for (Pictures pictures; (pictures = reader.next(options.batch)).count() > 0;) {
    TensorMap frame = embed_images(*loaded.model, pictures, &inspection);
    claim_for_model(frame, "--pixels", loaded, options.model);
    writer.write(std::move(frame));
  }
  inspection.finish();
  writer.finish();
}

/// Labels /embeddings of a decoder alone with the pieces that it reads: token str (sentence, position).
void label_read(TensorMap& frame, const LoadedModel& loaded) {
  const Packing rows = packing_of("embeddings/length", frame.at("embeddings/length"),
                                  frame.at("embeddings/values").shape()[1]);
  const Pieces pieces =
      pieces_read(pieces_of(frame, loaded.target, rows), loaded.target, loaded.model->reads_as_given);
  replace(frame, "embeddings/token", token_labels(pieces, "position", rows.longest()));
}

/// /positions/values f32 (position, dim): the sinusoids alone.
TensorMap position_map(std::int64_t count, std::int64_t d_model) {
  TensorMap map;
  map.add("positions/values", Tensor::of<float>(sinusoidal_positions<float>(count, d_model), {count, d_model},
                                                {"position", "dim"}));
  map.groups["positions"] = {"values", "Sinusoidal positions", {}, {}};
  return map;
}

void write_positions(const EmbedOptions& options) {
  io::FrameWriter writer(options.output, options.write, options.keep);
  writer.write(position_map(options.positions_only, options.d_model), true);
  writer.finish();
}

}  // namespace

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
  if (!options.pool.empty() && stages.last < layers)
    fail<UsageError>("--pool: sentence embeddings are made from the last layer's states, which --layers ",
                     options.first, ":", options.last, " of 0:", layers, " leaves out");
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

/// The pooling selected by --pool. Throws UsageError if the model does not support it.
SentenceVectors sentence_vectors(const Model<float>& model, const EncodeOptions& options) {
  enum class How { model, mean, first, pooler };
  const How how = chosen<How>("--pool", kSentencePools, options.pool);
  SentenceVectors vectors{how == How::mean ? Pooling::mean : Pooling::first, options.normalise};
  if (how == How::pooler) vectors.pooler = model.pooler;
  if (how == How::pooler && !model.parameters.contains("encoder/pooler/weight"))
    fail<UsageError>("--pool pooler: the model has no encoder/pooler");
  if (how != How::model) return vectors;
  if (!model.sentences)
    fail<UsageError>("--pool model: the model was not made for sentence embeddings: wanted mean or first");
  vectors = *model.sentences;
  vectors.normalised = vectors.normalised || options.normalise;
  return vectors;
}

}  // namespace

void encode_frame(const Model<float>& model, const EncodeOptions& options, int threads, TensorMap& frame,
                  Inspection* inspection) {
  const Side side = model.encoder ? Side::source : Side::target;
  const PartSizes& part = model.sizes(side);
  const std::int64_t last = model.encoder ? encoder_stages(model, options).last : part.n_layers;
  const std::int64_t d = part.d_model;
  const PackedStates input = options.first == 0
                                 ? read_embeddings(frame, model, side, options.wanted)
                                 : read_encoder_states(frame, model, options.first, options.wanted);
  const std::int64_t width = input.rows.longest(), sentences = input.rows.sentences();
  const std::int64_t kept = options.all_layers ? last - options.first : 1;
  Tensor states = Tensor::zeros<float>({sentences, kept, width, d}, {"sentence", "layer", "position", "dim"});
  const FinalWidths widths = model.encoder ? model.encoder->sizes().final_states : FinalWidths{};
  const std::vector<std::string> final_dims{"sentence", "recurrent_layer", "dim"};
  Tensor final_h = Tensor::zeros<float>({sentences, last, widths.h}, final_dims),
         final_c = Tensor::zeros<float>({sentences, last, widths.c}, final_dims);
  std::optional<SentenceVectors> pool;
  if (!options.pool.empty()) pool = sentence_vectors(model, options);
  const std::int64_t vector_width = pool ? pool->width(d) : d;
  Tensor vectors = Tensor::zeros<float>({sentences, vector_width}, {"sentence", "dim"});
  if (inspection) {
    inspection->begin(frame, input.rows, side);
    inspection->start_trace();
  }
  const std::vector<std::string> names = model.encoder ? std::vector<std::string>{} : output_names(last);
  Recording<float>::Wanted recorded;
  if (!names.empty()) recorded = [&](const std::string& name) { return std::ranges::count(names, name) > 0; };
  for_each_shard(sentences, threads, [&](SentenceRange range) {
    InspectedPass pass(model, inspection, range.numbers(), recorded);
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
      for (std::int64_t s = 0; s < range.count; ++s)
        copy_into(matrix_at<float>(states, {range.first + s, slot}),
                  output.row_range(rows.offset(s), rows.length(s)));
      if (pool && layer + 1 == last)
        std::ranges::copy(pool->of(pass, pass.tape->constant(output), rows),
                          vectors.values<float>().begin() + range.first * vector_width);
    }
    for (std::size_t l = 0; l < x.final_states.size(); ++l) {
      const Matrix<const float> state = x.final_states[l].value();
      const auto layer = static_cast<std::int64_t>(l);
      for (std::int64_t s = 0; s < range.count; ++s) {
        const Matrix<const float> row = state.row_range(s, 1);
        copy_into(matrix_at<float>(final_h, {range.first + s}).row_range(layer, 1), row.columns(0, widths.h));
        copy_into(matrix_at<float>(final_c, {range.first + s}).row_range(layer, 1),
                  row.columns(widths.h, widths.c));
      }
    }
    pass.keep();
  });
  frame.erase("encoder/final_h");
  frame.erase("encoder/final_c");
  if (widths.h > 0) frame.add("encoder/final_h", std::move(final_h));
  if (widths.c > 0) frame.add("encoder/final_c", std::move(final_c));
  replace(frame, "encoder/states", std::move(states));
  replace(frame, "encoder/mask", mask_of(input.rows));
  replace(frame, "encoder/length", lengths_of(input.rows));
  frame.groups["encoder"] = {"states",
                             model.encoder ? "Encoder states" : "Decoder states",
                             {"0", "0", ".", "."},
                             {{"layers_done", last}}};
  frame.erase("sentences/values");  // of other states
  frame.groups.erase("sentences");
  if (pool) {
    frame.add("sentences/values", std::move(vectors));
    frame.groups["sentences"] = {"values", "Vectors of sentences", {}, {}};
  }
  if (inspection) inspection->end(frame);
}

void run_embed(const EmbedOptions& options, const InspectionConfig& inspect, std::uint64_t seed,
               const std::function<bool(const std::string& option)>& given) {
  if (!options.pixels.empty()) {
    for (const char* option : {"side", "positions-only", "d-model"})
      if (given(option)) fail<UsageError>("--", option, " cannot be combined with --pixels");
  }
  if (options.positions_only > 0) return write_positions(options);
  if (options.model.empty()) fail<UsageError>("no model: give -m FILE or set HEED_MODEL");
  inspect.check(options.output, options.keep);
  std::optional<Side> side;
  if (!options.side.empty()) side = chosen<Side>("--side", kSides, options.side);
  Needed needed = side == Side::target ? Needed::target_embedding : Needed::source_embedding;
  if (inspect.needs_names()) needed = Needed::everything;
  std::optional<io::FrameReader> input;
  if (options.pixels.empty()) input = begin_reading(options, inspect);
  const LoadedModel loaded = load_model(options.model, needed);
  Stages stages;
  stages.embed = true;
  stages.side = side.value_or(loaded.model->encoder ? Side::source : Side::target);
  if (!options.pixels.empty() && !loaded.model->images)
    fail<UsageError>("--pixels: the model reads words, not images");
  if (!options.pixels.empty() && !inspect.list)
    return run_embed_images(options, inspect, loaded, stages, seed);
  run_stage(
      std::move(input), options, inspect, loaded, stages, seed,
      [&](TensorMap& frame, const std::string& name) {
        expect_stage(frame, name, "tokens");
        io::expect_digest(frame, name, io::kVocabularyDigest, loaded.tokenizer(stages.side).digest(),
                          options.model);
        claim_for_model(frame, name, loaded, options.model);
      },
      [&](TensorMap& frame, Inspection& inspection) {
        embed_frame(*loaded.model, stages.side, frame, &inspection);
        if (!loaded.model->encoder) label_read(frame, loaded);
      });
}

namespace {

void set_layers(EncodeOptions& options, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    fail<UsageError>("--layers: got '", escaped(text), "', wanted FIRST:END, such as 0:2");
  const std::string first = text.substr(0, colon), last = text.substr(colon + 1);
  if (!first.empty()) options.first = to_integer("--layers FIRST:END", first);
  if (!last.empty()) options.last = to_integer("--layers FIRST:END", last);
}

}  // namespace

void run_encode(const StageFiles& files, const std::string& layers, EncodeOptions options,
                const InspectionConfig& inspect, std::uint64_t seed, int threads) {
  set_layers(options, layers);
  if (options.normalise && options.pool.empty()) fail<UsageError>("--normalize goes with --pool");
  options.wanted = values_wanted(files.allow_nonfinite);
  inspect.check(files.output, files.keep);
  std::optional<io::FrameReader> input = begin_reading(files, inspect);
  const LoadedModel loaded =
      load_model(files.model, inspect.needs_names() ? Needed::everything : Needed::encoder);
  const auto precision = chosen<Precision>("--precision", kPrecisions, options.precision);
  loaded.model->set_precision(precision,
                              precision == Precision::float32 ? Unpacked::kept : Unpacked::released);
  run_stage(
      std::move(input), files, inspect, loaded, encoder_stages(*loaded.model, options), seed,
      [&](TensorMap& frame, const std::string& name) {
        expect_stage(frame, name, options.first == 0 ? "embeddings" : "encoder");
        claim_for_model(frame, name, loaded, files.model);
      },
      [&](TensorMap& frame, Inspection& inspection) {
        encode_frame(*loaded.model, options, threads, frame, &inspection);
      });
}

}  // namespace heed
