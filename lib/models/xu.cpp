#include "models/xu.h"

#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "nn/attention/hard_attention_loss.h"

namespace heed {

namespace {

template <class T>
Scope<T> attention_scope(Pass<T>& pass) {
  return Scope<T>(pass) / "decoder" / "layer_0" / "cross_attention";
}

/// (h_0, c_0) from the mean annotation [sentences, state width].
template <class T>
Var<T> initial_state(Pass<T>& pass, Var<T> a, const Packing& rows) {
  const Matrix<T> shares = pass.tape->arena().template matrix<T>(rows.sentences(), rows.longest());
  for (std::int64_t s = 0; s < rows.sentences(); ++s)
    std::fill_n(shares.row(s), rows.longest(), T{1} / static_cast<T>(rows.length(s)));
  std::vector<std::int64_t> sentences(static_cast<std::size_t>(rows.sentences()));
  std::iota(sentences.begin(), sentences.end(), 0);
  Var<T> mean = weighted_sum(pass.tape->constant(shares), a, StepKeys{sentences, &rows});
  Scope<T> scope = Scope<T>(pass) / "decoder" / "initial";
  Var<T> state = linear(mean, scope.parameter("weight"), scope.parameter("bias"), Activation::tanh);
  return scope.name_sentences("output", state);
}

/// The streams of the rows of a step, whose sequences are numbered `order`; none when nothing is sampled.
std::vector<SampleStream> streams_of(const std::vector<SampleStream>& streams, const StepOrder& order,
                                     std::int64_t step) {
  std::vector<SampleStream> rows;
  for (std::int64_t i = 0; i < order.active(step) && !streams.empty(); ++i)
    rows.push_back(streams[static_cast<std::size_t>(order.sequence(i))]);
  return rows;
}

/// Equations 1-6, step by step.
template <class T>
class XuSteps {
 public:
  /// `rows`: how many rows all steps together have.
  XuSteps(Pass<T>& pass, const XuConfig& config, const AttentionMemory<T>& source, std::int64_t rows)
      : layer_(Scope<T>(pass) / "decoder" / "layer_0"),
        state_(layer_ / "state", config.state(), rows),
        context_((layer_ / "state" / "context").stacked(config.state().gates(), "weight"), rows),
        attention_(layer_ / "cross_attention", config.attends(), source, rows) {}

  struct Step {
    Var<T> alpha;                      ///< [n, longest source]
    Var<T> z;                          ///< [n, 2 n]
    Var<T> state;                      ///< the new (h, c)
    std::vector<std::int64_t> chosen;  ///< with hard attention
  };
  Var<T> input(Var<T> embedded, const StepRows& rows) const {
    const AtStep<T> at_step(layer_.pass(), rows);
    return state_.input(embedded);
  }
  Var<T> hidden(Var<T> state) const { return state_.hidden(state); }
  /// `sampled`: streams_of().
  Step operator()(Var<T> input, Var<T> before, const StepRows& rows,
                  const std::vector<SampleStream>& sampled) {
    const AtStep<T> at_step(layer_.pass(), rows);
    const auto attended = attention_(state_.hidden(before), rows, sampled);
    const Var<T> z = attended.context;
    return {attended.probabilities, z, state_.step(context_(z, input), before), attended.chosen};  // eq. 1-3
  }

 private:
  Scope<T> layer_;
  RecurrentSteps<T> state_;
  StepLinear<T> context_;
  StepAttention<T> attention_;
};

/// Eq. 7 without L_o: E y_(t-1) + L_h h_t + L_z z_t [n, m].
template <class T>
Var<T> readout(Pass<T>& pass, Var<T> embedded, Var<T> h, Var<T> z, double dropout) {
  Scope<T> scope = Scope<T>(pass) / "decoder" / "readout";
  Var<T> sum = add(add(embedded, linear(h, scope.parameter("state/weight"), Var<T>())),
                   linear(z, scope.parameter("context/weight"), Var<T>()));
  return drop_out(sum, scope.dropout(dropout));
}

}  // namespace

namespace {

/// Initial values: as the authors' program draws them (deviation 0.01, orthogonal square matrices), or
/// Glorot's.
template <class T>
void declare(ParameterSet<T>& p, const XuConfig& c) {
  const std::int64_t m = c.d_embedding, n = c.d_hidden, width = c.state().state_width();
  const bool paper = c.init == "paper";
  auto init = [&](std::int64_t d_in, std::int64_t d_out) {
    return paper ? Init::normal(0.01) : Init::xavier(d_in, d_out);
  };
  auto matrix = [&](const std::string& name, std::int64_t d_in, std::int64_t d_out) {
    p.add(name, {d_in, d_out}, init(d_in, d_out));
  };
  auto bias = [&](const std::string& name, std::int64_t d) { p.add(name, {d}, Init::zeros()); };
  const RecurrentInit cell{init(m, n), Init::orthogonal(), Init::zeros()};

  p.add("encoder/embedding/weight", {c.source_vocab_size, m}, Init::normal(paper ? 0.01 : 0.1));
  add_recurrent(p, "encoder/layer_0/forward", c.encoder(), m, cell);
  add_recurrent(p, "encoder/layer_0/backward", c.encoder(), m, cell);

  matrix("decoder/initial/weight", 2 * n, width);
  bias("decoder/initial/bias", width);
  p.add("decoder/embedding/weight", {c.target_vocab_size, m}, Init::normal(paper ? 0.01 : 0.1));
  add_recurrent(p, "decoder/layer_0/state", c.state(), m, cell);
  add_gate_input(p, "decoder/layer_0/state", "context", c.state(), 2 * n, init(2 * n, n));
  add_attention(
      p, "decoder/layer_0/cross_attention", c.attends(), {n, 2 * n, c.d_align},
      [&](const NamedShape& parameter) {
        const Shape& shape = parameter.shape;
        if (parameter.name.ends_with("bias")) return Init::zeros();
        return shape.size() == 1 ? init(shape[0], 1) : init(shape[0], shape[1]);
      },
      true, c.context_gate);
  matrix("decoder/readout/state/weight", n, m);
  matrix("decoder/readout/context/weight", 2 * n, m);
  matrix("decoder/output/weight", m, c.target_vocab_size);
}

template <class T>
class XuEncoder final : public RecurrentEncoder<T, XuConfig> {
 public:
  using RecurrentEncoder<T, XuConfig>::RecurrentEncoder;

  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    if (first == last) return input;
    const XuConfig& c = this->config_;
    const Scope<T> encoder = Scope<T>(pass) / "encoder", layer = encoder / "layer_0";
    auto states = [&](const char* scope, Direction direction) {
      return recurrent(layer / scope, c.encoder(), input.states, *input.rows, direction).h;
    };
    Var<T> a = side_by_side(states("forward", Direction::forward), states("backward", Direction::backward));
    return {encoder.name("output", drop_out(a, encoder.dropout(c.dropout)), *input.rows), input.rows, {}};
  }
};

/// A hypothesis is its state.
template <class T>
class XuDecoder final : public RecurrentDecoder<T, XuConfig> {
 public:
  using RecurrentDecoder<T, XuConfig>::RecurrentDecoder;

  DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const override {
    DecoderState<T> state(sentences);
    keep_memory(prepare_memory(attention_scope(pass), this->config_.attends(), memory->states, *memory->rows),
                state);
    state.rows = {initial_state(pass, memory->states, *memory->rows)};
    return state;
  }

  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                  const Packing& rows) const override {
    const XuConfig& c = this->config_;
    const Reading<T> reading(pass, state, rows);
    Tape<T>& tape = *pass.tape;
    const AttentionMemory<T> source = kept_memory(state);
    StepWeights<T> attended{
        {}, {}, StepOrder(rows, Direction::forward, pass.continuation), rows, *source.rows};
    const StepOrder& order = attended.order;
    XuSteps<T> steps(pass, c, source, order.rows());
    Var<T> input = steps.input(select_rows<T>({embedded}, order.to_time_order()), order.rows_of_all(rows));
    Var<T> s = select_rows<T>({state.rows[0]}, order.to_first_step());

    std::vector<Var<T>> z, h, states;
    for (std::int64_t t = 0; t < order.steps(); ++t) {
      const auto step =
          steps(tape.row_range(input, order.first(t), order.active(t)), tape.row_range(s, 0, order.active(t)),
                order.rows_of(t, rows), streams_of(state.streams, order, t));
      s = step.state;
      states.push_back(s);
      z.push_back(step.z);
      h.push_back(steps.hidden(s));
      attended.alpha.push_back(step.alpha);
      attended.chosen.push_back(step.chosen);
    }
    if (state.keeps_past) state.rows = {select_rows(states, order.to_last_of_steps())};
    const std::vector<RowOf> packed = order.to_packed();
    const Scope<T> decoder = Scope<T>(pass) / "decoder", layer = decoder / "layer_0";
    Var<T> context = select_rows(z, packed);
    Var<T> hidden = layer.name("output", select_rows(h, packed), rows);
    Decoded<T> decoded{decoder.name("output", readout(pass, embedded, hidden, context, c.dropout), rows), {}};
    if (pass.training) {
      decoded.extra_loss = [attended, c](std::span<const double> nll, double baseline, double scale) {
        double extra = 0;
        if (c.doubly_stochastic > 0)
          extra += c.doubly_stochastic * doubly_stochastic_penalty(attended, c.doubly_stochastic * scale);
        if (!c.hard()) return extra;
        reinforce_drawn(attended, nll, baseline, -c.reinforce * scale);
        return extra - c.entropy * attention_entropy(attended, -c.entropy * scale);
      };
    }
    return decoded;
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const XuConfig& config) {
  auto model = recurrent_pair<T, XuEncoder, XuDecoder>(config);
  declare(model->parameters, config);
  return model;
}

template std::unique_ptr<Model<float>> build(const XuConfig&);
template std::unique_ptr<Model<double>> build(const XuConfig&);

}  // namespace heed
