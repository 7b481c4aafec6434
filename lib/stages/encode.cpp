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

class Embedding : public FrameWork {
 public:
  Embedding(const Model<float>& model, Side side, TensorMap& frame, Inspection* inspection)
      : frame_(frame), model_(model), side_(side), inspection_(inspection) {
    expect_tokens_of(side, frame, model);
    const PackedTokens given = tokens_of(frame, "tokens", model.sizes(side).vocab_size);
    // A decoder alone continues from what it read.
    const bool read = side == Side::target && !model.encoder;
    tokens_ = read ? model.read_alone(given) : given;
    if (!inspection) return;
    inspection->begin(frame, tokens_.rows, side);
    inspection->start_trace();
  }
  std::int64_t parts() const override { return 1; }
  void compute(std::int64_t) override {
    InspectedPass pass(model_, inspection_, SentenceRange{0, tokens_.rows.sentences()}.numbers());
    replace(frame_, "embeddings/values", pad(model_.embed(pass, side_, tokens_).value(), tokens_.rows));
    replace(frame_, "embeddings/length", lengths_of(tokens_.rows));
    frame_.groups["embeddings"] = {"values",
                                   "Embeddings with positions",
                                   {"0", ".", "."},
                                   {{"side", side_ == Side::source ? "source" : "target"}}};
    pass.keep();
  }
  void finish() override {
    if (inspection_) inspection_->end(frame_);
  }

 protected:
  TensorMap& frame_;

 private:
  const Model<float>& model_;
  Side side_;
  Inspection* inspection_;
  PackedTokens tokens_;
};

}  // namespace

void embed_frame(const Model<float>& model, Side side, TensorMap& frame) {
  Embedding(model, side, frame, nullptr).run(1);
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

/// Of a decoder alone, with the pieces that it reads: /embeddings/token str (sentence, position).
class LabelledEmbedding final : public Embedding {
 public:
  LabelledEmbedding(const LoadedModel& loaded, Side side, TensorMap& frame, Inspection* inspection)
      : Embedding(*loaded.model, side, frame, inspection), loaded_(loaded) {}
  void finish() override {
    Embedding::finish();
    const Packing rows = packing_of("embeddings/length", frame_.at("embeddings/length"),
                                    frame_.at("embeddings/values").shape()[1]);
    const Pieces pieces =
        pieces_read(pieces_of(frame_, loaded_.target, rows), loaded_.target, loaded_.model->reads_as_given);
    replace(frame_, "embeddings/token", token_labels(pieces, "position", rows.longest()));
  }

 private:
  const LoadedModel& loaded_;
};

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
                     options.last >= 0 && stages.first >= stages.last ? ": FIRST is not below END" : "",
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
  enum class How { model, mean, first, last, pooler };
  const How how = chosen<How>("--pool", kSentencePools, options.pool);
  SentenceVectors vectors{.normalised = options.normalise};
  if (how != How::model) vectors.pooling = how == How::pooler ? Pooling::first : kPoolings(options.pool);
  if (how == How::pooler) vectors.pooler = model.pooler;
  if (how == How::pooler && !model.parameters.contains("encoder/pooler/weight"))
    fail<UsageError>("--pool pooler: the model has no encoder/pooler");
  if (how != How::model) return vectors;
  if (!model.sentences)
    fail<UsageError>(
        "--pool model: the model was not made for sentence embeddings: wanted mean, first or last");
  vectors = *model.sentences;
  vectors.normalised = vectors.normalised || options.normalise;
  return vectors;
}

class Encoding final : public FrameWork {
 public:
  Encoding(const Model<float>& model, const EncodeOptions& options, TensorMap& frame, Inspection* inspection);
  std::int64_t parts() const override { return shards_of(input_.rows.sentences()); }
  void compute(std::int64_t part) override {
    in_shard(input_.rows.sentences(), part, [&](SentenceRange range) { encode(range); });
  }
  void finish() override;

 private:
  void encode(SentenceRange range);

  const Model<float>& model_;
  const EncodeOptions& options_;
  TensorMap& frame_;
  Inspection* inspection_;
  const std::int64_t last_, kept_;  ///< the end of the layers, and the number whose output is kept
  PackedStates input_;
  FinalWidths widths_;
  std::vector<std::string> names_;  ///< of the outputs of a decoder alone
  std::optional<SentenceVectors> pool_;
  Tensor states_, final_h_, final_c_, vectors_;
};

Encoding::Encoding(const Model<float>& model, const EncodeOptions& options, TensorMap& frame,
                   Inspection* inspection)
    : model_(model),
      options_(options),
      frame_(frame),
      inspection_(inspection),
      last_(model.encoder ? encoder_stages(model, options).last : model.sizes(Side::target).n_layers),
      kept_(options.all_layers ? last_ - options.first : 1),
      input_(options.first == 0
                 ? read_embeddings(frame, model, model.encoder ? Side::source : Side::target, options.wanted)
                 : read_encoder_states(frame, model, options.first, options.wanted)) {
  const Side side = model.encoder ? Side::source : Side::target;
  const std::int64_t sentences = input_.rows.sentences(), d = model.sizes(side).d_model;
  states_ = Tensor::zeros<float>({sentences, kept_, input_.rows.longest(), d},
                                 {"sentence", "layer", "position", "dim"});
  if (model.encoder)
    widths_ = model.encoder->sizes().final_states;
  else
    names_ = output_names(last_);
  const std::vector<std::string> final_dims{"sentence", "recurrent_layer", "dim"};
  final_h_ = Tensor::zeros<float>({sentences, last_, widths_.h}, final_dims);
  final_c_ = Tensor::zeros<float>({sentences, last_, widths_.c}, final_dims);
  if (!options.pool.empty()) {
    pool_ = sentence_vectors(model, options);
    vectors_ = Tensor::zeros<float>({sentences, pool_->width(d)}, {"sentence", "dim"});
  }
  if (!inspection) return;
  inspection->begin(frame, input_.rows, side);
  inspection->start_trace();
}

void expect_finite_states(Matrix<const float> states, std::int64_t sentence, std::int64_t layer) {
  for (std::int64_t i = 0; i < states.rows; ++i)
    if (!all_finite(row_span(states, i)))
      throw SentenceError(sentence,
                          concat("the states of layer ", layer, " are not finite at position ", i,
                                 ": are its embeddings too large? (--allow-nonfinite lets it pass)"));
}

void Encoding::encode(SentenceRange range) {
  Recording<float>::Wanted recorded;
  if (!names_.empty())
    recorded = [&](const std::string& name) { return std::ranges::count(names_, name) > 0; };
  InspectedPass pass(model_, inspection_, range.numbers(), recorded);
  const Selection shard(input_, range.numbers());
  const Packing& rows = shard.rows();
  Encoded<float> x = shard.on(pass);
  if (!model_.encoder) model_.decode(pass, nullptr, x.states, rows);
  for (std::int64_t layer = options_.first; layer < last_; ++layer) {
    if (model_.encoder) x = model_.encoder->encode(pass, x, layer, layer + 1);
    const std::int64_t slot = layer - (last_ - kept_);
    if (slot < 0) continue;
    const Matrix<const float> output =
        model_.encoder ? x.states.value()
                       : pass.recorded().at(names_[static_cast<std::size_t>(layer)]).matrix();
    for (std::int64_t s = 0; s < range.count; ++s) {
      const Matrix<const float> of_sentence = output.row_range(rows.offset(s), rows.length(s));
      if (options_.wanted == Values::finite) expect_finite_states(of_sentence, s, layer);
      copy_rows(of_sentence, matrix_at<float>(states_, {range.first + s, slot}));
    }
    if (pool_ && layer + 1 == last_)
      std::ranges::copy(pool_->of(pass, pass.tape->constant(output), rows),
                        vectors_.values<float>().begin() + range.first * vectors_.shape()[1]);
  }
  for (std::size_t l = 0; l < x.final_states.size(); ++l) {
    const Matrix<const float> state = x.final_states[l].value();
    const auto layer = static_cast<std::int64_t>(l);
    for (std::int64_t s = 0; s < range.count; ++s) {
      const Matrix<const float> row = state.row_range(s, 1);
      copy_rows(row.columns(0, widths_.h), matrix_at<float>(final_h_, {range.first + s}).row_range(layer, 1));
      copy_rows(row.columns(widths_.h, widths_.c),
                matrix_at<float>(final_c_, {range.first + s}).row_range(layer, 1));
    }
  }
  pass.keep();
}

void Encoding::finish() {
  frame_.erase("encoder/final_h");
  frame_.erase("encoder/final_c");
  if (widths_.h > 0) frame_.add("encoder/final_h", std::move(final_h_));
  if (widths_.c > 0) frame_.add("encoder/final_c", std::move(final_c_));
  replace(frame_, "encoder/states", std::move(states_));
  replace(frame_, "encoder/mask", mask_of(input_.rows));
  replace(frame_, "encoder/length", lengths_of(input_.rows));
  input_ = {};  // the frame may wait
  frame_.groups["encoder"] = {"states",
                              model_.encoder ? "Encoder states" : "Decoder states",
                              {"0", "0", ".", "."},
                              {{"layers_done", last_}}};
  frame_.erase("sentences/values");  // of other states
  frame_.groups.erase("sentences");
  if (pool_) {
    frame_.add("sentences/values", std::move(vectors_));
    frame_.groups["sentences"] = {"values", "Vectors of sentences", {}, {}};
  }
  if (inspection_) inspection_->end(frame_);
}

}  // namespace

void encode_frame(const Model<float>& model, const EncodeOptions& options, int threads, TensorMap& frame) {
  Encoding(model, options, frame, nullptr).run(threads);
}

void run_embed(const EmbedOptions& options, const InspectionConfig& inspect, std::uint64_t seed, int threads,
               const std::function<bool(const std::string& option)>& given) {
  if (!options.pixels.empty()) {
    for (const char* option : {"side", "positions-only", "d-model"})
      if (given(option)) fail<UsageError>("--", option, " cannot be combined with --pixels");
  }
  if (options.positions_only > 0) return write_positions(options);
  if (options.model.empty()) fail<UsageError>("no model: give -m FILE or set HEED_MODEL");
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
      std::move(input), options, inspect, loaded, stages, seed, threads,
      [&](TensorMap& frame, const std::string& name) {
        expect_stage(frame, name, "tokens");
        io::expect_digest(frame, name, io::kVocabularyDigest, loaded.tokenizer(stages.side).digest(),
                          options.model);
        claim_for_model(frame, name, loaded, options.model);
      },
      [&](TensorMap& frame, Inspection& inspection) -> std::unique_ptr<FrameWork> {
        if (!loaded.model->encoder)
          return std::make_unique<LabelledEmbedding>(loaded, stages.side, frame, &inspection);
        return std::make_unique<Embedding>(*loaded.model, stages.side, frame, &inspection);
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
  std::optional<io::FrameReader> input = begin_reading(files, inspect);
  const LoadedModel loaded =
      load_model(files.model, inspect.needs_names() ? Needed::everything : Needed::encoder);
  const auto precision = chosen<Precision>("--precision", kPrecisions, options.precision);
  loaded.model->set_precision(precision,
                              precision == Precision::float32 ? Unpacked::kept : Unpacked::released);
  run_stage(
      std::move(input), files, inspect, loaded, encoder_stages(*loaded.model, options), seed, threads,
      [&](TensorMap& frame, const std::string& name) {
        if (options.first > 0 && frame.contains("embeddings/values") && !frame.contains("encoder/states"))
          fail(name, ": is the output of embed, and --layers ", options.first,
               ": goes on from that of the layers before: run encode --layers 0:", options.first, " first");
        expect_stage(frame, name, options.first == 0 ? "embeddings" : "encoder");
        claim_for_model(frame, name, loaded, files.model);
      },
      [&](TensorMap& frame, Inspection& inspection) {
        return std::make_unique<Encoding>(*loaded.model, options, frame, &inspection);
      });
}

}  // namespace heed
