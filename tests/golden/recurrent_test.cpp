// Recurrent layers against PyTorch (scripts/make-golden-cells): every cell with its options.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "golden/comparison.h"
#include "nn/recurrent.h"

namespace heed::golden {
namespace {

const TensorMap& cells() {
  static const TensorMap map = read_golden("recurrent");
  return map;
}

/// One golden layer and what it was given.
template <class T>
class LayerCase {
 public:
  explicit LayerCase(const std::string& name) : path_(name + "/"), comparison_(Comparison::of<T>(name)) {
    sizes_.cell = cells().at(path_ + "cell").values<std::string>()[0];
    sizes_.d_hidden = number("d_hidden");
    sizes_.peepholes = number("peepholes");
    sizes_.layer_norm = number("layer_norm");
    sizes_.learned_start = number("learned_start");
    add_recurrent(parameters_, "layer", sizes_, cells().at(path_ + "x").shape().back(), {});
    TensorMap renamed;
    for (const Parameter& p : parameters_.list()) renamed.add(p.name, cells().at(golden_name(p)));
    parameters_.from_map(renamed, "", parameters_.values());
    gradients_.resize(parameters_.values().size());
  }

  void check() {
    const Packing rows(numbers<std::int32_t>(cells().at(path_ + "length")));
    tape_.set_with_gradients(true);
    Pass<T> pass(tape_, parameters_);
    pass.gradients = gradients_.data();
    const Var<T> x = input("x"), first = input("first"), extra = input("extra");
    const RecurrentOutput<T> out =
        recurrent(Scope<T>(pass) / "layer", sizes_, x, rows,
                  number("backward") ? Direction::backward : Direction::forward, first, extra);
    compare("h", elements(out.h.value()));
    compare("last", elements(out.last.value()));
    send_back("d_h", out.h);
    send_back("d_last", out.last);
    tape_.backward();
    for (const auto& [name, in] : inputs_) compare("d_" + name, in.gradient);
    for (const Parameter& p : parameters_.list()) {
      compare(golden_name(p, "d_").substr(path_.size()), elements<T>(p.in(gradients_.data())));
    }
  }

 private:
  struct Input {
    std::vector<T> value, gradient;
  };
  std::int64_t number(const std::string& name) {
    return numbers<std::int32_t>(cells().at(path_ + name)).at(0);
  }
  std::string golden_name(const Parameter& p, const std::string& prefix = "") const {
    return path_ + prefix + "parameters/" + p.name.substr(std::string("layer/").size());
  }
  Var<T> input(const std::string& name) {
    if (!cells().contains(path_ + name)) return {};
    const Tensor& tensor = cells().at(path_ + name);
    Input& in = inputs_[name];
    in.value = numbers<T>(tensor);
    in.gradient.resize(in.value.size());
    const std::int64_t cols = tensor.shape().back(), rows = tensor.shape().front();
    return tape_.leaf({in.value.data(), rows, cols}, {in.gradient.data(), rows, cols});
  }
  void send_back(const std::string& name, Var<T> y) {
    const std::vector<T> upstream = numbers<T>(cells().at(path_ + name));
    const Matrix<T> d_y = tape_.gradient(y);
    BOOST_REQUIRE_EQUAL(static_cast<std::size_t>(d_y.size()), upstream.size());
    for (std::int64_t i = 0; i < d_y.size(); ++i)
      d_y(i / d_y.cols, i % d_y.cols) = upstream[static_cast<std::size_t>(i)];
  }
  void compare(const std::string& name, const std::vector<T>& got) {
    comparison_.check(name, got, cells().at(path_ + name), kTolerance<T>);
  }

  std::string path_;
  Comparison comparison_;
  RecurrentSizes sizes_;
  ParameterSet<T> parameters_;
  std::vector<T> gradients_;
  Tape<T> tape_;
  std::map<std::string, Input> inputs_;
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(recurrent_layers_are_pytorchs, T, Precisions) {
  std::set<std::string> cases;
  for (const auto& [name, tensor] : cells().tensors()) cases.insert(name.substr(0, name.find('/')));
  BOOST_CHECK_EQUAL(cases.size(), 18u);
  for (const std::string& name : cases) {
    // Layer normalisation divides by deviations that may be small: float knows too little of the quotients.
    const bool normed = numbers<std::int32_t>(cells().at(name + "/layer_norm")).at(0);
    if (sizeof(T) == 8 || !normed) LayerCase<T>(name).check();
  }
}

}  // namespace heed::golden
