#include "models/xu.h"

#include <cmath>

#include "base/error.h"
#include "nn/attention/hard_attention_loss.h"

namespace heed {

namespace {

/// The streams of the first n rows of a step; none when nothing is sampled.
std::vector<SampleStream> streams_of(const std::vector<SampleStream>& streams, const StepOrder& order,
                                     std::int64_t n) {
  std::vector<SampleStream> rows;
  for (std::int64_t i = 0; i < n && !streams.empty(); ++i)
    rows.push_back(streams[static_cast<std::size_t>(order.sequence(i))]);
  return rows;
}

/// Eq. 7 without L_o: E y_(t-1) + L_h h_t + L_z z_t [n, m].
template <class T>
Var<T> readout(Pass<T>& pass, Var<T> embedded, Var<T> h, Var<T> z, double dropout) {
  Scope<T> scope = Scope<T>(pass) / "decoder" / "readout";
  Var<T> sum = add(add(embedded, linear(h, scope.parameter("state/weight"), Var<T>())),
                   linear(z, scope.parameter("context/weight"), Var<T>()));
  return drop_out(sum, scope.dropout(dropout));
}

/// As in the authors' program: deviation 0.01, orthogonal square matrices.
template <class T>
void declare(ParameterSet<T>& p, const XuConfig& c) {
  const std::int64_t m = c.d_embedding, n = c.d_hidden;
  Declaration<T> add(p, c, Init::normal(0.01), 0.1);
  if (c.reads_images()) {
    const ImagePatches images = c.patches();
    images.declare(p, m);
    p.add("encoder/positions/weight", {images.rows(), m}, Init::normal(0.02));
    add.linear("encoder/layer_0/annotation", m, 2 * n);
  } else {
    add.words("encoder", c.source_vocab_size);
    add.bidirectional("encoder/layer_0", c.encoder(), m);
  }
  add.linear("decoder/initial", 2 * n, c.state().state_width());
  add.words("decoder", c.target_vocab_size);
  add.recurrent("decoder/layer_0/state", c.state(), m);
  add.gate_input("decoder/layer_0/state", "context", c.state(), 2 * n);
  add_attention(
      p, "decoder/layer_0/cross_attention", c.attends(), {n, 2 * n, c.d_align},
      [&](const NamedShape& parameter) {
        return parameter.name.ends_with("bias") ? Init::zeros() : add.init(parameter.shape);
      },
      true, c.context_gate);
  add.matrix("decoder/readout/state/weight", n, m);
  add.matrix("decoder/readout/context/weight", 2 * n, m);
  add.matrix("decoder/output/weight", m, c.target_vocab_size);
}

/// For words, or for places of images, whose embeddings ImagePatches makes.
template <class T>
class XuEncoder final : public RecurrentEncoder<T, XuConfig> {
 public:
  using RecurrentEncoder<T, XuConfig>::RecurrentEncoder;

  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    if (first == last) return input;
    const Scope<T> encoder = Scope<T>(pass) / "encoder";
    const Var<T> a = this->config_.reads_images() ? of_places(encoder, input) : of_words(encoder, input);
    return {encoder.name("output", a, *input.rows), input.rows, {}};
  }

 private:
  Var<T> of_words(const Scope<T>& encoder, const Encoded<T>& input) const {
    const XuConfig& c = this->config_;
    const Scope<T> layer = encoder / "layer_0";
    // The order determines the random numbers of each direction's dropout.
    const Var<T> backward =
        recurrent(layer / "backward", c.encoder(), input.states, *input.rows, Direction::backward).h;
    const Var<T> forward =
        recurrent(layer / "forward", c.encoder(), input.states, *input.rows, Direction::forward).h;
    const Var<T> a = side_by_side(forward, backward);
    return drop_out(a, encoder.dropout(c.dropout));
  }
  Var<T> of_places(const Scope<T>& encoder, const Encoded<T>& input) const {
    const Scope<T> annotation = encoder / "layer_0" / "annotation";
    return linear(activate(Activation::relu, input.states), annotation.parameter("weight"),
                  annotation.parameter("bias"), Activation::relu, encoder.dropout(this->config_.dropout));
  }
};

/// A hypothesis is its state.
template <class T>
class XuDecoder final : public RecurrentDecoder<T, XuConfig> {
 public:
  using RecurrentDecoder<T, XuConfig>::RecurrentDecoder;

  /// (h_0, c_0) from the mean annotation.
  DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const override {
    DecoderState<T> state(sentences);
    keep_memory(prepare_memory(cross_attention_scope(pass, 0), this->config_.attends(), memory->states,
                               *memory->rows),
                state);
    state.rows = {initial_state(pass, sentence_means(memory->states, *memory->rows))};
    return state;
  }

  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                  const Packing& rows) const override {
    const XuConfig& c = this->config_;
    const Reading<T> reading(pass, state, rows);
    const Scope<T> decoder = Scope<T>(pass) / "decoder", layer = decoder / "layer_0";
    const AttentionMemory<T> source = kept_memory(state);
    StepWeights<T> attended{
        {}, {}, StepOrder(rows, Direction::forward, pass.continuation), rows, *source.rows};
    const StepOrder& order = attended.order;
    AttendingLayer<T> f(layer, c.state(), c.attends(), source, order.rows());
    const std::vector<Var<T>> steps = read_step_by_step<T>(
        state, order, rows, f.recurrence().input(embedded, order, rows),
        [&](Var<T> input, const std::vector<Var<T>>& before, const StepRows& at) -> DecoderStep<T> {
          const auto step = f(input, before[0], at, streams_of(state.streams, order, input.rows()));
          attended.alpha.push_back(step.attended.probabilities);
          attended.chosen.push_back(step.attended.chosen);
          return {{step.state}, {step.attended.context, f.recurrence().hidden(step.state)}};
        });
    const Var<T> context = steps[0], hidden = layer.name("output", steps[1], rows);
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

void XuConfig::check() const {
  if (!reads_images()) return;
  patches();
  if (source_vocab_size != 1)
    fail<UsageError>("source_vocab_size is ", source_vocab_size, ", wanted 1: images have no words");
}

template <class T>
std::unique_ptr<Model<T>> build(const XuConfig& config) {
  auto model = recurrent_pair<T, XuEncoder, XuDecoder>(config, declare<T>);
  if (config.reads_images()) model->images = config.patches();
  return model;
}

template std::unique_ptr<Model<float>> build(const XuConfig&);
template std::unique_ptr<Model<double>> build(const XuConfig&);

}  // namespace heed
