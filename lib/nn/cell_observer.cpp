#include "nn/cell_observer.h"

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
CellObserver<T> cell_observer(const Scope<T>& scope, const RecurrentSizes& sizes,
                              std::function<StepRows(std::size_t step)> rows) {
  if (!scope.pass().recorder && !scope.pass().editor) return {};
  const std::vector<std::string> gates = sizes.gates();
  std::vector<CellPart> parts{{CellPart::hidden}, {CellPart::cell}, {CellPart::normed_cell}};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(gates.size()); ++i) {
    parts.push_back({CellPart::gate, i});
    parts.push_back({CellPart::normed_product, i});
  }
  CellObserver<T> observer;
  bool inspected = false;
  for (const CellPart& part : parts) {
    inspected = inspected || scope.inspected(name_of(part, gates));
    observer.changes = observer.changes || scope.edits(name_of(part, gates));
  }
  if (!inspected) return {};
  observer.observe = [=](std::size_t step, CellPart part, Matrix<T> value) {
    scope.name_in_place(name_of(part, gates), value, rows(step));
  };
  return observer;
}

#define HEED_INSTANTIATE(T)                                                      \
  template CellObserver<T> cell_observer(const Scope<T>&, const RecurrentSizes&, \
                                         std::function<StepRows(std::size_t step)>);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
