// The output of the tool score.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/bootstrap.h"
#include "text/confusion.h"

namespace heed {

struct ScoreResult {
  std::string name;
  double score = 0;
  std::string signature = {}, details = {};
  std::vector<std::pair<std::string, double>> numbers = {};  ///< additional values, for JSON
  std::vector<text::LabelScore> labels = {};
  std::optional<text::Interval> interval = {};  ///< from bootstrap resampling
  std::optional<double> p_value = {};           ///< that the first system's score differs by chance
};

struct SystemScores {
  std::string name;
  std::vector<ScoreResult> results;
};

struct ScoreReport {
  bool json = false;
  bool score_only = false;
  std::int64_t width = 2;  ///< decimal places of scores

  /// A line for each result, and a table of its labels; or JSON with sacreBLEU's keys.
  std::string of_text(const std::vector<ScoreResult>& results) const;
  /// The line of a sentence.
  std::string of_sentence(const std::vector<ScoreResult>& results) const;
  /// A tab-separated table: a line for each system under a heading, followed by the signatures after "# ".
  std::string of_systems(const std::vector<SystemScores>& systems) const;

 private:
  std::string line(const ScoreResult& result) const;
};

}  // namespace heed
