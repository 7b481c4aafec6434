// Whole models against PyTorch: every activation, logits, loss, all gradients, ten steps of training.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "autograd/ops_recurrent.h"
#include "golden/comparison.h"
#include "models/model.h"
#include "nn/recording.h"

namespace heed::golden {
namespace {

const std::vector<std::string> kModels{"transformer_post_norm",
                                       "transformer_pre_norm",
                                       "transformer_no_positions",
                                       "bahdanau_gru",
                                       "bahdanau_reset_after",
                                       "bahdanau_lstm",
                                       "bahdanau_rnn",
                                       "bahdanau_normed",
                                       "cho_paper",
                                       "cho_mixed",
                                       "xu_gate",
                                       "xu_penalty",
                                       "xu_normed",
                                       "sutskever_shallow",
                                       "sutskever_deep",
                                       "luong_dot",
                                       "luong_general",
                                       "luong_concat",
                                       "luong_location",
                                       "luong_additive",
                                       "luong_local_m",
                                       "luong_local_p",
                                       "luong_local_p_concat",
                                       "luong_bidirectional",
                                       "luong_normed",
                                       "decoder_pre_norm",
                                       "decoder_post_norm",
                                       "encoder_masked",
                                       "encoder_first",
                                       "encoder_mean",
                                       "encoder_attention",
                                       "transformer_t5",
                                       "transformer_marian",
                                       "transformer_t2t",
                                       "transformer_ssru",
                                       "decoder_llama",
                                       "decoder_qwen",
                                       "decoder_alibi",
                                       "encoder_roberta",
                                       "encoder_pooler",
                                       "encoder_distil",
                                       "han_gru",
                                       "han_lstm"};

/// None where the model has no such text.
PackedTokens read_sentences(const TensorMap& golden, const std::string& group) {
  if (!golden.contains(group + "/ids")) return {};
  return {numbers<std::int32_t>(golden.at(group + "/ids")),
          Packing(numbers<std::int32_t>(golden.at(group + "/length")))};
}

std::set<std::string> names_below(const TensorMap& golden, const std::string& prefix) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : golden.tensors()) {
    if (name.starts_with(prefix)) names.insert(name.substr(prefix.size()));
  }
  return names;
}

/// Compares each named value of a pass with the golden one of that name; a name that only one side knows is
/// an error.
template <class T>
void check_activations(const Recording<T>& recording, const TensorMap& golden, double tolerance,
                       Comparison& comparison) {
  const std::set<std::string> wanted = names_below(golden, "activations/");
  for (const std::string& name : wanted)
    BOOST_CHECK_MESSAGE(recording.has(name), "the model does not name " << name);
  for (const auto& [name, value] : recording.values()) {
    BOOST_CHECK_MESSAGE(wanted.contains(name), name << " is not in the golden file");
    if (wanted.contains(name))
      comparison.check(name, value.values, golden.at("activations/" + name), tolerance);
  }
}

/// A model with golden parameters, and passes over the golden sentences.
template <class T>
class Replica {
 public:
  explicit Replica(const std::string& name)
      : golden(read_golden(name)),
        model(make_model<T>(golden.at("model/config").template values<std::string>()[0])),
        gradients(model->parameters.values().size()),
        source_(read_sentences(golden, "source")),
        answers_(read_sentences(golden, model->decoder   ? "target"
                                        : model->classes ? "label"
                                                         : "hidden")),
        positions_(read_sentences(golden, "position")) {
    model->parameters.from_map(golden, "parameters/", model->parameters.values());
    if (!model->documents) return;
    model->documents->end_ids = numbers<std::int32_t>(golden.at("end/ids"));
    model->documents->eos = kDefaultSpecialIds.eos;
  }

  /// Rows that have a right answer.
  std::int64_t rows() const { return answers_.rows.rows(); }

  /// Forward and backward: fills `logits` and, with the derivatives of the mean smoothed loss, `gradients`.
  CrossEntropySums run(Recorder<T>* recorder = nullptr) {
    std::fill(gradients.begin(), gradients.end(), T(0));
    tape_.reset();
    tape_.set_with_gradients(true);
    Pass<T> pass(tape_, model->parameters);
    pass.gradients = gradients.data();
    pass.training = true;  // golden models have no dropout: nothing may change
    pass.recorder = recorder;
    std::optional<Encoded<T>> encoded;
    if (model->encoder) encoded = model->encode(pass, source_);
    const CrossEntropySums sums = predict(pass, encoded ? &*encoded : nullptr);
    tape_.backward();
    return sums;
  }

  /// A flat buffer of the model's layout against the golden tensors below `prefix`, but for names `except`.
  void compare(Comparison& comparison, std::span<const T> flat, const std::string& prefix, double tolerance,
               const std::string& except = "none") const {
    for (const Parameter& p : model->parameters.list()) {
      if (p.name.ends_with(except)) continue;
      comparison.check(prefix + p.name, elements<T>(p.in(flat.data())), golden.at(prefix + p.name),
                       tolerance);
    }
    BOOST_TEST(names_below(golden, prefix).size() == model->parameters.list().size());
  }

  TensorMap golden;
  std::unique_ptr<Model<T>> model;
  std::vector<T> gradients, logits;

 private:
  /// From what the encoder made, or nothing, to the loss.
  CrossEntropySums predict(Pass<T>& pass, const Encoded<T>* encoded) {
    const T scale = static_cast<T>(1.0 / static_cast<double>(rows()));
    const double smoothing = numbers<double>(golden.at("loss/smoothing")).at(0);
    if (model->decoder) {
      const Decoded<T> decoded = model->decode(pass, encoded, answers_);
      logits = elements(model->words->logits(pass, decoded.states).value());
      return model->loss(pass, decoded, answers_, smoothing, scale);
    }
    if (model->classes) {
      Pass<T> unseen = pass;  // the loss names its values itself
      unseen.recorder = nullptr;
      logits = elements(model->class_logits(unseen, *encoded).value());
      return model->class_loss(pass, *encoded, answers_.ids, smoothing, scale);
    }
    const Var<T> states = select_rows<T>({encoded->states}, hidden_rows());
    logits = elements(model->words->logits(pass, states).value());
    return model->words->loss(pass, states, answers_.ids, smoothing, scale);
  }
  /// Of the words that a mask hides.
  std::vector<RowOf> hidden_rows() const {
    std::vector<RowOf> rows;
    for (std::int64_t s = 0; s < positions_.rows.sentences(); ++s)
      for (std::int64_t i = positions_.rows.offset(s); i < positions_.rows.offset(s + 1); ++i)
        rows.push_back({0, source_.rows.offset(s) + positions_.ids[static_cast<std::size_t>(i)]});
    return rows;
  }

  PackedTokens source_, answers_, positions_;
  Tape<T> tape_;
};

template <class T>
void check_one_pass(const std::string& name) {
  Replica<T> replica(name);
  const TensorMap& golden = replica.golden;
  // Layer normalisation of a few nearly equal sums divides what rounding left by their small deviation.
  const double tolerance = kTolerance<T> * (name.ends_with("_normed") ? 10 : 1);
  Comparison activations = Comparison::of<T>(name + ", activations");
  Recording<T> recording([](const std::string&) { return true; });
  const CrossEntropySums sums = replica.run(&recording);
  check_activations(recording, golden, tolerance, activations);

  Comparison loss = Comparison::of<T>(name + ", logits and loss");
  loss.check("logits", replica.logits, golden.at("logits"), tolerance);
  loss.check("smoothed", std::vector{sums.loss}, golden.at("loss/smoothed"), tolerance);
  loss.check("nll", std::vector{sums.nll}, golden.at("loss/nll"), tolerance);
  BOOST_TEST(sums.correct == numbers<std::int32_t>(golden.at("loss/correct")).at(0));

  Comparison gradients = Comparison::of<T>(name + ", gradients");
  replica.compare(gradients, replica.gradients, "gradients/", tolerance);
}

/// Trains as the golden run did. The bias of keys is left out: its true gradient is zero (it adds the same to
/// all scores of a query), and Adam makes its steps of rounding errors.
template <class T>
void check_training(const std::string& name) {
  Replica<T> replica(name);
  const std::vector<double> rates = numbers<double>(replica.golden.at("training/learning_rate"));
  std::vector<T> m(replica.gradients.size()), v(replica.gradients.size());
  std::vector<double> losses;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    losses.push_back(replica.run().loss / static_cast<double>(replica.rows()));
    adam_update<T>(adam_step(rates[i], 0.98, 1e-9, i + 1), replica.model->parameters.values(),
                   replica.gradients, m, v);
  }
  // Sums that are normalised over a few units have gradients near zero, which Adam makes as long as all
  // others.
  const double tolerance = kTrainingTolerance<T> * (name.ends_with("_normed") ? 50 : 1);
  Comparison comparison = Comparison::of<T>(name + ", ten steps of training");
  comparison.check("loss", losses, replica.golden.at("training/loss"), tolerance);
  replica.compare(comparison, replica.model->parameters.values(), "training/parameters/", tolerance,
                  "/key/bias");
}

}  // namespace

BOOST_DATA_TEST_CASE(float_model_is_pytorchs, boost::unit_test::data::make(kModels), name) {
  check_one_pass<float>(name);
}

BOOST_DATA_TEST_CASE(double_model_is_pytorchs, boost::unit_test::data::make(kModels), name) {
  check_one_pass<double>(name);
}

BOOST_DATA_TEST_CASE(float_training_is_pytorchs, boost::unit_test::data::make(kModels), name) {
  check_training<float>(name);
}

BOOST_DATA_TEST_CASE(double_training_is_pytorchs, boost::unit_test::data::make(kModels), name) {
  check_training<double>(name);
}

}  // namespace heed::golden
