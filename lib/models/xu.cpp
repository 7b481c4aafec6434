#include "models/xu.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "autograd/ops.h"
#include "autograd/ops_hard_attention.h"
#include "autograd/ops_recurrent.h"
#include "base/check.h"
#include "nn/hard_attention_loss.h"

namespace heed {

namespace {

/// What the decoder needs of the source sentences.
template <class T>
struct Annotations {
  Var<T> a;    ///< [source rows, 2 n]
  Var<T> u_a;  ///< what f_att gets from a_i, with its bias [source rows, n']
  const Packing* rows = nullptr;
};

template <class T>
Annotations<T> annotate(Pass<T>& pass, Var<T> a, const Packing& rows) {
  Scope<T> align = Scope<T>(pass) / "decoder" / "layer_0" / "cross_attention";
  Var<T> u_a =
      align.name("key", linear(a, align.parameter("key/weight"), align.parameter("query/bias")), rows);
  return {align.name("value", a, rows), u_a, &rows};
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

/// The key at which a number from [0, 1) comes to rest.
template <class T>
std::int64_t position_of(const T* alpha, std::int64_t keys, double left) {
  for (std::int64_t j = 0; j + 1 < keys; ++j) {
    left -= static_cast<double>(alpha[j]);
    if (left < 0) return j;
  }
  return keys - 1;
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
  XuSteps(Pass<T>& pass, const XuConfig& config, const Annotations<T>& source, std::int64_t rows)
      : config_(config),
        align_(Scope<T>(pass) / "decoder" / "layer_0" / "cross_attention"),
        source_(source),
        state_(Scope<T>(pass) / "decoder" / "layer_0" / "state", config.state(), rows),
        query_(align_.parameter("query/weight"), rows),
        context_((Scope<T>(pass) / "decoder" / "layer_0" / "state" / "context")
                     .stacked(config.state().gates(), "weight"),
                 rows),
        draws_(align_.random()) {
    if (config.context_gate)
      gate_.emplace(align_.parameter("gate/weight"), rows, align_.parameter("gate/bias"));
    for (std::int64_t s = 0; s < source.rows->sentences(); ++s)
      expects_.push_back(pass.training && draws_.uniform() < config.expected_share);
  }

  struct Step {
    Var<T> alpha;                      ///< [n, longest source]
    Var<T> z;                          ///< [n, 2 n]
    Var<T> state;                      ///< the new (h, c)
    std::vector<std::int64_t> picked;  ///< with hard attention
  };
  Var<T> input(Var<T> embedded, const StepRows& rows) const {
    const AtStep<T> at_step(align_.pass(), rows);
    return state_.input(embedded);
  }
  Var<T> hidden(Var<T> state) const { return state_.hidden(state); }
  /// `sampled`: streams_of(). Named values: query (what f_att gets from h_(t-1)), scores, probabilities,
  /// weights, gate (beta), context.
  Step operator()(Var<T> input, Var<T> before, const StepRows& rows,
                  const std::vector<SampleStream>& sampled) {
    const AtStep<T> at_step(align_.pass(), rows);
    const StepKeys at{rows.sentences, source_.rows};
    Var<T> h = state_.hidden(before);
    Step step;
    Var<T> query = align_.name("query", query_(h));                                        // [n, n']
    Var<T> e = additive_scores(query, source_.u_a, align_.parameter("score/weight"), at);  // eq. 4
    e = align_.name_attention("scores", e, *source_.rows);                           // [n, longest source]
    step.alpha = align_.name_attention("probabilities", softmax(e), *source_.rows);  // eq. 5
    Var<T> weights = step.alpha;
    if (config_.hard()) {
      step.picked = positions(step.alpha, rows, sampled);
      weights = pick(step.alpha, step.picked);
    }
    weights = align_.name_attention("weights", weights, *source_.rows);
    step.z = weighted_sum(weights, source_.a, at);
    if (gate_) {
      const Var<T> beta = align_.name("gate", activate(Activation::sigmoid, (*gate_)(h)));  // [n, 1]
      step.z = scale_rows(step.z, beta);
    }
    step.z = align_.name("context", step.z);
    step.state = state_.step(context_(step.z, input), before);  // eq. 1-3
    return step;
  }

 private:
  std::vector<std::int64_t> positions(Var<T> alpha, const StepRows& rows,
                                      const std::vector<SampleStream>& sampled) {
    std::vector<std::int64_t> picked;
    for (std::size_t i = 0; i < rows.sentences.size(); ++i) {
      const std::int64_t sentence = rows.sentences[i], keys = source_.rows->length(sentence);
      const T* row = alpha.value().row(static_cast<std::int64_t>(i));
      if (expects_[static_cast<std::size_t>(sentence)]) {
        picked.push_back(kExpected);
      } else if (align_.pass().training) {
        picked.push_back(position_of(row, keys, draws_.uniform()));
      } else if (!sampled.empty()) {
        Random random = sampled[i].at(static_cast<std::uint64_t>(rows.step_of(i)));
        random.uniform();  // the word's
        picked.push_back(position_of(row, keys, random.uniform()));
      } else {
        picked.push_back(std::max_element(row, row + keys) - row);
      }
    }
    return picked;
  }

  const XuConfig& config_;
  Scope<T> align_;
  const Annotations<T>& source_;
  RecurrentSteps<T> state_;
  StepLinear<T> query_, context_;
  std::optional<StepLinear<T>> gate_;
  Random draws_;
  std::vector<bool> expects_;  ///< the sentences that keep the expectation
};

/// Eq. 7 without L_o: E y_(t-1) + L_h h_t + L_z z_t [n, m].
template <class T>
Var<T> readout(Pass<T>& pass, Var<T> embedded, Var<T> h, Var<T> z, double dropout) {
  Scope<T> scope = Scope<T>(pass) / "decoder" / "readout";
  Var<T> sum = add(add(embedded, linear(h, scope.parameter("state/weight"), Var<T>())),
                   linear(z, scope.parameter("context/weight"), Var<T>()));
  return drop_out(sum, scope.dropout(dropout));
}

void check_weight(const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    fail<UsageError>(name, " is ", value, ", wanted a number of at least 0");
}

}  // namespace

void XuConfig::check() const {
  check_recurrent(*this);
  check_size("d_align", d_align, 65'536);
  check_weight("doubly_stochastic", doubly_stochastic);
  check_weight("reinforce", reinforce);
  check_weight("entropy", entropy);
  if (!(expected_share >= 0 && expected_share <= 1))
    fail<UsageError>("expected_share is ", expected_share, ", wanted 0 to 1");
}

namespace {

/// First values: as the authors' program draws them (deviation 0.01, orthogonal square matrices), or
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
  const std::string align = "decoder/layer_0/cross_attention/";
  matrix(align + "query/weight", n, c.d_align);
  bias(align + "query/bias", c.d_align);
  matrix(align + "key/weight", 2 * n, c.d_align);
  p.add(align + "score/weight", {c.d_align}, init(c.d_align, 1));
  if (c.context_gate) {
    matrix(align + "gate/weight", n, 1);
    bias(align + "gate/bias", 1);
  }
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
    const Annotations<T> source = annotate(pass, memory->states, *memory->rows);
    state.memory = {source.a, source.u_a};
    state.memory_rows = source.rows;
    state.rows = {initial_state(pass, memory->states, *memory->rows)};
    return state;
  }

  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded, const Packing& rows) const override {
    const XuConfig& c = this->config_;
    const Reading<T> reading(pass, state.continuation());
    Tape<T>& tape = *pass.tape;
    const Annotations<T> source{state.memory[0], state.memory[1], state.memory_rows};
    StepWeights<T> attended{{}, {}, StepOrder(rows, Direction::forward, pass.continuation), rows, *source.rows};
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
      attended.picked.push_back(step.picked);
    }
    if (state.keeps_past) state.rows = {select_rows(states, order.to_last_of_steps())};
    state.advance(rows);
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
