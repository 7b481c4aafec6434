#include "tensor/cells/cell.h"

#include "base/error.h"
#include "tensor/cells/cell_list.h"

namespace heed {

namespace {

const std::vector<Cell>& cells() {
#define HEED_LIST(name) name##_cell(),
  static const std::vector<Cell> list{HEED_CELLS(HEED_LIST)};
#undef HEED_LIST
  return list;
}

}  // namespace

std::vector<std::string> cell_names() {
  std::vector<std::string> names;
  for (const Cell& cell : cells()) names.push_back(cell.name);
  return names;
}

const Cell& cell_named(const std::string& name) {
  for (const Cell& cell : cells()) {
    if (cell.name == name) return cell;
  }
  fail("recurrent layer: no cell is named ", escaped(name));
}

}  // namespace heed
