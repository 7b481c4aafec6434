// Checks the gradients of differentiable operations.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "support/gradient_check.h"

namespace heed::test {

struct Input {
  std::int64_t rows, cols;
  std::vector<double> values{}, gradient{};
};

/// Checks every element of every input of `op`; the loss is a random projection of its output.
inline void check_op(const std::string& name, std::vector<Input> inputs,
                     const std::function<Var<double>(const std::vector<Var<double>>&)>& op) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].values = random_values(inputs[i].rows * inputs[i].cols, i + 1);
    inputs[i].gradient.assign(inputs[i].values.size(), 0);
  }
  auto loss = [&](bool backward) {
    Tape<double> tape;
    tape.set_with_gradients(backward);
    std::vector<Var<double>> leaves;
    for (Input& in : inputs) {
      leaves.push_back(
          tape.leaf({in.values.data(), in.rows, in.cols}, {in.gradient.data(), in.rows, in.cols}));
    }
    Var<double> y = op(leaves);
    const std::vector<double> projection = random_values(y.value().size(), 99);
    double sum = 0;
    for (std::int64_t i = 0; i < y.rows(); ++i) {
      for (std::int64_t j = 0; j < y.cols(); ++j) {
        const double share = projection[static_cast<std::size_t>(i * y.cols() + j)];
        if (backward) tape.gradient(y)(i, j) = share;
        if (y.value()(i, j) > -1e300) sum += share * y.value()(i, j);  // scores after a sentence's end
      }
    }
    if (backward) tape.backward();
    return sum;
  };
  loss(true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_gradient(name + ", input " + std::to_string(i), inputs[i].values, inputs[i].gradient,
                   [&] { return loss(false); });
  }
}

}  // namespace heed::test
