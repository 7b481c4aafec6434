#include "stages/mean_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/log.h"
#include "base/paths.h"
#include "io/provenance.h"
#include "models/model_file.h"

namespace heed {
namespace {

/// Throws Error unless `other` computes with parameters of the same meaning as `first`.
void expect_alike(const LoadedModel& first, const LoadedModel& other, const std::string& names) {
  if (first.model->architecture != other.model->architecture)
    fail(names, ": are of architectures ", first.model->architecture, " and ", other.model->architecture);
  const auto config = nlohmann::json::parse(first.model->config_json),
             other_config = nlohmann::json::parse(other.model->config_json);
  for (const auto& [field, value] : config.items())
    if (!field.ends_with("dropout") && other_config.value(field, nlohmann::json()) != value)
      fail(names, ": have ", field, " = ", value.dump(), " and ",
           other_config.value(field, nlohmann::json()).dump());
  for (const Side side : {Side::source, Side::target})
    if (first.tokenizer(side).digest() != other.tokenizer(side).digest())
      fail(names, ": have different vocabularies");
  if (first.classes != other.classes) fail(names, ": have different classes");
}

/// The cosine of the angle between the parameters of two models. Of translation models that were trained from the same
/// one it was 0.95, and their mean was better than both; of two that only began with the same seed 0.5, and their mean
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

void MeanCommand::run() const {
  if (models.size() < 2) fail<UsageError>("--mean-of: wanted two models or more, got ", models.size());
  if (output.empty() || output == "-") fail<UsageError>("-o: wanted a file for the mean of the models");
  if (!overwrite && std::filesystem::exists(output))
    fail<UsageError>("-o ", escaped(output), ": already exists; --overwrite replaces it");
  const LoadedModel first = load_model(models[0]);
  const std::span<float> values = first.model->parameters.values();  // of the first until all are added
  std::vector<double> sums(values.begin(), values.end());
  nlohmann::ordered_json about{{"mean_of", {first.digest}}};
  for (std::size_t i = 1; i < models.size(); ++i) {
    const LoadedModel other = load_model(models[i]);
    const std::string names = concat(escaped(models[0]), " and ", escaped(models[i]));
    expect_alike(first, other, names);
    const std::span<const float> added = other.model->parameters.values();
    if (const double near = cosine(values, added); near < kLeastCosine)
      logging::warn(
          concat(names, ": their parameters have a cosine of ", near,
                 ": were they trained from the same model? Otherwise their mean is worse than both"));
    std::ranges::transform(sums, added, sums.begin(), std::plus());
    about["mean_of"].push_back(other.digest);
  }
  const auto count = static_cast<double>(models.size());
  std::ranges::transform(sums, values.begin(),
                         [count](double sum) { return static_cast<float>(sum / count); });
  TensorMap texts = texts_of(first);
  texts.merge(provenance_map(about.dump()));
  if (!first.origin.empty()) texts.merge(origin_map(first.origin));
  texts.attributes["history"] = first.history;
  io::add_history(texts.attributes, write.command);
  save_model(output, *first.model, texts, {}, {{}, write.scales});
  logging::note(concat("saved the mean of ", models.size(), " models in ", escaped(output)));
}

}  // namespace heed
