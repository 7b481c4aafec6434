#include "models/recurrent_model.h"

#include "base/instantiate.h"

namespace heed {

PartSizes recurrent_part(std::int64_t vocab_size, std::int64_t n_layers, std::int64_t d_embedding,
                         std::int64_t d_model) {
  PartSizes sizes;
  sizes.vocab_size = vocab_size;
  sizes.n_layers = n_layers;
  sizes.d_embedding = d_embedding;
  sizes.d_model = d_model;
  return sizes;
}

DecoderSizes attending_decoder(const PartSizes& part, HeadWidths head) {
  DecoderSizes sizes{part};
  sizes.n_heads = 1;
  sizes.heads = head;
  sizes.reads_memory = true;
  sizes.first_attending_layer = part.n_layers - 1;
  return sizes;
}

DecoderSizes fixed_vector_decoder(const PartSizes& part) {
  DecoderSizes sizes{part};
  sizes.reads_memory = true;
  sizes.first_attending_layer = part.n_layers;
  return sizes;
}

template <class T>
RecurrentOutput<T> bidirectional(const Scope<T>& layer, const RecurrentSizes& sizes, Var<T> x,
                                 const Packing& rows) {
  const RecurrentOutput<T> f = recurrent(layer / "forward", sizes, x, rows, Direction::forward),
                           b = recurrent(layer / "backward", sizes, x, rows, Direction::backward);
  const std::int64_t n = sizes.d_hidden;
  Var<T> last;
  for (std::int64_t part = 0; part < sizes.state_width(); part += n) {
    const Var<T> both =
        side_by_side(layer.tape().columns(f.last, part, n), layer.tape().columns(b.last, part, n));
    last = last ? side_by_side(last, both) : both;
  }
  return {side_by_side(f.h, b.h), last};
}

template <class T>
std::vector<Var<T>> read_step_by_step(DecoderState<T>& state, const StepOrder& order, const Packing& rows,
                                      Var<T> input, const StateStep<T>& step) {
  using Values = std::vector<Var<T>>;
  Tape<T>& tape = input.tape();
  std::vector<Values> states, outputs;  // of each kind, step after step
  const auto append = [](const Values& values, std::vector<Values>& all) {
    all.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) all[i].push_back(values[i]);
  };
  const auto gather = [](const std::vector<Values>& all, const std::vector<RowOf>& from) {
    Values gathered;
    for (const Values& steps : all) gathered.push_back(select_rows(steps, from));
    return gathered;
  };
  Values before;
  for (const Var<T>& row : state.rows) before.push_back(select_rows<T>({row}, order.to_first_step()));
  for (std::int64_t t = 0; t < order.steps(); ++t) {
    const std::int64_t n = order.active(t);
    for (Var<T>& part : before) part = tape.row_range(part, 0, n);
    const DecoderStep<T> made =
        step(tape.row_range(input, order.first(t), n), before, order.rows_of(t, rows));
    append(made.states, states);
    append(made.outputs, outputs);
    before = made.states;
  }
  if (state.keeps_past) state.rows = gather(states, order.to_last_of_steps());
  return gather(outputs, order.to_packed());
}

template <class T>
Var<T> embed_words(Pass<T>& pass, const std::string& stack_name, const PackedTokens& tokens, double dropout) {
  const Scope<T> stack = Scope<T>(pass) / stack_name;
  const Var<T> x = embedding((stack / "embedding").parameter("weight"),
                             pass.tape->arena().template keep<std::int32_t>(tokens.ids), T{1}, Var<T>(), {},
                             stack.dropout(dropout));
  return stack.name("embedded", x, tokens.rows);
}

HEED_INSTANTIATE(bidirectional)
HEED_INSTANTIATE(read_step_by_step)
HEED_INSTANTIATE(embed_words)

}  // namespace heed
