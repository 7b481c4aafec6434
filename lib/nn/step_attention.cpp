#include "nn/step_attention.h"

namespace heed {

template <class T>
void name_step_attention(const Scope<T>& scope, const std::string& name, const std::vector<Var<T>>& steps,
                         const std::vector<RowOf>& rows, const Packing& queries, const Packing& keys) {
  if (!scope.wants(name)) return;
  std::vector<T> blocks;
  for (std::int64_t s = 0; s < queries.sentences(); ++s) {
    for (std::int64_t i = queries.offset(s); i < queries.offset(s + 1); ++i) {
      const RowOf at = rows[static_cast<std::size_t>(i)];
      const T* row = steps[static_cast<std::size_t>(at.part)].value().row(at.row);
      blocks.insert(blocks.end(), row, row + keys.length(s));
    }
  }
  scope.name_attention(name, blocks, 1, queries, keys);
}

#define HEED_INSTANTIATE(T)                                                                          \
  template void name_step_attention(const Scope<T>&, const std::string&, const std::vector<Var<T>>&, \
                                    const std::vector<RowOf>&, const Packing&, const Packing&);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
