#include "nn/recurrent_stack.h"

#include "autograd/ops.h"

namespace heed {

template <class T>
void add_recurrent_stack(ParameterSet<T>& parameters, const std::string& scope, const RecurrentSizes& sizes,
                         std::int64_t n_layers, std::int64_t d_in,
                         const std::function<RecurrentInit(std::int64_t)>& init) {
  for (std::int64_t l = 0; l < n_layers; ++l) {
    const std::int64_t width = l == 0 ? d_in : sizes.d_hidden;
    add_recurrent(parameters, scope + "/layer_" + std::to_string(l) + "/state", sizes, width, init(width));
  }
}

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
  template void add_recurrent_stack(ParameterSet<T>&, const std::string&, const RecurrentSizes&,   \
                                    std::int64_t, std::int64_t,                                    \
                                    const std::function<RecurrentInit(std::int64_t)>&);            \
  template StackOutput<T> recurrent_stack(const Scope<T>&, const RecurrentSizes&, std::int64_t,    \
                                          std::int64_t, Var<T>, const Packing&, Direction, double, \
                                          const std::vector<Var<T>>&);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
