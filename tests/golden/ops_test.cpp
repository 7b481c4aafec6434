// Every differentiable operation against PyTorch: values, and the gradients of all inputs.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <list>
#include <set>

#include "autograd/ops.h"
#include "golden/comparison.h"
#include "nn/positional_encoding.h"

namespace heed::golden {
namespace {

const TensorMap& ops() {
  static const TensorMap map = read_golden("ops");
  return map;
}

/// The inputs of one golden call on a tape, and the check of all that make-golden wrote for it.
template <class T>
class OpCase {
 public:
  explicit OpCase(const std::string& path) : path_(path), comparison_(Comparison::of<T>(path)) {
    tape_.set_with_gradients(true);
  }

  Tape<T>& tape() { return tape_; }

  /// An input that wants a gradient; a vector is one row.
  Var<T> input(const std::string& name) {
    const Tensor& tensor = golden(name);
    inputs_.push_back({name, numbers<T>(tensor), {}});
    Input& in = inputs_.back();
    in.gradient.resize(in.value.size());
    const std::int64_t cols = tensor.shape().back(), rows = tensor.size() / cols;
    return tape_.leaf({in.value.data(), rows, cols}, {in.gradient.data(), rows, cols});
  }
  std::vector<std::int32_t> integers(const std::string& name) { return numbers<std::int32_t>(golden(name)); }
  double number(const std::string& name) { return numbers<double>(golden(name)).at(0); }

  void check(const std::string& name, const std::vector<T>& got) {
    comparison_.check(name, got, golden(name), kTolerance<T>);
  }
  /// Runs backward from the golden gradient of `output`.
  void finish(const std::string& output, Var<T> y) {
    check(output, elements(y.value()));
    const std::vector<T> upstream = numbers<T>(golden("d_" + output));
    Matrix<T> d_y = tape_.gradient(y);
    BOOST_REQUIRE_EQUAL(static_cast<std::size_t>(d_y.size()), upstream.size());
    for (std::int64_t i = 0; i < d_y.size(); ++i)
      d_y(i / d_y.cols, i % d_y.cols) = upstream[static_cast<std::size_t>(i)];
    tape_.backward();
    finish();
  }
  /// Checks the gradients that are there, and that no golden tensor of this case was left out.
  void finish() {
    for (const Input& in : inputs_) check("d_" + in.name, in.gradient);
    for (const auto& [name, tensor] : ops().tensors()) {
      if (name.starts_with(path_ + "/"))
        BOOST_CHECK_MESSAGE(used_.contains(name), name << " was not compared");
    }
  }

 private:
  struct Input {
    std::string name;
    std::vector<T> value, gradient;
  };
  const Tensor& golden(const std::string& name) {
    used_.insert(path_ + "/" + name);
    return ops().at(path_ + "/" + name);
  }

  std::string path_;
  Comparison comparison_;
  Tape<T> tape_;
  std::list<Input> inputs_;  // the tape points into them
  std::set<std::string> used_;
};

template <class T>
void check_linear(const std::string& name, Activation f) {
  OpCase<T> c("linear/" + name);
  Var<T> x = c.input("x"), weight = c.input("weight");
  Var<T> bias = name == "no_bias" ? Var<T>() : c.input("bias");
  c.finish("y", linear(x, weight, bias, f));
}

template <class T>
void check_activation(const std::string& name, Activation f) {
  OpCase<T> c("activate/" + name);
  c.finish("y", activate(f, c.input("x")));
}

template <class T>
void check_embedding(const std::string& name) {
  OpCase<T> c("embedding/" + name);
  const std::vector<std::int32_t> ids = c.integers("ids"), length = c.integers("length");
  const std::vector<std::int32_t> position = positions_of(Packing(length));
  const T scale = static_cast<T>(c.number("scale"));
  Var<T> table = c.input("table");
  Var<T> positions = name == "no_positions" ? Var<T>() : c.input("positions");
  c.finish("y", embedding<T>(table, ids, scale, positions, position));
}

template <class T>
void check_attention(const std::string& name, bool causal) {
  OpCase<T> c("attention/" + name);
  const Packing queries(c.integers("query_length")), keys(c.integers("key_length"));
  Var<T> q = c.input("query"), k = c.input("key"), v = c.input("value");
  AttentionOptions options;
  options.n_heads = c.integers("n_heads").at(0);
  options.scale = 1 / std::sqrt(static_cast<double>(q.cols() / options.n_heads));
  options.causal = causal;
  options.keep_scores = options.keep_weights = true;
  const AttentionResult<T> result = attention(q, k, v, queries, keys, options);
  c.check("scores", {result.scores.begin(), result.scores.end()});
  c.check("weights", {result.weights.begin(), result.weights.end()});
  c.finish("context", result.context);
}

template <class T>
void check_cross_entropy(const std::string& name) {
  OpCase<T> c("cross_entropy/" + name);
  const std::vector<std::int32_t> targets = c.integers("targets");
  Var<T> states = c.input("states"), weight = c.input("weight");
  const bool tied = name == "tied";
  c.check("logits", elements(logits_of(states, weight, tied).value()));
  const T scale = static_cast<T>(c.number("d_loss"));
  const CrossEntropySums sums =
      projected_cross_entropy<T>(states, weight, tied, targets, c.number("smoothing"), scale);
  c.check("loss", {static_cast<T>(sums.loss)});
  c.check("nll", {static_cast<T>(sums.nll)});
  c.tape().backward();
  c.finish();
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(linear_is_pytorchs, T, Precisions) {
  check_linear<T>("none", Activation::none);
  check_linear<T>("relu", Activation::relu);
  check_linear<T>("tanh", Activation::tanh);
  check_linear<T>("sigmoid", Activation::sigmoid);
  check_linear<T>("no_bias", Activation::none);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sum_is_pytorchs, T, Precisions) {
  OpCase<T> c("add");
  Var<T> a = c.input("a"), b = c.input("b");
  c.finish("y", add(a, b));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(undropped_sum_is_pytorchs, T, Precisions) {
  OpCase<T> c("add");
  Var<T> a = c.input("a"), b = c.input("b");
  c.finish("y", add_dropped(a, b, {}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(activations_are_pytorchs, T, Precisions) {
  check_activation<T>("relu", Activation::relu);
  check_activation<T>("tanh", Activation::tanh);
  check_activation<T>("sigmoid", Activation::sigmoid);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(layer_norm_is_pytorchs, T, Precisions) {
  OpCase<T> c("layer_norm/plain");
  Var<T> x = c.input("x"), gamma = c.input("gamma"), beta = c.input("beta");
  c.finish("y", add_layer_norm<T>(x, {}, {}, gamma, beta, static_cast<T>(1e-5)).output);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(layer_norm_of_a_sum_is_pytorchs, T, Precisions) {
  OpCase<T> c("layer_norm/sum");
  Var<T> x = c.input("x"), sublayer = c.input("sublayer"), gamma = c.input("gamma"), beta = c.input("beta");
  const SumAndNorm<T> result = add_layer_norm<T>(x, sublayer, {}, gamma, beta, static_cast<T>(1e-5));
  c.check("s", elements(result.sum.value()));
  c.finish("y", result.output);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(embedding_is_pytorchs, T, Precisions) {
  check_embedding<T>("learned");
  check_embedding<T>("no_positions");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sinusoids_follow_the_paper, T, Precisions) {
  for (const std::string path : {"embedding/sinusoids_10/table", "embedding/sinusoids_7/table"}) {
    const Tensor& wanted = ops().at(path);
    Comparison comparison = Comparison::of<T>(path);
    comparison.check("table", sinusoidal_positions<T>(wanted.shape()[0], wanted.shape()[1]), wanted,
                     kTolerance<T>);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(attention_is_pytorchs, T, Precisions) {
  check_attention<T>("full", false);
  check_attention<T>("causal", true);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cross_entropy_is_pytorchs, T, Precisions) {
  check_cross_entropy<T>("plain");
  check_cross_entropy<T>("smoothed");
  check_cross_entropy<T>("tied");
  check_cross_entropy<T>("many_rows");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(adadelta_is_pytorchs, T, Precisions) {
  const TensorMap& golden = ops();
  std::vector<T> p = numbers<T>(golden.at("adadelta/before")), moves(p.size()), squares(p.size());
  const std::vector<T> gradients = numbers<T>(golden.at("adadelta/gradients"));
  AdadeltaStep step;
  step.rate = 0.7;
  for (std::size_t first = 0; first < gradients.size(); first += p.size())
    adadelta_update<T>(step, p, std::span(gradients).subspan(first, p.size()), moves, squares);
  Comparison comparison = Comparison::of<T>("adadelta");
  comparison.check("after", p, golden.at("adadelta/after"), kTolerance<T>);
  comparison.check("moves", moves, golden.at("adadelta/moves"), kTolerance<T>);
  comparison.check("squares", squares, golden.at("adadelta/squares"), kTolerance<T>);
}

}  // namespace heed::golden
