#include "nn/step_order.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace heed {

StepOrder::StepOrder(const Packing& rows, Direction direction, const Continuation* continuation)
    : rows_(rows),
      direction_(direction),
      sentences_(static_cast<std::size_t>(rows.sentences())),
      whole_(continuation ? continuation->whole : nullptr) {
  std::iota(sentences_.begin(), sentences_.end(), 0);
  std::stable_sort(sentences_.begin(), sentences_.end(),
                   [&](std::int64_t a, std::int64_t b) { return rows.length(a) > rows.length(b); });
  auto running = sentences_.end();
  for (std::int64_t step = 0; step < rows.longest(); ++step) {
    while (rows.length(*(running - 1)) <= step) --running;
    if (step == 0 && running != sentences_.end()) {
      fail("sentence ", *running, " is empty: a recurrent layer needs at least one token");
    }
    first_.push_back(first_.back() + (running - sentences_.begin()));
    for (auto sentence = sentences_.begin(); sentence != running; ++sentence) {
      const Place here{*sentence, position(step, *sentence)},
          place = continuation ? (*continuation)(here) : here;
      all_sentences_.push_back(place.sentence);
      all_positions_.push_back(place.position);
    }
  }
}

std::vector<RowOf> StepOrder::to_time_order() const {
  std::vector<RowOf> list;
  for (std::int64_t step = 0; step < steps(); ++step) {
    for (std::int64_t rank = 0; rank < active(step); ++rank) list.push_back({0, packed_row(step, rank)});
  }
  return list;
}

std::vector<RowOf> StepOrder::to_packed() const {
  std::vector<RowOf> list(static_cast<std::size_t>(rows()));
  for (std::int64_t step = 0; step < steps(); ++step) {
    for (std::int64_t rank = 0; rank < active(step); ++rank) {
      list[static_cast<std::size_t>(packed_row(step, rank))] = {static_cast<std::int32_t>(step), rank};
    }
  }
  return list;
}

std::vector<RowOf> StepOrder::from_time_order() const {
  std::vector<RowOf> list = to_packed();
  for (RowOf& row : list) row = {0, first(row.part) + row.row};
  return list;
}

std::vector<RowOf> StepOrder::to_first_step() const {
  std::vector<RowOf> list;
  for (std::int64_t sentence : sentences_) list.push_back({0, sentence});
  return list;
}

std::vector<RowOf> StepOrder::to_last_of_steps() const {
  std::vector<RowOf> list(sentences_.size());
  for (std::size_t rank = 0; rank < sentences_.size(); ++rank) {
    const std::int64_t sentence = sentences_[rank], last = rows_.length(sentence) - 1;
    list[static_cast<std::size_t>(sentence)] = {static_cast<std::int32_t>(last),
                                                static_cast<std::int64_t>(rank)};
  }
  return list;
}

std::vector<RowOf> StepOrder::to_last_step() const {
  std::vector<RowOf> list = to_last_of_steps();
  for (RowOf& row : list) row = {0, first(row.part) + row.row};
  return list;
}

}  // namespace heed
