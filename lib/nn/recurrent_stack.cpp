#include "nn/recurrent_stack.h"

#include "autograd/ops.h"

namespace heed {

template <class T>
StackOutput<T> recurrent_stack(const Scope<T>& scope, const RecurrentSizes& sizes, std::int64_t from,
                               std::int64_t to, Var<T> x, const Packing& rows, Direction direction,
                               double dropout, const std::vector<Var<T>>& first) {
  StackOutput<T> output{x, {}};
  for (std::int64_t l = from; l < to; ++l) {
    Scope<T> layer = layer_scope(scope, l);
    const Var<T> start = first.empty() ? Var<T>() : first.at(static_cast<std::size_t>(l - from));
    const RecurrentOutput<T> states = recurrent(layer / "state", sizes, output.h, rows, direction, start);
    output.h = layer.name("output", drop_out(states.h, layer.dropout(dropout)), rows);
    output.last.push_back(states.last);
  }
  return output;
}

#define HEED_INSTANTIATE(T)                                                                        \
  template StackOutput<T> recurrent_stack(const Scope<T>&, const RecurrentSizes&, std::int64_t,    \
                                          std::int64_t, Var<T>, const Packing&, Direction, double, \
                                          const std::vector<Var<T>>&);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
