// Models of other programs in double, with the parameters that they have in float32, against what
// scripts/import-goldens-double computed of the same in float64. What float32 hides, a constant of seven
// digits or one more rounding, shows here.
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "golden/comparison.h"
#include "golden/imports.h"
#include "models/model_file.h"
#include "support/imported_models.h"

namespace heed::golden {
namespace {

/// Of a stage's largest value, or of 1. Logits of small weights would pass 1e-7 in float, too.
constexpr double kAllowed = 1e-12;

/// A folder's model and what its golden files say.
struct Import {
  explicit Import(const std::string& name)
      : model(load_model(folder_of(name)).model),
        given(read_arrays(folder_of(name) + "/expect.safetensors")),
        expected(read_arrays(folder_of(name) + "/expect-double.safetensors")) {
    if (model->images) {
      for (std::int64_t i = 0; i < given.at("pixels").shape()[0]; ++i)
        source.rows.append(model->images->rows());
    } else if (model->encoder) {
      source = read_tokens(given);
    }
    if (model->decoder)
      target = model->encoder ? model->shifted_right(read_tokens(given, "target_")) : read_tokens(given);
  }

  /// The model in double, with this config.
  std::unique_ptr<Model<double>> in_double(const std::string& config) const {
    auto wide = make_model<double>(config);
    TensorMap map;
    model->parameters.to_map(model->parameters.values(), "", map);
    wide->parameters.from_map(map, "", wide->parameters.values());
    return wide;
  }

  /// What a model of these inputs computes last, by the names of the golden files.
  template <class T>
  std::map<std::string, std::vector<T>> last_stages(const Model<T>& of) const {
    Tape<T> tape;
    tape.set_with_gradients(false);
    Pass<T> pass(tape, of.parameters);
    std::map<std::string, std::vector<T>> stages;
    std::optional<Encoded<T>> encoded;
    Var<T> states;
    if (of.encoder) {
      encoded = of.images ? of.encode(pass, images(pass, of), source.rows) : of.encode(pass, source);
      states = encoded->states;
      if (of.parameters.contains("encoder/pooler/weight"))
        stages["pooled"] = SentenceVectors{Pooling::first, false, of.pooler}.of(pass, states, source.rows);
      if (of.sentences) stages["sentence"] = of.sentences->of(pass, states, source.rows);
    }
    if (of.decoder) {
      const Var<T> embedded = of.embed(pass, Side::target, target);
      states = of.decode(pass, encoded ? &*encoded : nullptr, embedded, target.rows).states;
      stages["decoder.states"] = elements<T>(states.value());
    }
    if (of.classes) stages["logits"] = elements<T>(of.class_logits(pass, *encoded).value());
    if (of.words) stages["logits"] = elements<T>(of.words->logits(pass, states).value());
    return stages;
  }

  /// The largest difference of a golden stage, in shares of its largest value or of 1; infinity: it is not
  /// comparable.
  template <class T>
  double distance(const Model<T>& of) const {
    const auto stages = last_stages(of);
    double farthest = expected.tensors().empty() ? INFINITY : 0;
    for (const auto& [name, tensor] : expected.tensors()) {
      const std::vector<double> wanted = numbers<double>(tensor);
      const auto found = stages.find(name);
      if (found == stages.end() || found->second.size() != wanted.size()) return INFINITY;
      double largest = 1, difference = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double here = std::abs(static_cast<double>(found->second[i]) - wanted[i]);
        difference = std::isnan(here) ? INFINITY : std::max(difference, here);
        largest = std::max(largest, std::abs(wanted[i]));
      }
      farthest = std::max(farthest, difference / largest);
    }
    return farthest;
  }

  std::unique_ptr<Model<float>> model;
  TensorMap given, expected;
  PackedTokens source, target;  ///< what encoder and decoder read

 private:
  template <class T>
  Var<T> images(Pass<T>& pass, const Model<T>& of) const {
    return of.images->template embed<T>(pass, numbers<T>(given.at("pixels")), source.rows);
  }
};

BOOST_AUTO_TEST_SUITE(imported_models_in_double)

BOOST_DATA_TEST_CASE(agree_with_float64, boost::unit_test::data::make(test::imported_models()), name) {
  const Import import(name);
  const double in_double = import.distance(*import.in_double(import.model->config_json)),
               in_float = import.distance(*import.model);
  BOOST_CHECK_MESSAGE(in_double <= kAllowed,
                      name << ": difference " << in_double << ", allowed " << kAllowed);
  BOOST_CHECK_MESSAGE(in_float > 10 * kAllowed, name << ": float has a difference of only " << in_float);
  std::cout << std::setprecision(2) << name << ", last stages: " << in_double << " in double, " << in_float
            << " in float\n";
}

struct Wrong {
  const char *what, *model;
  void (*change)(nlohmann::json&);
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
  return out << wrong.model << ", " << wrong.what;
}

void rounded(nlohmann::json& number) {
  number = static_cast<double>(number.get<float>());
}
void larger_epsilon(nlohmann::json& c) {
  c["norm_epsilon"] = 10 * c["norm_epsilon"].get<double>();
}
void rounded_epsilon(nlohmann::json& c) {
  rounded(c["norm_epsilon"]);
}
void gelu_by_tanh(nlohmann::json& c) {
  c["activation"] = "gelu_tanh";
}
void gelu_by_erf(nlohmann::json& c) {
  c["activation"] = "gelu";
}

const std::vector<Wrong> kWrong{
    {"epsilon times 10", "roberta-classes", larger_epsilon},
    {"epsilon times 10", "gpt2", larger_epsilon},
    {"epsilon times 10", "llama", larger_epsilon},
    {"epsilon times 10", "gpt-neox", larger_epsilon},
    {"epsilon times 10", "gemma", larger_epsilon},
    {"epsilon times 10", "gemma3", larger_epsilon},
    {"epsilon times 10", "olmo2", larger_epsilon},
    {"epsilon times 10", "qwen3-sentence", larger_epsilon},
    {"epsilon times 10", "marian", larger_epsilon},
    {"epsilon times 10", "t5", larger_epsilon},
    {"epsilon times 10", "vit-no-bias", larger_epsilon},
    {"epsilon in float32", "roberta-classes", rounded_epsilon},
    {"epsilon in float32", "gpt2", rounded_epsilon},
    {"epsilon in float32", "llama", rounded_epsilon},
    {"GELU by tanh", "bert-masked", gelu_by_tanh},
    {"GELU by tanh", "distilbert-masked", gelu_by_tanh},
    {"another last bucket", "mpnet-sentence", [](nlohmann::json& c) { c["relative_max_distance"] = 160; }},
    {"tanh in place of the pooler's GELU", "electra-classes",
     [](nlohmann::json& c) { c["pooler_activation"] = "tanh"; }},
    {"GELU by tanh", "vit", gelu_by_tanh},
    {"GELU by erf", "gpt2", gelu_by_erf},
    {"GELU by erf", "t5-gated", gelu_by_erf},
    {"scale of logits in float32", "t5", [](nlohmann::json& c) { rounded(c["logit_scale"]); }},
    {"factor of YaRN's cosines in float32", "llama-yarn",
     [](nlohmann::json& c) { rounded(c["rope_attention_factor"]); }},
    {"another base of rotary positions", "qwen3", [](nlohmann::json& c) { c["rope_base"] = 1'000'001.0; }},
    {"the mean of the states", "qwen3-sentence", [](nlohmann::json& c) { c["pooling"] = "mean"; }},
    {"another base in layers with the window", "gemma3-sentence",
     [](nlohmann::json& c) { c["rope_local_base"] = 100.0001; }},
    {"another base in layers with the window", "gemma3",
     [](nlohmann::json& c) { c["rope_local_base"] = 100.0001; }},
};

BOOST_DATA_TEST_CASE(show_what_is_wrong, boost::unit_test::data::make(kWrong), wrong) {
  const Import import(wrong.model);
  auto config = nlohmann::json::parse(import.model->config_json);
  wrong.change(config);
  const double distance = import.distance(*import.in_double(config.dump()));
  BOOST_CHECK_MESSAGE(distance > 10 * kAllowed && std::isfinite(distance),
                      wrong << ": difference " << distance);
  std::cout << std::setprecision(2) << wrong << ": " << distance << '\n';
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace heed::golden
