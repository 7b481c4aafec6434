#include "stages/score_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/number.h"
#include "text/unicode.h"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kDigitsOfP = 4;

/// Null when it is no number.
double rounded(double value, std::int64_t width) {
  return std::isfinite(value) ? std::stod(fixed(value, width)) : value;
}

std::string confidence(const text::Interval& interval, std::int64_t width) {
  return concat("μ = ", fixed(interval.mean, width), " ± ", fixed(interval.half_width, width));
}

/// One object with the keys of sacreBLEU's JSON.
Json as_json(const ScoreResult& result, std::int64_t width) {
  Json object;
  object["name"] = result.name;
  object["score"] = rounded(result.score, width);
  if (!result.signature.empty()) object["signature"] = result.signature;
  if (result.interval) {
    object["confidence_mean"] = rounded(result.interval->mean, width);
    object["confidence_var"] = rounded(result.interval->half_width, width);
    object["confidence"] = confidence(*result.interval, width);
  }
  if (!result.details.empty()) object["verbose_score"] = result.details;
  for (const auto& [name, number] : result.numbers) object[name] = rounded(number, width);
  for (const text::LabelScore& label : result.labels) {
    object["labels"].push_back({{"label", label.label},
                                {"precision", rounded(label.precision, width)},
                                {"recall", rounded(label.recall, width)},
                                {"f1", rounded(label.f1, width)},
                                {"count", label.count}});
  }
  for (std::string_view part : text::split_any(result.signature, "|")) {
    std::size_t colon = part.find(':');
    object[std::string(part.substr(0, colon))] = std::string(part.substr(colon + 1));
  }
  return object;
}

/// A list for each system, laid out as by sacreBLEU.
Json as_json(const SystemScores& system, std::int64_t width) {
  Json object;
  object["system"] = system.name;
  for (const ScoreResult& result : system.results) {
    Json& of_metric = object[result.name];
    of_metric["score"] = rounded(result.score, width);
    if (result.interval) {
      of_metric["p_value"] = result.p_value ? Json(rounded(*result.p_value, kDigitsOfP)) : Json();
      of_metric["mean"] = rounded(result.interval->mean, width);
      of_metric["ci"] = rounded(result.interval->half_width, width);
    }
    of_metric["signature"] = result.signature;
  }
  return object;
}

}  // namespace

std::string ScoreReport::line(const ScoreResult& result) const {
  const std::string score = fixed(result.score, width);
  if (score_only) return score;
  return concat(result.name, result.signature.empty() ? "" : "|", result.signature, " = ", score,
                result.interval ? " (" + confidence(*result.interval, width) + ")" : "",
                result.details.empty() ? "" : " ", result.details);
}

std::string ScoreReport::of_text(const std::vector<ScoreResult>& results) const {
  if (json) {
    std::vector<std::string> objects;
    for (const ScoreResult& result : results) objects.push_back(as_json(result, width).dump(1));
    const std::string list = joined(objects, ",\n");
    return (results.size() == 1 ? list : "[\n" + list + "\n]") + "\n";
  }
  std::string text;
  for (const ScoreResult& result : results) {
    text += line(result) + '\n';
    if (score_only || result.labels.empty()) continue;
    text += "label\tprecision\trecall\tF1\tcount\n";
    for (const text::LabelScore& label : result.labels) {
      text += concat(label.label, '\t', fixed(label.precision, width), '\t', fixed(label.recall, width), '\t',
                     fixed(label.f1, width), '\t', label.count, '\n');
    }
  }
  return text;
}

std::string ScoreReport::of_sentence(const std::vector<ScoreResult>& results) const {
  if (json) {
    Json list;
    for (const ScoreResult& result : results) list.push_back(as_json(result, width));
    return (results.size() == 1 ? list.front() : list).dump() + "\n";
  }
  std::vector<std::string> lines;
  for (const ScoreResult& result : results) lines.push_back(line(result));
  return joined(lines, "\t") + "\n";
}

std::string ScoreReport::of_systems(const std::vector<SystemScores>& systems) const {
  if (json) {
    Json list;
    for (const SystemScores& system : systems) list.push_back(as_json(system, width));
    return list.dump(4) + "\n";
  }
  std::string text = "system";
  for (const ScoreResult& result : systems.front().results) {
    text += "\t" + result.name;
    if (result.interval)
      text += concat('\t', result.name, "_mean\t", result.name, "_ci\t", result.name, "_p");
  }
  text += '\n';
  for (const SystemScores& system : systems) {
    text += escaped(system.name);
    for (const ScoreResult& result : system.results) {
      text += "\t" + fixed(result.score, width);
      if (result.interval) {
        text +=
            concat('\t', fixed(result.interval->mean, width), '\t', fixed(result.interval->half_width, width),
                   '\t', result.p_value ? fixed(*result.p_value, kDigitsOfP) : "-");
      }
    }
    text += '\n';
  }
  if (score_only) return text;
  for (const ScoreResult& result : systems.front().results)
    text += concat("# ", result.name, '|', result.signature, '\n');
  return text;
}

}  // namespace heed
