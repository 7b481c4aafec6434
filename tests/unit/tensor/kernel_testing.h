// Random inputs in T and, with equal values, in double for the naive twin; and the comparison of the two
// results.
#pragma once

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "naive_kernels.h"

namespace heed::testing {

using Floats = boost::mpl::list<float, double>;
using Index = std::int64_t;

inline const std::vector<Index> kSizes = {1,  7,   17,
                                          33, 130, 517};  // below, at the edge of and beyond the vectors

/// Values that the kernel reads or writes (`fast`) and the same for the twin (`exact`).
template <class T>
struct Both {
  std::vector<T> fast;
  std::vector<double> exact;

  explicit Both(Index count, T value = 0) : fast(count, value), exact(count, value) {}
  static Both normal(Index count, std::uint64_t stream, double deviation = 1) {
    Both both(count);
    Random random(42, stream);
    for (Index i = 0; i < count; ++i) both.set(i, deviation * random.normal());
    return both;
  }
  void set(Index i, double value) { exact[i] = fast[i] = static_cast<T>(value); }

  std::span<const T> in() const { return fast; }
  std::span<const double> in_exact() const { return exact; }
  std::span<T> out() { return fast; }
  std::span<double> out_exact() { return exact; }
};

/// [rows, cols] with `gap` elements between the rows (NaN, to be left alone), from an address without
/// alignment.
template <class T>
struct BothMatrix {
  Index rows, cols, stride;
  Both<T> values;

  BothMatrix(Index rows, Index cols, std::uint64_t stream = 0, double deviation = 1, Index gap = 0)
      : rows(rows), cols(cols), stride(cols + gap), values(1 + rows * stride) {
    Random random(43, stream);
    for (Index i = 0; i < static_cast<Index>(values.fast.size()); ++i) {
      const bool inside = i > 0 && (i - 1) % stride < cols;
      values.set(i, inside ? (stream ? deviation * random.normal() : 0) : std::nan(""));
    }
  }
  void set(Index i, Index j, double value) { values.set(1 + i * stride + j, value); }
  Matrix<T> fast() { return {values.fast.data() + 1, rows, cols, stride}; }
  Matrix<double> exact() { return {values.exact.data() + 1, rows, cols, stride}; }
  Matrix<const T> in() { return fast(); }
  Matrix<const double> in_exact() { return exact(); }
};

/// |got - wanted| <= tolerance * eps * max(|wanted|, size); infinities and NaN must agree.
template <class T>
void check_close(std::span<const T> got, std::span<const double> wanted, double tolerance, double size = 1) {
  BOOST_REQUIRE_EQUAL(got.size(), wanted.size());
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double error = std::abs(got[i] - wanted[i]) / std::max(std::abs(wanted[i]), size);
    if (std::isnan(wanted[i]) || std::isinf(wanted[i]))
      error = std::isnan(wanted[i]) ? !std::isnan(got[i]) : got[i] != wanted[i];
    else if (!std::isfinite(got[i]))
      error = std::numeric_limits<double>::infinity();
    if (error > worst) {
      worst = error;
      where = i;
    }
  }
  const double limit = tolerance * std::numeric_limits<T>::epsilon();
  BOOST_TEST(worst <= limit, "element " << where << ": got " << got[where] << ", wanted " << wanted[where]
                                        << ", error " << worst << ", limit " << limit);
}
template <class T>
void check_close(const Both<T>& both, double tolerance, double size = 1) {
  check_close<T>(both.fast, both.exact, tolerance, size);
}
template <class T>
void check_close(const BothMatrix<T>& both, double tolerance, double size = 1) {
  check_close<T>(both.values.fast, both.values.exact, tolerance, size);
}

}  // namespace heed::testing
