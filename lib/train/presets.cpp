#include "train/presets.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "models/architectures.h"
#include "models/config_json.h"
#include "train/train_config.h"

namespace heed {

namespace {

constexpr Preset kPresets[] = {
    // The model and recipe published for text-only Multi30k, 2.6 million parameters: Wu, Kong, Bi, Li, Kao:
    // Good for misconceived reasons, ACL 2021.
    {"transformer-tiny", "transformer",
     R"({"n_encoder_layers": 4, "n_decoder_layers": 4, "d_model": 128, "d_ff": 256, "n_heads": 4, "dropout": 0.3})",
     R"({"learning_rate": 0.005, "schedule": "inverse-sqrt", "warmup": 2000, "beta2": 0.98, "eps": 1e-8,
         "label_smoothing": 0.1, "batch_tokens": 4096, "patience": 10, "valid_bleu": true})"},
    // Vaswani et al. 2017, table 3 and section 5.
    {"transformer-base", "transformer",
     R"({"n_encoder_layers": 6, "n_decoder_layers": 6, "d_model": 512, "d_ff": 2048, "n_heads": 8, "dropout": 0.1})",
     R"({"learning_rate": 1, "schedule": "noam", "warmup": 4000, "beta2": 0.98, "eps": 1e-9,
         "label_smoothing": 0.1, "batch_tokens": 4096, "patience": 10, "valid_bleu": true})"},
    // Bahdanau, Cho, Bengio 2015, section 4.2 and appendix B: RNNsearch-50 in its own sizes, 80 sentences an
    // update, gradients cut at norm 1.
    {"bahdanau2015", "bahdanau",
     R"({"d_embedding": 620, "d_hidden": 1000, "d_align": 1000, "d_maxout": 500, "init": "paper"})",
     R"({"optimizer": "adadelta", "learning_rate": 1, "schedule": "constant", "warmup": 0, "beta2": 0.95,
         "eps": 1e-6, "mean_over": "sentences", "clip": 1, "label_smoothing": 0, "batch_tokens": 2400,
         "patience": 10, "valid_bleu": true})"},
    // The same for a corpus of Multi30k's size.
    {"bahdanau2015-small", "bahdanau",
     R"({"d_embedding": 256, "d_hidden": 256, "d_align": 256, "d_maxout": 256, "init": "xavier",
         "dropout": 0.4})",
     R"({"learning_rate": 0.002, "schedule": "inverse-sqrt", "warmup": 500, "beta2": 0.98, "eps": 1e-8,
         "clip": 1, "label_smoothing": 0.1, "batch_tokens": 1600, "patience": 10, "valid_bleu": true})"},
    // Cho et al. 2014, section 4.1 and appendix A. There 64 phrases are an update; here as many words as in
    // 64 sentences of 30.
    {"cho2014", "cho", R"({"d_embedding": 100, "d_hidden": 1000, "d_maxout": 500, "init": "paper"})",
     R"({"optimizer": "adadelta", "learning_rate": 1, "schedule": "constant", "warmup": 0, "beta2": 0.95,
         "eps": 1e-6, "mean_over": "sentences", "label_smoothing": 0, "batch_tokens": 1920, "patience": 10,
         "valid_bleu": true})"},
    // The same for a corpus of Multi30k's size.
    {"cho2014-small", "cho",
     R"({"d_embedding": 256, "d_hidden": 512, "d_maxout": 256, "init": "xavier", "dropout": 0.3})",
     R"({"learning_rate": 0.002, "schedule": "inverse-sqrt", "warmup": 500, "beta2": 0.98, "eps": 1e-8,
         "clip": 1, "label_smoothing": 0.1, "batch_tokens": 1600, "patience": 10, "valid_bleu": true})"},
    // Xu et al. 2015 on text: hard attention, an LSTM, dropout and Adam as there (section 4.3).
    {"xu2015", "xu",
     R"({"d_embedding": 512, "d_hidden": 1000, "d_align": 512, "init": "paper", "dropout": 0.5})",
     R"({"learning_rate": 0.0005, "schedule": "constant", "warmup": 0, "beta2": 0.999, "eps": 1e-8, "clip": 5,
         "label_smoothing": 0, "batch_tokens": 1600, "patience": 10, "valid_bleu": true})"},
    // The same for a corpus of Multi30k's size.
    {"xu2015-small", "xu",
     R"({"d_embedding": 256, "d_hidden": 256, "d_align": 256, "init": "xavier", "dropout": 0.4})",
     R"({"learning_rate": 0.002, "schedule": "inverse-sqrt", "warmup": 500, "beta2": 0.98, "eps": 1e-8,
         "clip": 1, "label_smoothing": 0.1, "batch_tokens": 1600, "patience": 10, "valid_bleu": true})"},
    // Sutskever, Vinyals, Le 2014, section 3.4: updates of 128 sentences (of 30 words), 7.5 epochs.
    {"sutskever2014", "sutskever",
     R"({"d_embedding": 1000, "d_hidden": 1000, "n_layers": 4, "init": "paper"})",
     R"({"optimizer": "sgd", "learning_rate": 0.7, "schedule": "halving", "halve_after": 5, "halve_every": 0.5,
         "warmup": 0, "mean_over": "sentences", "clip": 5, "label_smoothing": 0, "batch_tokens": 3840,
         "max_epochs": 8, "valid_bleu": true})"},
    // The same for a corpus of Multi30k's size.
    {"sutskever2014-small", "sutskever",
     R"({"d_embedding": 256, "d_hidden": 512, "n_layers": 2, "init": "xavier", "dropout": 0.3})",
     R"({"learning_rate": 0.002, "schedule": "inverse-sqrt", "warmup": 500, "beta2": 0.98, "eps": 1e-8,
         "clip": 5, "label_smoothing": 0.1, "batch_tokens": 1600, "patience": 10, "valid_bleu": true})"},
    // Luong, Pham, Manning 2015, section 4.1 and the best single model of table 1: reversed source, dropout,
    // predictive local attention with the general score, input feeding; updates of 128 sentences (of 30
    // words).
    {"luong2015", "luong",
     R"({"d_embedding": 1000, "d_hidden": 1000, "n_layers": 4, "score": "general", "attention": "local-p",
         "window": 10, "d_align": 1000, "init": "paper", "dropout": 0.2})",
     R"({"optimizer": "sgd", "learning_rate": 1, "schedule": "halving", "halve_after": 8, "halve_every": 1,
         "warmup": 0, "mean_over": "sentences", "clip": 5, "label_smoothing": 0, "batch_tokens": 3840,
         "max_epochs": 12, "valid_bleu": true})"},
    // The same for a corpus of Multi30k's size: global attention, an encoder that reads both ways. The score
    // is concat: general is the least stable one under Adam; of four seeds on a small corpus at a rate of
    // 0.006 two stay on the plateau before alignment forms.
    {"luong2015-small", "luong",
     R"({"d_embedding": 256, "d_hidden": 256, "d_attentional": 256, "n_layers": 1, "bidirectional": true,
         "reverse_source": false, "score": "concat", "d_align": 256, "init": "xavier", "dropout": 0.3,
         "output_dropout": 0.2})",
     R"({"learning_rate": 0.003, "schedule": "inverse-sqrt", "warmup": 300, "beta2": 0.98, "eps": 1e-8,
         "clip": 1, "label_smoothing": 0.1, "batch_tokens": 2400, "patience": 10, "valid_bleu": true})"},
    // A language model in the sizes of transformer-tiny's decoder, arranged as GPT-2 (pre-norm, learned
    // positions).
    {"gpt-tiny", "decoder",
     R"({"n_decoder_layers": 4, "d_model": 128, "d_ff": 512, "n_heads": 4, "max_length": 256, "dropout": 0.2})",
     R"({"learning_rate": 0.003, "schedule": "inverse-sqrt", "warmup": 400, "beta2": 0.98, "eps": 1e-8,
         "weight_decay": 0.01, "clip": 1, "label_smoothing": 0, "batch_tokens": 4096, "patience": 5})"},
    // The same with the layers of Llama (Touvron et al. 2023; Grattafiori et al. 2024): as many parameters,
    // d_ff being two thirds of gpt-tiny's, for a gated network has three matrices.
    {"llama-tiny", "decoder",
     R"({"n_decoder_layers": 4, "d_model": 128, "d_ff": 344, "n_heads": 4, "n_kv_heads": 2, "max_length": 256,
         "norm_kind": "rms", "positions": "rotary", "activation": "silu", "gated": true,
         "attention_bias": "none", "feed_forward_bias": false, "dropout": 0.2})",
     R"({"learning_rate": 0.003, "schedule": "inverse-sqrt", "warmup": 400, "beta2": 0.98, "eps": 1e-8,
         "weight_decay": 0.01, "clip": 1, "label_smoothing": 0, "batch_tokens": 4096, "patience": 5})"},
    // The pair of transformer-tiny with the layers of T5 1.1 (Raffel et al. 2020; Shazeer 2020), the output
    // tied to the embeddings as in T5 1.0.
    {"t5-tiny", "transformer",
     R"({"n_encoder_layers": 4, "n_decoder_layers": 4, "d_model": 128, "d_ff": 176, "n_heads": 4, "norm": "pre",
         "norm_kind": "rms", "norm_epsilon": 1e-6, "positions": "relative_buckets", "activation": "gelu_tanh",
         "gated": true, "attention_bias": "none", "feed_forward_bias": false, "score_scale": "1", "dropout": 0.3})",
     R"({"learning_rate": 0.005, "schedule": "inverse-sqrt", "warmup": 2000, "beta2": 0.98, "eps": 1e-8,
         "label_smoothing": 0.1, "batch_tokens": 4096, "patience": 10, "valid_bleu": true})"},
    // BERT in the same sizes: masked words, or classes with --labels.
    {"bert-tiny", "encoder",
     R"({"n_encoder_layers": 4, "d_model": 128, "d_ff": 512, "n_heads": 4, "max_length": 256, "norm": "pre",
         "pooling": "attention", "dropout": 0.1})",
     R"({"learning_rate": 0.002, "schedule": "inverse-sqrt", "warmup": 400, "beta2": 0.98, "eps": 1e-8,
         "weight_decay": 0.01, "clip": 1, "label_smoothing": 0, "batch_tokens": 4096, "patience": 5})"},
    // Hierarchical attention (Yang et al. 2016), in the widths of the paper's GRUs.
    {"han-small", "han", R"({"d_embedding": 64, "d_hidden": 50, "dropout": 0.2})",
     R"({"learning_rate": 0.003, "schedule": "inverse-sqrt", "warmup": 100, "beta2": 0.98, "eps": 1e-8, "clip": 1,
         "label_smoothing": 0, "batch_tokens": 4096, "patience": 5})"},
    // Dosovitskiy et al. 2021 in the sizes of scripts/make-shapes, the layers of transformers' ViT.
    {"vit-tiny", "encoder",
     R"({"source_vocab_size": 1, "n_encoder_layers": 3, "d_model": 64, "d_ff": 256, "n_heads": 4, "max_length": 17, "n_classes": 2,
         "image_size": 32, "patch_size": 8, "norm": "pre", "activation": "gelu", "norm_epsilon": 1e-12,
         "pooling": "first", "dropout": 0.1})",
     R"({"learning_rate": 0.002, "schedule": "inverse-sqrt", "warmup": 200, "beta2": 0.98, "eps": 1e-8,
         "weight_decay": 0.01, "clip": 1, "label_smoothing": 0, "batch_tokens": 2176, "patience": 5, "max_epochs": 20})"},
    // Xu et al. 2015 as meant, on pictures of that size: soft attention over 4 * 4 places. The gate of the
    // context is left out: where it is closed, what is attended to means nothing.
    {"caption-small", "xu",
     R"({"source_vocab_size": 1, "d_embedding": 128, "d_hidden": 128, "d_align": 128, "init": "xavier", "attend_to": "mean",
         "context_gate": false, "image_size": 32, "patch_size": 8, "dropout": 0})",
     R"({"learning_rate": 0.002, "schedule": "inverse-sqrt", "warmup": 200, "beta2": 0.98, "eps": 1e-8,
         "clip": 1, "label_smoothing": 0, "batch_tokens": 1024, "patience": 0, "average": 5, "max_epochs": 22,
         "valid_bleu": true})"},
};

}  // namespace

const Preset& find_preset(const std::string& name) {
  std::string known;
  for (const Preset& preset : kPresets) {
    if (name == preset.name) return preset;
    known += concat(known.empty() ? "" : ", ", preset.name);
  }
  fail<UsageError>("--preset: got ", escaped(name), ", wanted one of ", known);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

namespace {

using Row = std::array<std::string, 8>;

/// "6 + 6"; of a part that is missing "-".
template <class Value>
std::string of_both(const Model<float>& model, Value value) {
  auto text = [&](const PartSizes* part) { return part ? concat(value(*part)) : std::string("-"); };
  return concat(text(model.encoder ? &model.encoder->sizes() : nullptr), " + ",
                text(model.decoder ? &model.decoder->sizes() : nullptr));
}

/// "2,614,272"
std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string recipe(const TrainConfig& training, double dropout) {
  std::string text = concat(training.optimizer, " ", training.learning_rate, " ", training.schedule);
  if (training.warmup > 0) text += concat(", warmup ", training.warmup);
  if (training.clip > 0) text += concat(", clip ", training.clip);
  if (dropout > 0) text += concat(", dropout ", dropout);
  return text;
}

Row table_row(const Preset& preset) {
  Row row;
  with_architecture(preset.architecture, [&]<class Architecture>(const Architecture&) {
    typename Architecture::Config config;
    from_json(preset.model, fields_of(config));
    for (const Field& field : fields_of(config)) {
      if (!field.name.ends_with("vocab_size")) continue;
      std::int64_t& size = *std::get<std::int64_t*>(field.value);
      if (size == 0) size = 8000;  // an image's is stated
    }
    const std::unique_ptr<Model<float>> model = build<float>(config);
    TrainConfig training;
    from_json(preset.training, fields_of(training));
    row = {preset.name,
           preset.architecture,
           of_both(*model, [](const PartSizes& part) { return part.n_layers; }),
           of_both(*model, [](const PartSizes& part) { return part.d_model; }),
           of_both(*model, [](const PartSizes& part) { return part.d_embedding; }),
           of_both(*model, [](const PartSizes& part) { return part.n_heads; }),
           with_commas(model->parameters.count()),
           recipe(training, config.dropout)};
  });
  return row;
}

}  // namespace

std::string preset_table() {
  std::vector<Row> rows{
      {"preset", "architecture", "layers", "width", "embedding", "heads", "parameters", "recipe"}};
  for (const Preset& preset : kPresets) rows.push_back(table_row(preset));
  Row::size_type widths[std::tuple_size_v<Row>] = {};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text =
      "Columns give encoder + decoder; width is that of a layer's output; parameters are for vocabularies of "
      "8,000 pieces.\n";
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(i + 1 < row.size() ? widths[i] - row[i].size() : 0, ' ');
      const bool right = i == 6;
      text += concat(right ? padding : "", row[i], right ? "" : padding, i + 1 < row.size() ? "  " : "\n");
    }
  }
  return text;
}

}  // namespace heed
