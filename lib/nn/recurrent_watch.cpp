#include "nn/recurrent_watch.h"

namespace heed {

namespace {

std::string name_of(const CellPart& part, const std::vector<std::string>& gates) {
  const std::string& gate = gates.at(static_cast<std::size_t>(part.number));
  switch (part.kind) {
    case CellPart::gate:
      return gate;
    case CellPart::hidden:
      return "hidden";
    case CellPart::cell:
      return "cell";
    case CellPart::normed_product:
      return "recurrent_norm/" + gate;
    case CellPart::normed_cell:
      return "cell_norm/output";
  }
  return "";
}

}  // namespace

template <class T>
CellLooks<T> cell_looks(const Scope<T>& scope, const RecurrentSizes& sizes,
                        std::function<StepRows(std::size_t step)> rows) {
  if (!scope.pass().recorder && !scope.pass().editor) return {};
  const std::vector<std::string> gates = sizes.gates();
  std::vector<CellPart> parts{{CellPart::hidden}, {CellPart::cell}, {CellPart::normed_cell}};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(gates.size()); ++i) {
    parts.push_back({CellPart::gate, i});
    parts.push_back({CellPart::normed_product, i});
  }
  CellLooks<T> looks;
  bool watched = false;
  for (const CellPart& part : parts) {
    watched = watched || scope.watched(name_of(part, gates));
    looks.changes = looks.changes || scope.edits(name_of(part, gates));
  }
  if (!watched) return {};
  looks.see = [=](std::size_t step, CellPart part, Matrix<T> value) {
    scope.look(name_of(part, gates), value, rows(step));
  };
  return looks;
}

#define HEED_INSTANTIATE(T)                                                \
  template CellLooks<T> cell_looks(const Scope<T>&, const RecurrentSizes&, \
                                   std::function<StepRows(std::size_t step)>);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
