#include "models/han.h"

#include <sstream>

#include "nn/attention/pooling.h"

namespace heed {

std::vector<std::string> HanConfig::ends() const {
  std::istringstream words(sentence_ends);
  std::vector<std::string> pieces;
  for (std::string piece; words >> piece;) pieces.push_back(piece);
  return pieces;
}

void HanConfig::check() const {
  if (ends().empty()) fail<UsageError>("sentence_ends names no piece, wanted such as . ! ?");
}

namespace {

/// The word encoder (section 2.2). Each sentence is read by itself.
template <class T>
class HanEncoder final : public RecurrentEncoder<T, HanConfig> {
 public:
  using RecurrentEncoder<T, HanConfig>::RecurrentEncoder;

  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    Encoded<T> x = input;
    const Scope<T> encoder = Scope<T>(pass) / "encoder";
    if (first < last) {
      const Scope<T> layer = layer_scope(encoder, 0);
      const Var<T> h = words_of_sentences(layer, input);
      x.states = layer.name("output", drop_out(h, layer.dropout(this->config_.dropout)), *x.rows);
      x.states = encoder.name("output", x.states, *x.rows);
    }
    return x;
  }

 private:
  Var<T> words_of_sentences(const Scope<T>& layer, const Encoded<T>& input) const {
    if (!input.segments) fail("the states of a document without its sentences");
    const auto& [rows, of_document] = *input.segments;
    std::vector<std::int64_t> documents, before;  // of each sentence: the words of its document before it
    for (const Place& at : places_of(of_document)) {
      before.push_back(rows.offset(std::ssize(documents)) - input.rows->offset(at.sentence));
      documents.push_back(at.sentence);
    }
    const Reading<T> reading(layer.pass(), Continuation{documents, before, input.rows});
    return bidirectional(layer, this->config_.encoder(), input.states, rows).h;
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const HanConfig& config) {
  auto model = new_model<T>(config);
  ParameterSet<T>& p = model->parameters;
  const std::int64_t d = 2 * config.d_hidden;
  Declaration<T> add(p, config, Init::uniform(0.1));
  add.words("encoder", config.source_vocab_size);
  add.bidirectional("encoder/layer_0", config.encoder(), config.d_embedding);
  add_pooling(p, "word_attention", d);
  add.bidirectional("sentence_encoder", config.encoder(), d);
  model->encoder = std::make_unique<HanEncoder<T>>(config);
  model->documents = Documents{config.ends(), {}, SpecialIds::kAbsent, config.encoder(), config.dropout};
  model->n_classes = config.n_classes;
  model->classes = ClassesHead{.pooling = Pooling::attention, .attention = "sentence_attention"};
  model->classes->declare(p, d, config.n_classes);
  return model;
}

template std::unique_ptr<Model<float>> build(const HanConfig&);
template std::unique_ptr<Model<double>> build(const HanConfig&);

}  // namespace heed
