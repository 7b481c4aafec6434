// Golden files (scripts/make-golden) and the comparison with them.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "io/frame_stream.h"
#include "tensor/kernels.h"
#include "tensor/matrix.h"
#include "tensor/tensor_map.h"

namespace heed::golden {

using Precisions = std::tuple<float, double>;

/// Largest relative error allowed: of one pass, and of what ten training steps make of it.
template <class T>
constexpr double kTolerance = sizeof(T) == 8 ? 1e-9 : 1e-4;
template <class T>
constexpr double kTrainingTolerance = sizeof(T) == 8 ? 1e-7 : 1e-4;

/// Values below this are compared as if they were as large: a sum whose terms cancel is known no better.
constexpr double kSmall = 1e-2;

inline TensorMap read_golden(const std::string& name) {
  return io::read_map(std::string(HEED_TESTDATA) + "/golden/" + name + ".h5");
}

template <class T>
std::vector<T> numbers(const Tensor& tensor) {
  auto converted = [](auto values) { return std::vector<T>(values.begin(), values.end()); };
  switch (tensor.dtype()) {
    case DType::f32:
      return converted(tensor.values<float>());
    case DType::i32:
      return converted(tensor.values<std::int32_t>());
    default:
      return converted(tensor.values<double>());
  }
}

template <class T>
std::vector<T> elements(Matrix<const T> m) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.cols; ++j) values.push_back(m(i, j));
  }
  return values;
}

/// Step `t`, counted from 1, of Adam with 0.9 for beta1.
inline AdamStep adam_step(double learning_rate, double beta2, double eps, std::size_t t) {
  AdamStep step;
  step.beta1 = 0.9;
  step.beta2 = beta2;
  step.eps = eps;
  step.step_size = learning_rate / (1 - std::pow(step.beta1, t));
  step.v_scale = 1 / (1 - std::pow(step.beta2, t));
  return step;
}

/// Compares tensors with golden ones, and counts; comparing nothing is a failure.
class Comparison {
 public:
  Comparison(std::string subject, const char* precision)
      : subject_(std::move(subject)), precision_(precision) {}
  template <class T>
  static Comparison of(const std::string& subject) {
    return Comparison(subject, sizeof(T) == 8 ? "double" : "float");
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;
  ~Comparison() {
    BOOST_CHECK_MESSAGE(elements_ > 0, subject_ << ": nothing was compared");
    std::cout << subject_ << ", " << precision_ << ": " << elements_ << " elements of " << tensors_
              << " tensors compared, largest relative error " << worst_ << " in " << worst_name_ << "\n";
  }

  template <class T>
  void check(const std::string& name, const std::vector<T>& got, const Tensor& wanted, double tolerance) {
    const std::vector<double> golden = numbers<double>(wanted);
    BOOST_REQUIRE_MESSAGE(got.size() == golden.size(), subject_ << ": " << name << " has " << got.size()
                                                                << " elements, wanted " << golden.size());
    double largest = 0;
    for (std::size_t i = 0; i < golden.size(); ++i) {
      const double value = static_cast<double>(got[i]);
      if (value == golden[i]) continue;  // both may be infinite
      const double error = std::abs(value - golden[i]) / std::max(std::abs(golden[i]), kSmall);
      largest = std::isnan(error) ? INFINITY : std::max(largest, error);
    }
    BOOST_CHECK_MESSAGE(largest <= tolerance, subject_ << ", " << precision_ << ": " << name
                                                       << ": relative error " << largest << ", allowed "
                                                       << tolerance);
    count(name, golden.size(), largest);
  }

 private:
  void count(const std::string& name, std::size_t elements, double error) {
    elements_ += static_cast<std::int64_t>(elements);
    ++tensors_;
    if (error <= worst_) return;
    worst_ = error;
    worst_name_ = name;
  }

  std::string subject_;
  const char* precision_;
  std::int64_t elements_ = 0, tensors_ = 0;
  double worst_ = 0;
  std::string worst_name_ = "(none)";
};

}  // namespace heed::golden
