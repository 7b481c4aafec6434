// The products of a recurrence: in every step a few rows times the same matrix, and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "tensor/gemm.h"
#include "tensor/packed_weights.h"

namespace heed {

template <class T>
class StepProduct {
 public:
  /// By w [d_in, d_out], any strides, which outlives this and does not change. `rows`: how many rows all steps together
  /// have at most; when these are several times those of the first step, w is laid out for the products once. `precision`
  /// as in gemm(), except that products with a laid-out matrix always use it.
  StepProduct(Precision precision, Matrix<const T> w, std::int64_t rows)
      : precision_(std::min(w.rows, w.cols) < kFewestForBfloat16 ? Precision::float32 : precision),
        w_(w),
        rows_(rows) {}

  /// c = a w, or c += a w.
  void forward(Matrix<const T> a, bool accumulate, Matrix<T> c) {
    if (!packs_) packs_ = a.rows >= kRows && rows_ >= kSteps * a.rows;
    multiply(forward_, a, w_, accumulate, c);
  }
  /// d_a = d_c w^T, or d_a += d_c w^T.
  void backward(Matrix<const T> d_c, bool accumulate, Matrix<T> d_a) {
    multiply(backward_, d_c, w_.t(), accumulate, d_a);
  }
  /// There is no further step in that direction: gives memory back.
  void end_forward() { forward_ = {}; }
  void end_backward() { backward_ = {}; }

 private:
  // Laying out takes as long as a few steps, of so many rows, gain.
  static constexpr std::int64_t kSteps = 4, kRows = 8;
  struct Packed {
    std::unique_ptr<Arena> memory;
    PackedMatrix<T> matrix;
  };

  void multiply(Packed& packed, Matrix<const T> a, Matrix<const T> w, bool accumulate, Matrix<T> c) {
    if (!packs_.value_or(false)) return gemm<T>(precision_, a, w, accumulate ? 1 : 0, c);
    if (!packed.memory) {
      packed.memory = std::make_unique<Arena>();
      packed.matrix = lay_out<T>(w, precision_, *packed.memory);
    }
    if (accumulate) return multiply_packed_add<T>(a, packed.matrix, c);
    multiply_packed<T>(a, packed.matrix, {}, Activation::none, c);
  }

  Precision precision_;
  Matrix<const T> w_;
  std::int64_t rows_;
  std::optional<bool> packs_;
  Packed forward_, backward_;
};

}  // namespace heed
