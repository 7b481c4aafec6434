#include "train/metrics.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace heed {

namespace {

struct Column {
  const char* name;
  double MetricsRow::*value;
  bool of_clock;
};

constexpr Column kColumns[] = {
    {"train_loss", &MetricsRow::train_loss, false},
    {"valid_loss", &MetricsRow::valid_loss, false},
    {"valid_accuracy", &MetricsRow::valid_accuracy, false},
    {"valid_bleu", &MetricsRow::valid_bleu, false},
    {"learning_rate", &MetricsRow::learning_rate, false},
    {"gradient_norm", &MetricsRow::gradient_norm, false},
    {"target_tokens_per_second", &MetricsRow::target_tokens_per_second, true},
    {"seconds", &MetricsRow::seconds, true},
};

std::string number(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x, std::chars_format::general, 7).ptr};
}

template <class T, class Member>
Tensor column(const Metrics& metrics, Member member) {
  std::vector<T> values;
  for (const MetricsRow& row : metrics) values.push_back(row.*member);
  return Tensor::of<T>(std::move(values), {static_cast<std::int64_t>(metrics.size())}, {"step"});
}

template <class T>
std::span<const T> checked(const TensorMap& map, const std::string& path, std::size_t rows) {
  const Tensor& tensor = map.at(path);
  expect_shape(path, tensor.shape(), {static_cast<std::int64_t>(rows)});
  return tensor.values<T>();
}

}  // namespace

void metrics_to_map(const Metrics& metrics, const std::string& prefix, bool with_clock, TensorMap& map) {
  map.add(prefix + "step", column<std::int64_t>(metrics, &MetricsRow::step));
  map.add(prefix + "epoch", column<std::int64_t>(metrics, &MetricsRow::epoch));
  for (const Column& c : kColumns) {
    if (with_clock || !c.of_clock) map.add(prefix + c.name, column<double>(metrics, c.value));
  }
  Group& group = map.groups[prefix.substr(0, prefix.rfind('/'))];
  const bool validates = metrics.empty() || metrics.back().valid_loss >= 0;
  group.signal = validates ? "valid_loss" : "train_loss";
  group.title = validates ? "Loss in training and validation" : "Loss in training";
  if (validates) group.attributes["auxiliary_signals"] = std::vector<std::string>{"train_loss"};
}

TensorMap model_metrics(const Metrics& metrics) {
  TensorMap map;
  if (!metrics.empty()) metrics_to_map(metrics, "model/training/", false, map);
  return map;
}

Metrics metrics_from_map(const TensorMap& map, const std::string& prefix) {
  Metrics metrics(static_cast<std::size_t>(map.at(prefix + "step").size()));
  const auto steps = checked<std::int64_t>(map, prefix + "step", metrics.size());
  const auto epochs = checked<std::int64_t>(map, prefix + "epoch", metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    metrics[i].step = steps[i];
    metrics[i].epoch = epochs[i];
  }
  for (const Column& c : kColumns) {
    if (c.of_clock && !map.contains(prefix + c.name)) continue;
    const auto values = checked<double>(map, prefix + c.name, metrics.size());
    for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i].*c.value = values[i];
  }
  return metrics;
}

std::string metrics_to_tsv(const Metrics& metrics) {
  std::string table = "step\tepoch";
  for (const Column& c : kColumns) table += concat('\t', c.name);
  table += "\tvalid_perplexity\n";
  for (const MetricsRow& row : metrics) {
    table += std::to_string(row.step) + '\t' + std::to_string(row.epoch);
    for (const Column& c : kColumns) table += '\t' + number(row.*c.value);
    table += '\t' + number(row.valid_loss < 0 ? -1 : std::exp(row.valid_loss)) + '\n';
  }
  return table;
}

}  // namespace heed
