#include "stages/mean_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/log.h"
#include "io/provenance.h"
#include "models/architectures.h"
#include "models/config_json.h"
#include "models/model_file.h"

namespace heed {
namespace {

/// Throws Error unless the configs, whose fields of training may differ, agree. They are compared as they are read, with
/// the fields that a file leaves out.
void expect_same_config(const Model<float>& first, const Model<float>& other, const std::string& names) {
  with_architecture(first.architecture, [&](const auto& known) {
    typename std::decay_t<decltype(known)>::Config one, two;
    const std::vector<Field> fields = fields_of(one), other_fields = fields_of(two);
    from_json(first.config_json, fields);
    from_json(other.config_json, other_fields);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string value = to_json(fields[i]), other_value = to_json(other_fields[i]);
      if (!fields[i].of_training && value != other_value)
        fail(names, ": have ", fields[i].name, " = ", value, " and ", other_value);
    }
  });
}

/// Throws Error unless the parameters of `other` mean the same as those of `first`.
void expect_alike(const LoadedModel& first, const LoadedModel& other, const std::string& names) {
  if (first.model->architecture != other.model->architecture)
    fail(names, ": are of architectures ", first.model->architecture, " and ", other.model->architecture,
         ", wanted models of the same one");
  for (const Side side : {Side::source, Side::target})
    if (first.tokenizer(side).digest() != other.tokenizer(side).digest())
      fail(names, ": have different vocabularies");
  if (first.classes != other.classes) fail(names, ": have different classes");
  expect_same_config(*first.model, *other.model, names);
}

/// The cosine of the angle between the parameters of two models. For two translation models trained from the same one it
/// was 0.95, and their mean translated as well as they did; for two that merely shared a seed it was 0.5, and their mean
/// lost 5 BLEU.
double cosine(std::span<const float> x, std::span<const float> y) {
  const auto product = [](std::span<const float> a, std::span<const float> b) {
    return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0, std::plus(),
                                 [](double p, double q) { return p * q; });
  };
  return product(x, y) / std::sqrt(product(x, x) * product(y, y));
}
constexpr double kLeastCosine = 0.8;

}  // namespace

void MeanCommand::run(const NewModelFile& file) const {
  if (models.size() < 2) fail<UsageError>("--mean-of: wanted two models or more, got ", models.size());
  file.expect_possible("the mean of the models");
  const LoadedModel first = load_model(models[0]);
  const std::span<float> values = first.model->parameters.values();  // of the first until all are added
  std::vector<double> sums(values.begin(), values.end());
  nlohmann::ordered_json provenance{{"mean_of", {first.digest}}};
  for (std::size_t i = 1; i < models.size(); ++i) {
    const LoadedModel other = load_model(models[i]);
    const std::string names = concat(escaped(models[0]), " and ", escaped(models[i]));
    expect_alike(first, other, names);
    const std::span<const float> added = other.model->parameters.values();
    if (const double near = cosine(values, added); !(near >= kLeastCosine))
      logging::warn(concat(names, ": their parameters have a cosine of ", near,
                           ": were they trained from the same model? Otherwise their mean is of no use"));
    std::ranges::transform(sums, added, sums.begin(), std::plus());
    provenance["mean_of"].push_back(other.digest);
  }
  const auto count = static_cast<double>(models.size());
  std::ranges::transform(sums, values.begin(),
                         [count](double sum) { return static_cast<float>(sum / count); });
  TensorMap texts = texts_of(first);
  texts.attributes["history"] = first.history;
  io::add_history(texts.attributes, file.command);
  TensorMap about = provenance_map(provenance.dump());
  if (!first.origin.empty()) about.merge(origin_map(unverified_origin(first).dump()));
  save_model(file.path, *first.model, texts, about, {{}, file.scales});
  logging::note(concat("saved the mean of ", models.size(), " models in ", escaped(file.path)));
}

}  // namespace heed
