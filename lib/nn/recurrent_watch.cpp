#include "nn/recurrent_watch.h"

#include <algorithm>

namespace heed {

namespace {

constexpr const char* kHiddenName = "hidden";
constexpr const char* kCellName = "cell";

}  // namespace

template <class T>
void name_cell(const Scope<T>& scope, const RecurrentSizes& sizes, Matrix<const T> gates, Var<T> states) {
  Tape<T>& tape = scope.tape();
  const std::int64_t d = sizes.d_hidden;
  const std::vector<std::string> names = sizes.gates();
  Var<T> h = tape.columns(states, 0, d), all = tape.constant(gates);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * d;
    scope.record(names[i], sizes.cell == "rnn" ? h : tape.columns(all, first, d));
  }
  if (sizes.cell == "lstm") scope.record(kCellName, tape.columns(states, d, d));
  scope.record(kHiddenName, h);
}

template <class T>
CellEdit<T> cell_edit(const Scope<T>& scope, const RecurrentSizes& sizes,
                      std::function<std::vector<Place>(std::size_t step)> places) {
  if (!scope.pass().editor) return {};
  std::vector<std::string> names = sizes.gates();
  const auto gates = static_cast<int>(names.size());
  names.insert(names.end(), {kHiddenName, kCellName});
  bool any = false;
  for (const std::string& name : names) any = scope.edits(name) || any;
  if (!any) return {};
  return [=](std::size_t step, int which, Matrix<T> value) {
    const int number = which >= 0 ? which : which == kCellH ? gates : gates + 1;
    const std::string& name = names[static_cast<std::size_t>(number)];
    if (scope.edits(name)) scope.pass().editor->edit(scope.path() + "/" + name, value, places(step), 1);
  };
}

#define HEED_INSTANTIATE(T)                                                                 \
  template void name_cell(const Scope<T>&, const RecurrentSizes&, Matrix<const T>, Var<T>); \
  template CellEdit<T> cell_edit(const Scope<T>&, const RecurrentSizes&,                    \
                                 std::function<std::vector<Place>(std::size_t)>);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
