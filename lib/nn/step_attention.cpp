#include "nn/step_attention.h"

#include <algorithm>

namespace heed {

template <class T>
void name_step_attention(const Scope<T>& scope, const std::string& name, const std::vector<Var<T>>& steps,
                         const StepOrder& order, const Packing& queries, const Packing& keys) {
  if (!scope.wants(name)) return;
  std::vector<std::int64_t> block{0};  // where each sentence's block begins
  for (std::int64_t s = 0; s < queries.sentences(); ++s) {
    block.push_back(block.back() + queries.length(s) * keys.length(s));
  }
  std::vector<T> blocks(static_cast<std::size_t>(block.back()));
  for (std::int64_t t = 0; t < order.steps(); ++t) {
    const Matrix<const T> rows = steps[static_cast<std::size_t>(t)].value();
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const std::int64_t s = order.sentences(t)[static_cast<std::size_t>(i)], m = keys.length(s);
      std::copy_n(rows.row(i), m, blocks.begin() + block[static_cast<std::size_t>(s)] + t * m);
    }
  }
  scope.name_attention(name, blocks, 1, queries, keys);
}

template void name_step_attention(const Scope<float>&, const std::string&, const std::vector<Var<float>>&,
                                  const StepOrder&, const Packing&, const Packing&);
template void name_step_attention(const Scope<double>&, const std::string&, const std::vector<Var<double>>&,
                                  const StepOrder&, const Packing&, const Packing&);

}  // namespace heed
