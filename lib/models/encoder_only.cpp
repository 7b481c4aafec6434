#include "models/encoder_only.h"

#include "base/error.h"
#include "models/config_json.h"

namespace heed {

EncoderOnlyConfig::EncoderOnlyConfig() {
  positions = "learned";
}

void EncoderOnlyConfig::classify(std::int64_t classes, const std::string& how) {
  if (!how.empty() && kPoolings(how) == Pooling::none)
    fail<UsageError>(
        "pooling = none classifies each token, and labels are of sentences: wanted first, mean, last or "
        "attention");
  const EncoderOnlyConfig plain;
  const bool had_head = n_classes > 0 && kPoolings(pooling) != Pooling::none;
  const std::string was = pooling;
  if (!how.empty())
    pooling = how;
  else if (kPoolings(pooling) == Pooling::none)
    pooling = "first";
  if (!had_head || pooling != was)
    pooler = (kPoolings(pooling) == Pooling::first || pooler_norm) && !reads_images();
  n_classes = classes;
  problem_type = plain.problem_type;
  // These belong to other heads.
  masked_words = plain.masked_words;
  word_transform = plain.word_transform;
  output_bias = plain.output_bias;
  logit_scale = plain.logit_scale;
  normalised = plain.normalised;
  dense_width = plain.dense_width;
  dense_inner_width = plain.dense_inner_width;
  dense_activation = plain.dense_activation;
  dense_bias = plain.dense_bias;
}

void EncoderOnlyConfig::check() const {
  check_options(n_encoder_layers);
  check_images();
  check_embeddings();
  check_classes();
  if ((n_classes > 0 || !masked_words) && (output_bias || logit_scale != 1 || word_transform))
    fail<UsageError>("output_bias, logit_scale and word_transform are of output words, which ",
                     n_classes > 0 ? "a classifier" : "masked_words = false", " has none of");
  const bool of_sentences = n_classes == 0 && !masked_words;
  if (normalised && !of_sentences)
    fail<UsageError>("normalised requires masked_words = false and no classes");
  if (const Pooling how = kPoolings(pooling);
      of_sentences && (how == Pooling::attention || how == Pooling::none))
    fail<UsageError>("pooling = ", pooling, " requires classes; sentence embeddings are mean, first or last");
  if (dense_width > 0 && !of_sentences)
    fail<UsageError>("dense_width requires masked_words = false and no classes");
  if (dense_inner_width > 0 && dense_width == 0)
    fail<UsageError>("dense_inner_width is of the layer before that of dense_width, which is 0");
  if (causal && n_classes == 0 && masked_words)
    fail<UsageError>(
        "causal = true hides what follows a masked word: wanted classes, or masked_words = false");
  if (causal && kPoolings(pooling) == Pooling::first)
    fail<UsageError>("causal = true: the first state has read the first token alone: wanted pooling = last");
}

void EncoderOnlyConfig::check_classes() const {
  const bool single = kProblemTypes(problem_type) == ProblemType::single_label;
  if (classifier_dropout < 0 && classifier_dropout != -1)
    fail<UsageError>("classifier_dropout is ", classifier_dropout, ", wanted -1, or ", to_string(share()));
  if (n_classes == 1 && single) fail<UsageError>("n_classes is 1, wanted at least 2");
  if (n_classes == 0 && !single) fail<UsageError>("problem_type = ", problem_type, " requires classes");
  if (kPoolings(pooling) != Pooling::none) return;
  if (n_classes == 0 || !single || (pooler && !pooler_norm) || reads_images())
    fail<UsageError>(
        "pooling = none classifies each token, of models of other programs: wanted classes, problem_type = "
        "single_label, pooler = false or pooler_norm = true, and words, not images");
}

void EncoderOnlyConfig::check_embeddings() const {
  if (!first_norm &&
      (kNorms(norm) != Norm::pre || kParallelResiduals(parallel_residual) != ParallelResidual::no))
    fail<UsageError>(
        "first_norm = false leaves out the norm of the first sublayer: wanted norm = pre and "
        "parallel_residual = "
        "no");
  if (embedding_width == 0) return;
  const bool has_words = n_classes == 0 && masked_words;
  if (reads_images() || positions != "learned" || embedding_scale != "1" || (has_words && !word_transform))
    fail<UsageError>(
        "embedding_width = ", embedding_width,
        " is of words: wanted positions = learned, embedding_scale = 1, and word_transform = true "
        "in a model of masked words");
}

void EncoderOnlyConfig::check_images() const {
  if (!reads_images()) return;
  const std::int64_t rows = patches().rows();
  if (max_length != rows)
    fail<UsageError>("max_length is ", max_length, ", wanted ", rows,
                     ": the patches of an image and the class token");
  if (source_vocab_size != 1 || n_token_types > 0 || embedding_norm || positions != "learned" ||
      position_offset > 0 || (n_classes == 0 && masked_words))
    fail<UsageError>(
        "a model of images has no words: wanted source_vocab_size = 1, n_token_types = 0, embedding_norm = "
        "false, positions = learned, position_offset = 0, and classes or masked_words = false");
}

template <class T>
std::unique_ptr<Model<T>> build(const EncoderOnlyConfig& config) {
  auto model = new_model<T>(config);
  ParameterSet<T>& p = model->parameters;
  const std::string table = "encoder/embedding/weight";
  if (config.reads_images()) {
    model->images = config.patches();
    model->images->declare(p, config.d_model);
  } else {
    declare_table(p, table, config.source_vocab_size, config.table_width());
  }
  auto stack = StackSettings::encoder(config, config.n_encoder_layers, config.source_vocab_size, table);
  stack.n_token_types = config.n_token_types;
  stack.embedding_width = config.embedding_width;
  stack.first_norm = config.first_norm;
  stack.causal = stack.positions.causal = config.causal;
  stack.positions.d_model = config.table_width();
  declare_stack(p, stack);
  model->encoder = std::make_unique<TransformerEncoder<T>>(stack);
  model->pooler = {kActivations(config.pooler_activation), config.head_bias,
                   config.pooler_norm ? std::optional(stack.norms) : std::nullopt};
  if (config.n_classes == 0) {
    if (config.pooler) model->pooler.declare(p, config.d_model);
    if (!config.masked_words) {
      model->sentences = {.pooling = kPoolings(config.pooling),
                          .normalised = config.normalised,
                          .dense_width = config.dense_width,
                          .dense_inner_width = config.dense_inner_width,
                          .dense_activation = kActivations(config.dense_activation),
                          .dense_bias = config.dense_bias};
      model->sentences->declare(p, config.d_model);
      return model;
    }
    model->words = declare_words(p, Tied::all, table, config, config.source_vocab_size, "masked_word");
    if (config.word_transform) {
      model->words->transform = {"masked_word", stack.feed_forward.activation, stack.norms, config.head_bias};
      model->words->transform->declare(p, config.d_model, config.table_width());
    }
    return model;
  }
  model->n_classes = config.n_classes;
  model->classes = ClassesHead{.pooling = kPoolings(config.pooling),
                               .pooler = config.pooler ? std::optional(model->pooler) : std::nullopt,
                               .problem = kProblemTypes(config.problem_type),
                               .dropout = config.head_dropout(),
                               .pooler_dropout = config.pooler_dropout ? config.head_dropout() : 0};
  model->classes->declare(p, config.d_model, config.n_classes);
  return model;
}

template std::unique_ptr<Model<float>> build(const EncoderOnlyConfig&);
template std::unique_ptr<Model<double>> build(const EncoderOnlyConfig&);

}  // namespace heed
