#include "models/xu.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "base/check.h"
#include "models/hypothesis_states.h"
#include "nn/attention/hard_attention_loss.h"

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
  const Scope<T> align = Scope<T>(pass) / "decoder" / "layer_0" / "cross_attention";
  const AttentionMemory<T> memory = prepare_memory(align, XuConfig().attends(), a, rows);
  return {memory.value, memory.key, memory.rows};
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

/// Which translation each row samples: that of row parents[i] before; of none when nothing is sampled.
std::vector<SampleStream> continued(const std::vector<SampleStream>& sampled,
                                    std::span<const std::int64_t> parents) {
  std::vector<SampleStream> rows;
  for (std::size_t i = 0; i < parents.size() && !sampled.empty(); ++i)
    rows.push_back(sampled.at(static_cast<std::size_t>(parents[i])));
  return rows;
}

/// Equations 1-6, step by step.
template <class T>
class XuSteps {
 public:
  /// `rows`: how many rows all steps together have.
  XuSteps(Pass<T>& pass, const XuConfig& config, const Annotations<T>& source, std::int64_t rows)
      : layer_(Scope<T>(pass) / "decoder" / "layer_0"),
        state_(layer_ / "state", config.state(), rows),
        context_((layer_ / "state" / "context").stacked(config.state().gates(), "weight"), rows),
        attention_(layer_ / "cross_attention", config.attends(), {source.a, source.u_a, source.rows}, rows) {}

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
  /// `sampled`: continued().
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

/// A hypothesis is its sentence and its state.
template <class T>
class XuStepper final : public Stepper<T> {
 public:
  /// `sampled`: of each sentence's first translation; empty: none is sampled.
  XuStepper(const Xu<T>& model, const Encoded<T>& memory, const Editor<T>* editor,
            const std::vector<SampleStream>& sampled)
      : model_(model), rows_(*memory.rows), sampled_(sampled), sentences_(rows_.sentences()) {
    pass_.tape = &tape_;
    pass_.parameters = &model.parameters();
    pass_.editor = editor;
    const Var<T> a = tape_.constant(memory.states.value());
    const Annotations<T> source = annotate(pass_, a, rows_);
    source_.keep({source.a, source.u_a});
    states_.keep({initial_state(pass_, a, rows_)});
  }
  Matrix<const T> step(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) override {
    tape_.reset();
    Var<T> before = states_.take(tape_, parents)[0];
    sampled_ = continued(sampled_, parents);
    for (std::size_t i = 1; i < sampled_.size() && sentences_.steps() == 0; ++i)
      if (parents[i] == parents[i - 1]) sampled_[i].stream = sampled_[i - 1].stream + 1;
    const StepRows rows = sentences_.next(parents);
    const AtStep<T> at(pass_, rows);
    const std::vector<Var<T>> kept = source_.all(tape_);
    const Annotations<T> source{kept[0], kept[1], &rows_};
    XuSteps<T> steps(pass_, model_.config(), source, before.rows());
    PackedTokens words;
    words.append(tokens);
    Var<T> embedded = model_.embed(pass_, Side::target, words);
    const auto step = steps(steps.input(embedded, rows), before, rows, sampled_);
    states_.keep({step.state});
    const Scope<T> decoder = Scope<T>(pass_) / "decoder";
    Var<T> h = (decoder / "layer_0").name("output", steps.hidden(step.state));
    return model_.logits(pass_, decoder.name("output", readout(pass_, embedded, h, step.z, 0))).value();
  }

 private:
  const Xu<T>& model_;
  Packing rows_;
  Tape<T> tape_;
  Pass<T> pass_;
  std::vector<SampleStream> sampled_;  ///< by each hypothesis
  HypothesisStates<T> source_, states_;
  HypothesisSentences sentences_;
};

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

/// First values: as the authors' program draws them (deviation 0.01, orthogonal square matrices), or
/// Glorot's.
template <class T>
Xu<T>::Xu(const XuConfig& c) : RecurrentModel<T, XuConfig>(c) {
  ParameterSet<T>& p = this->parameters_;
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
Encoded<T> Xu<T>::encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                         std::int64_t last) const {
  this->expect_layers(first, last);
  if (first == last) return input;
  const XuConfig& c = this->config_;
  Scope<T> encoder = Scope<T>(pass) / "encoder", layer = encoder / "layer_0";
  auto states = [&](const char* scope, Direction direction) {
    return recurrent(layer / scope, c.encoder(), input.states, *input.rows, direction).h;
  };
  Var<T> a = side_by_side(states("forward", Direction::forward), states("backward", Direction::backward));
  return {encoder.name("output", drop_out(a, encoder.dropout(c.dropout)), *input.rows), input.rows, {}};
}

template <class T>
Var<T> Xu<T>::decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const {
  this->expect_same_sentences(memory, target);
  const XuConfig& c = this->config_;
  Tape<T>& tape = *pass.tape;
  const Annotations<T> source = annotate(pass, memory.states, *memory.rows);
  StepWeights<T> attended{{}, {}, StepOrder(target.rows), target.rows, *source.rows};
  const StepOrder& order = attended.order;
  XuSteps<T> steps(pass, c, source, order.rows());
  Var<T> embedded = this->embed(pass, Side::target, {shifted_right(target), target.rows});  // E y_(t-1)
  Var<T> input =
      steps.input(select_rows<T>({embedded}, order.to_time_order()), order.rows_of_all(target.rows));
  Var<T> state = select_rows<T>({initial_state(pass, memory.states, *memory.rows)}, order.to_first_step());

  std::vector<Var<T>> z, h;
  for (std::int64_t t = 0; t < order.steps(); ++t) {
    const StepRows rows = order.rows_of(t, target.rows);
    const auto step =
        steps(tape.row_range(input, order.first(t), order.active(t)),
              tape.row_range(state, 0, order.active(t)), rows, continued(pass.sampled, rows.sentences));
    state = step.state;
    z.push_back(step.z);
    h.push_back(steps.hidden(state));
    attended.alpha.push_back(step.alpha);
    attended.chosen.push_back(step.chosen);
  }
  const std::vector<RowOf> packed = order.to_packed();
  Scope<T> decoder = Scope<T>(pass) / "decoder", layer = decoder / "layer_0";
  Var<T> context = select_rows(z, packed);
  Var<T> hidden = layer.name("output", select_rows(h, packed), target.rows);

  if (pass.training) {
    pass.extra_loss = [attended, c, baseline = pass.baseline](std::span<const double> nll, double scale) {
      double extra = 0;
      if (c.doubly_stochastic > 0)
        extra += c.doubly_stochastic * doubly_stochastic_penalty(attended, c.doubly_stochastic * scale);
      if (!c.hard()) return extra;
      reinforce_drawn(attended, nll, baseline, -c.reinforce * scale);
      return extra - c.entropy * attention_entropy(attended, -c.entropy * scale);
    };
  }
  return decoder.name("output", readout(pass, embedded, hidden, context, c.dropout), target.rows);
}

template <class T>
std::unique_ptr<Stepper<T>> Xu<T>::stepper(const Encoded<T>& memory, const Editor<T>* editor) const {
  return sampler(memory, editor, {});
}

template <class T>
std::unique_ptr<Stepper<T>> Xu<T>::sampler(const Encoded<T>& memory, const Editor<T>* editor,
                                           const std::vector<SampleStream>& sampled) const {
  return std::make_unique<XuStepper<T>>(*this, memory, editor, sampled);
}

template class Xu<float>;
template class Xu<double>;

}  // namespace heed
