#include "autograd/op_times.h"

#include <algorithm>

#include "tensor/product_count.h"

namespace heed {

namespace {

using Clock = std::chrono::steady_clock;

/// "linear" of "heed::Var<T> heed::linear(heed::Var<T>, ...) [with T = float]", "StepLinear" of its constructor and
/// call operator.
std::string op_of(std::string function) {
  auto erase = [&](const std::string& part) {
    for (std::size_t at; (at = function.find(part)) != std::string::npos;) function.erase(at, part.size());
  };
  for (const char* part : {"(anonymous namespace)::", "{anonymous}::", "<T>", "heed::", "::operator()"})
    erase(part);
  function.erase(std::min(function.find('('), function.size()));
  function.erase(0, function.rfind(' ') + 1);  // npos + 1 is 0
  return function.substr(0, function.find("::"));
}

void add_row(const OpTimes::Row& part, OpTimes::Row& sum) {
  sum.seconds += part.seconds;
  sum.flops += part.flops;
  sum.bytes += part.bytes;
  sum.calls += part.calls;
}

}  // namespace

void OpTimes::start() {
  since_ = Clock::now();
  flops_ = product_flops;
}

void OpTimes::end(const char* function, bool backward, double bytes) {
  const double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  add_row({{}, seconds, product_flops - flops_, bytes, 1}, rows_[{function, backward}]);
  start();
}

void OpTimes::add(const OpTimes& other) {
  for (const auto& [key, row] : other.rows_) add_row(row, rows_[key]);
}

std::vector<OpTimes::Row> OpTimes::rows() const {
  std::map<std::string, Row> by_name;
  for (const auto& [key, row] : rows_) {
    const std::string name = op_of(key.first) + (key.second ? ", backward" : "");
    add_row(row, by_name[name]);
  }
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) {
    row.op = name;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  return rows;
}

}  // namespace heed
