// What a few updates make of classifiers of other programs (scripts/import-goldens-tuned), and of models that
// get a new head.
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>

#include "golden/comparison.h"
#include "golden/imports.h"
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/model_file.h"
#include "train/fine_tuning.h"

namespace heed::golden {
namespace {

/// A classifier, what it reads, and what its parameters' gradients are.
struct Learner {
  explicit Learner(const std::string& name) : loaded(load_model(folder_of(name))), model(*loaded.model) {
    const TensorMap given = read_arrays(folder_of(name) + "/expect.safetensors");
    gradients.resize(model.parameters.values().size());
    if (model.images) {
      pixels = numbers<float>(given.at("pixels"));
      for (std::int64_t i = 0; i < given.at("pixels").shape()[0]; ++i)
        tokens.rows.append(model.images->rows());
      return;
    }
    tokens = read_tokens(given);
  }

  Encoded<float> encode(Pass<float>& pass) const {
    return model.images
               ? model.encode(pass, model.images->embed<float>(pass, pixels, tokens.rows), tokens.rows)
               : model.encode(pass, tokens);
  }
  std::vector<float> logits() {
    tape.reset();
    tape.set_with_gradients(false);
    Pass<float> pass(tape, model.parameters);
    return elements<float>(model.class_logits(pass, encode(pass)).value());
  }
  /// The mean cross-entropy; fills `gradients`.
  double loss(const std::vector<std::int32_t>& labels) {
    std::ranges::fill(gradients, 0.0f);
    tape.reset();
    tape.set_with_gradients(true);
    Pass<float> pass(tape, model.parameters);
    pass.gradients = gradients.data();
    const double n = static_cast<double>(labels.size());
    const double sum = model.class_loss(pass, encode(pass), labels, 0, static_cast<float>(1 / n)).loss;
    tape.backward();
    return sum / n;
  }

  LoadedModel loaded;
  Model<float>& model;
  PackedTokens tokens;
  std::vector<float> pixels, gradients;
  Tape<float> tape;
};

const std::vector<std::string> kClassifiers{"bert-classes", "roberta-classes", "distilbert-classes", "vit"};

BOOST_AUTO_TEST_SUITE(fine_tuning)

BOOST_DATA_TEST_CASE(goes_as_in_transformers, boost::unit_test::data::make(kClassifiers), name) {
  Learner learner(name);
  const TensorMap tuned = read_arrays(folder_of(name) + "/tuned.safetensors");
  const std::vector<std::int32_t> labels = whole_numbers(tuned.at("labels"));
  const double rate = numbers<double>(tuned.at("learning_rate")).at(0);
  std::vector<float> m(learner.gradients.size()), v(learner.gradients.size());
  std::vector<double> losses;
  for (std::int64_t t = 1; t <= tuned.at("loss").size(); ++t) {
    losses.push_back(learner.loss(labels));
    adam_update<float>(adam_step(rate, 0.999, 1e-8, static_cast<std::size_t>(t)),
                       learner.model.parameters.values(), learner.gradients, m, v);
  }
  Comparison comparison = Comparison::of<float>(name + ", fine-tuned");
  comparison.check("loss", losses, tuned.at("loss"), kTrainingTolerance<float>);
  comparison.check("logits", learner.logits(), tuned.at("logits"), kTrainingTolerance<float>);
}

/// Dropout has the same places and sizes in the head: logits deviate alike over many drawings, of which the
/// golden has 30,000.
BOOST_DATA_TEST_CASE(a_head_drops_out_as_in_transformers, boost::unit_test::data::make(kClassifiers), name) {
  Learner learner(name);
  const std::vector<double> expected =
      numbers<double>(read_arrays(folder_of(name) + "/tuned.safetensors").at("head_deviation"));
  Tape<float> tape, once;
  Pass<float> still(once, learner.model.parameters);
  const Encoded<float> encoded = learner.encode(still);
  constexpr int kDrawings = 6'000;
  std::vector<double> sums(expected.size()), squares(expected.size());
  for (int i = 0; i < kDrawings; ++i) {
    tape.reset();
    Pass<float> pass(tape, learner.model.parameters);
    pass.training = true;
    pass.seed = 5;
    pass.step = static_cast<std::uint64_t>(i);
    const Encoded<float> again{tape.constant(encoded.states.value()), encoded.rows, {}};
    const std::vector<float> logits = elements<float>(learner.model.class_logits(pass, again).value());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      sums[k] += logits[k];
      squares[k] += static_cast<double>(logits[k]) * logits[k];
    }
  }
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const double mean = sums[k] / kDrawings,
                 deviation =
                     std::sqrt(std::max(squares[k] / kDrawings - mean * mean, 0.0));  // may round below 0
    BOOST_CHECK_MESSAGE(
        std::abs(deviation - expected[k]) <= 0.06 * expected[k] + 1e-6,
        name << ": logit " << k << " deviates by " << deviation << ", wanted " << expected[k]);
  }
}

/// The model of `name` with a head for `classes`, and what is said of it.
struct Started {
  Started(const std::string& name, std::vector<std::string> classes, const std::string& pooling = "",
          std::optional<double> dropout = {})
      : initial(load_model(folder_of(name))),
        original(load_model(folder_of(name))),
        classes(std::move(classes)) {
    EncoderOnlyConfig config;
    from_json(initial.model->config_json, fields_of(config));
    config.classify(static_cast<std::int64_t>(this->classes.size()), pooling);
    config.classifier_dropout = dropout.value_or(config.classifier_dropout);
    model = build<float>(config);
    said = start_from(initial, model, this->classes, 7);
  }
  bool keeps(const std::string& parameter) const {
    return elements<float>(std::as_const(model->parameters).view(parameter)) ==
           elements<float>(std::as_const(original.model->parameters).view(parameter));
  }

  LoadedModel initial, original;
  std::vector<std::string> classes;
  std::unique_ptr<Model<float>> model;
  std::string said;
};

BOOST_AUTO_TEST_CASE(a_new_head_leaves_the_body_as_it_is) {
  for (const char* name :
       {"bert-masked", "roberta-masked", "distilbert-masked", "bert-sentence", "bert-tokens"}) {
    const Started started(name, {"bad", "good"});
    std::int64_t taken = 0;
    for (const Parameter& p : started.model->parameters.list()) {
      if (p.name.starts_with("classes/") || !started.original.model->parameters.contains(p.name)) continue;
      BOOST_CHECK_MESSAGE(started.keeps(p.name), name << ": " << p.name << " was changed");
      ++taken;
    }
    BOOST_TEST(taken > 20);
    const auto drawn = elements<float>(std::as_const(started.model->parameters).view("classes/weight"));
    BOOST_TEST(std::ranges::count(drawn, 0.0f) == 0);
    BOOST_TEST(started.said.starts_with("new head of 2 classes (from --labels)"));
  }
}

/// As in transformers, whose heads of ModernBERT share that layer.
BOOST_AUTO_TEST_CASE(the_layer_before_the_words_of_modernbert_pools_for_classes) {
  const Started started("modernbert-masked", {"bad", "good"});
  const ParameterSet<float>&own = started.model->parameters, &from = started.original.model->parameters;
  for (const auto& [pooler, words] : {std::pair("encoder/pooler/weight", "masked_word/inner/weight"),
                                      {"encoder/pooler_norm/gamma", "masked_word/norm/gamma"}})
    BOOST_TEST(elements<float>(own.view(pooler)) == elements<float>(from.view(words)));
  BOOST_TEST(
      started.said ==
      "new head of 2 classes (from --labels), pooling = first; initialised at random: classes; not used: "
      "masked_word");
}

BOOST_AUTO_TEST_CASE(pools_as_the_model_does) {
  const auto head = [](const std::string& name, const std::string& how = "") {
    return *Started(name, {"bad", "good"}, how).model->classes;
  };
  BOOST_TEST((head("bert-masked").pooling == Pooling::first &&
              head("bert-masked").pooler == Pooler{Activation::tanh}));
  BOOST_TEST((head("distilbert-masked").pooler == Pooler{Activation::relu}));
  BOOST_TEST((head("bert-sentence").pooling == Pooling::mean && !head("bert-sentence").pooler));
  BOOST_TEST((head("bert-sentence", "first").pooler == Pooler{Activation::tanh}));
  BOOST_TEST((head("bert-masked", "attention").pooling == Pooling::attention &&
              !head("bert-masked", "mean").pooler));
  BOOST_TEST((head("bert-tokens").pooling == Pooling::first &&
              head("bert-tokens").pooler == Pooler{Activation::tanh}));
  BOOST_TEST((head("modernbert-masked").pooler->norm && head("modernbert-mean").pooler->norm));
  BOOST_TEST((head("modernbert-mean").pooling == Pooling::mean));
  BOOST_TEST((head("modernbert-tokens").pooling == Pooling::first && head("modernbert-tokens").pooler->norm));
  BOOST_TEST((head("roberta-several").problem == ProblemType::single_label));
  BOOST_TEST((head("vit").pooling == Pooling::first && !head("vit").pooler));
}

BOOST_AUTO_TEST_CASE(a_new_head_drops_out_as_that_of_its_kind) {
  const auto dropouts = [](const std::string& name) {
    const ClassesHead head = *Started(name, {"bad", "good"}).model->classes;
    return std::pair(head.dropout, head.pooler_dropout);
  };
  BOOST_TEST((dropouts("bert-masked") == std::pair(0.1, 0.0)));  // hidden_dropout_prob
  BOOST_TEST((dropouts("roberta-masked") == std::pair(0.1, 0.1)));
  BOOST_TEST((dropouts("distilbert-masked") == std::pair(0.2, 0.0)));  // seq_classif_dropout
  BOOST_TEST((dropouts("vit") == std::pair(0.0, 0.0)));
}

BOOST_AUTO_TEST_CASE(classes_of_tokens_drop_out_as_those_of_their_kind) {
  const auto dropout = [](const std::string& name) {
    return load_model(folder_of(name)).model->classes->dropout;
  };
  BOOST_TEST(dropout("bert-tokens") == 0.1);        // hidden_dropout_prob
  BOOST_TEST(dropout("distilbert-tokens") == 0.1);  // dropout, not seq_classif_dropout
}

BOOST_AUTO_TEST_CASE(the_same_classes_keep_their_head_and_order) {
  const Started same("bert-classes", {"LABEL_2", "LABEL_0", "LABEL_1"});
  BOOST_TEST(same.said == "the model's own head of 3 classes");
  BOOST_TEST((same.classes == std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  BOOST_TEST((same.keeps("classes/weight") && same.keeps("encoder/pooler/weight")));
  const Started others("bert-classes", {"a", "b", "c"});  // as many
  BOOST_TEST((!others.keeps("classes/weight") && others.keeps("encoder/pooler/weight")));
  Started other_dropout("bert-classes", {"LABEL_0", "LABEL_1", "LABEL_2"}, "", 0.5);
  BOOST_TEST((other_dropout.said == "the model's own head of 3 classes" &&
              other_dropout.model->classes->dropout == 0.5));
  const Started pooled("bert-classes", {"LABEL_0", "LABEL_1", "LABEL_2"}, "mean");
  BOOST_TEST(!pooled.keeps("classes/weight"));
  BOOST_TEST(pooled.said ==
             "new head of 3 classes (from --labels), pooling = mean; initialised at random: classes; not "
             "used: encoder/pooler");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace heed::golden
