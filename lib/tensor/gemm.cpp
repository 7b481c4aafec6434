#include "tensor/gemm.h"

#include <blis.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/simd_level.h"
#include "tensor/bfloat16_product.h"
#include "tensor/kernels.h"
#include "tensor/kernels_in_use.h"
#include "tensor/product_count.h"

namespace heed {
namespace {

/// A BLIS context and whether its small-matrix ("sup") kernels, which do not pack, may run.
struct Kernels {
  cntx_t* context;  ///< null: the one BLIS selects
  bool small_matrix;
};

/// Whose measured rule decides between the two below.
enum class Processor { other, amd, avx512 };

#if defined(__x86_64__)
bool is_from(const char* vendor) {
  unsigned eax = 0, name[3] = {};
  return __get_cpuid(0, &eax, &name[0], &name[2], &name[1]) &&
         std::string(reinterpret_cast<const char*>(name), sizeof name) == vendor;
}
// What BLIS's kernels need: less than our own ask for (simd_level.cpp).
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#else
bool is_from(const char*) {
  return false;
}
bool has_avx2() {
  return false;
}
bool has_avx512() {
  return false;
}
#endif

/// BLIS ends the process when BLIS_ARCH_TYPE names kernels that it does not have, so a child tries it first.
bool blis_accepts_environment() {
  if (!std::getenv("BLIS_ARCH_TYPE")) return true;
  const auto handler = std::signal(SIGCHLD, SIG_DFL);  // ignored, it would leave no status
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    close(STDOUT_FILENO), close(STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);
    bli_init();
    bli_arch_query_id();
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::signal(SIGCHLD, handler);
  return status == 0;
}

/// Tried while the library is loaded, because a child of a process with threads may wait for ever for a lock that one
/// of them held.
const bool environment_accepted = blis_accepts_environment();

void check_environment() {
  if (!environment_accepted)
    fail("BLIS_ARCH_TYPE=", escaped(std::getenv("BLIS_ARCH_TYPE")),
         ": BLIS has no kernels of that name for this machine; unset it");
}

struct KernelTable {
  Processor processor = Processor::other;
  Kernels unpacked{nullptr, true};
  Kernels packed{nullptr, false};

  /// Not BLIS, whose kernels pack their operands one element at a time where it does not know the processor.
  static constexpr Kernels blocks{nullptr, false};

  KernelTable() {
    check_environment();
    bli_init();
    bli_error_checking_level_set(BLIS_NO_ERROR_CHECKING);  // gemm checks; BLIS would abort
    // BLIS 0.9 treats processors newer than itself, such as Zen 5, as having no SIMD, and does not detect
    // AVX-512 on most Intel processors.
    const bool unknown = bli_arch_query_id() == BLIS_ARCH_GENERIC;
    cntx_t* haswell = has_avx2() ? bli_gks_lookup_nat_cntx(BLIS_ARCH_HASWELL) : nullptr;
    cntx_t* skx = has_avx512() ? bli_gks_lookup_nat_cntx(BLIS_ARCH_SKX) : nullptr;
    if (haswell && skx && (unknown || is_from("GenuineIntel"))) {
      processor = Processor::avx512;
      unpacked = {haswell, true};
      packed = {skx, false};
    } else if (is_from("AuthenticAMD")) {
      processor = Processor::amd;
    }
    if (unknown && haswell && !skx) {
      unpacked = {haswell, true};
      packed = {haswell, false};
    }
  }
};

const KernelTable& kernel_table() {
  static const KernelTable table;
  return table;
}

/// Measured with one thread, GFLOP/s without and with packing (BLIS 0.9):
///   AMD Zen 4, a b:     [80, 10000, 128] 103 : 74, [128, 128, 2048] 104 : 95, [2048, 512, 128] 80 : 101
///   AMD Zen 4, a' b:    [80, 128, 128] 83 : 69, [512, 128, 2048] 64 : 85, [2048, 384, 128] 63 : 99
///   AMD Zen 4, a b':    [80, 10000, 128] 76 : 72, [128, 512, 2048] 33 : 81, [2048, 512, 128] 83 : 107
///   Intel Xeon AVX-512: [32, 32, 64] 67 : 28, [4, 512, 512] 68 : 20, [1024, 1024, 1024] 99 : 150
///   AMD Zen 5:          [32, 32, 64] 71 : 33, [4, 512, 512] 72 : 30, [1024, 1024, 1024] 109 : 192,
///                       [2048, 512, 128] 110 : 214, [80, 128, 128] 111 : 146; by BLIS's own choice 20 to 37
///   AMD Zen 5, a b':    [32, 512, 512] 106 : 72, [64, 512, 512] 105 : 111, [256, 512, 512] 117 : 184
/// AVX-512 has a third choice, multiply_blocks instead of packing by BLIS:
///   AMD Zen 5, a b:     [4, 512, 512] 75 : 59, [8, 512, 512] 79 : 97, [32, 512, 512] 104 : 173, [600, 128, 128] 199 : 233
///   AMD Zen 5, a' b:    [512, 2048, 600] 187 : 223, [128, 9712, 600] 113 : 170
///   AMD Zen 5, a b':    [8, 512, 512] 102 : 63, [24, 512, 512] 109 : 125, [64, 512, 512] 111 : 178
bool packing_pays(Processor processor, std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
                  bool b_transposed) {
  switch (processor) {
    case Processor::amd:
      return a_transposed || b_transposed ? m >= 100 : m >= 512 && n > 256;
    case Processor::avx512:
      return m >= (b_transposed ? 24 : 8) && std::min(n, k) >= 32 && m * n * k >= std::int64_t{1} << 20;
    case Processor::other:
      break;
  }
  return false;  // BLIS decides
}

const Kernels& pick_kernels(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
                            bool b_transposed) {
  const KernelTable& table = kernel_table();
  if (!packing_pays(table.processor, m, n, k, a_transposed, b_transposed)) return table.unpacked;
  return table.processor == Processor::avx512 ? KernelTable::blocks : table.packed;
}

template <class T>
void expect_product(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c) {
  if (a.cols == b.rows && c.rows == a.rows && c.cols == b.cols && std::min({c.rows, c.cols, a.cols}) >= 0)
    return;
  fail("gemm: [", a.rows, ", ", a.cols, "] times [", b.rows, ", ", b.cols, "] into [", c.rows, ", ", c.cols,
       "]: the shapes do not fit");
}

rntm_t one_thread(const Kernels& kernels) {
  rntm_t runtime;
  bli_rntm_init(&runtime);
  bli_rntm_set_num_threads_only(1, &runtime);
  bli_rntm_set_l3_sup(kernels.small_matrix, &runtime);
  return runtime;
}

// BLIS has the element type in the function's name and takes non-const pointers to its inputs.
void product(const Kernels& kernels, float alpha, const Matrix<const float>& a, const Matrix<const float>& b,
             float beta, const Matrix<float>& c) {
  rntm_t runtime = one_thread(kernels);
  bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, c.rows, c.cols, a.cols, &alpha,
               const_cast<float*>(a.data), a.row_stride, a.col_stride, const_cast<float*>(b.data),
               b.row_stride, b.col_stride, &beta, c.data, c.row_stride, c.col_stride, kernels.context,
               &runtime);
}
void product(const Kernels& kernels, double alpha, const Matrix<const double>& a,
             const Matrix<const double>& b, double beta, const Matrix<double>& c) {
  rntm_t runtime = one_thread(kernels);
  bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, c.rows, c.cols, a.cols, &alpha,
               const_cast<double*>(a.data), a.row_stride, a.col_stride, const_cast<double*>(b.data),
               b.row_stride, b.col_stride, &beta, c.data, c.row_stride, c.col_stride, kernels.context,
               &runtime);
}
void matrix_vector(float alpha, const Matrix<const float>& a, const float* x, std::int64_t x_stride,
                   float beta, float* y, std::int64_t y_stride) {
  bli_sgemv_ex(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, a.rows, a.cols, &alpha, const_cast<float*>(a.data),
               a.row_stride, a.col_stride, const_cast<float*>(x), x_stride, &beta, y, y_stride,
               kernel_table().unpacked.context, nullptr);
}
void matrix_vector(double alpha, const Matrix<const double>& a, const double* x, std::int64_t x_stride,
                   double beta, double* y, std::int64_t y_stride) {
  bli_dgemv_ex(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, a.rows, a.cols, &alpha, const_cast<double*>(a.data),
               a.row_stride, a.col_stride, const_cast<double*>(x), x_stride, &beta, y, y_stride,
               kernel_table().unpacked.context, nullptr);
}

template <class T>
void scale(T beta, const Matrix<T>& c) {
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.cols; ++j) c(i, j) = beta == 0 ? T{0} : beta * c(i, j);
}

}  // namespace

template <class T>
void gemm(std::type_identity_t<T> alpha, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::type_identity_t<T> beta, Matrix<T> c) {
  expect_product(a, b, c);
  if (c.rows == 0 || c.cols == 0) return;
  count_product(c.rows, c.cols, a.cols);
  if (a.cols == 0 || alpha == 0) return scale(beta, c);
  kernel_table();  // starts BLIS
  if (c.cols == 1) return matrix_vector(alpha, a, b.data, b.row_stride, beta, c.data, c.row_stride);
  if (c.rows == 1) return matrix_vector(alpha, b.t(), a.data, a.col_stride, beta, c.data, c.col_stride);
  const Kernels& kernels = pick_kernels(c.rows, c.cols, a.cols, a.col_stride != 1, b.col_stride != 1);
  if (&kernels != &KernelTable::blocks) return product(kernels, alpha, a, b, beta, c);
  const bool fits = beta == 0 || beta == 1;
  if (fits && c.col_stride == 1) return multiply_blocks<T>(alpha, a, b, beta == 1, c);
  if (fits && c.row_stride == 1) return multiply_blocks<T>(alpha, b.t(), a.t(), beta == 1, c.t());
  product(kernel_table().packed, alpha, a, b, beta, c);
}

template void gemm<float>(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>);
template void gemm<double>(double, Matrix<const double>, Matrix<const double>, double, Matrix<double>);

namespace {

template <class T>
bool is_bfloat16(Precision precision, const Matrix<const T>& a, const Matrix<T>& c) {
  return std::is_same_v<T, float> && precision == Precision::bfloat16 &&
         std::min({c.rows, c.cols, a.cols}) >= kFewestForBfloat16;
}

}  // namespace

template <class T>
void gemm(Precision precision, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::type_identity_t<T> beta, Matrix<T> c) {
  if constexpr (std::is_same_v<T, float>) {
    if (is_bfloat16<T>(precision, a, c)) {
      expect_product(a, b, c);
      return multiply_bfloat16(a, b, beta != 0 ? Matrix<const float>(c) : Matrix<const float>(), c);
    }
  }
  gemm<T>(1, a, b, beta, c);
}

template <class T>
void gemm(Precision precision, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::span<const std::type_identity_t<T>> row,
          Matrix<T> c) {
  if (!row.empty() && std::ssize(row) != c.cols)
    fail("gemm: a row of ", row.size(), " does not fit [", c.rows, ", ", c.cols, "]");
  if constexpr (std::is_same_v<T, float>) {
    if (is_bfloat16<T>(precision, a, c)) {
      expect_product(a, b, c);
      const Matrix<const float> start(row.data(), c.rows, c.cols, 0);
      return multiply_bfloat16(a, b, row.empty() ? Matrix<const float>() : start, c);
    }
  }
  if (!row.empty()) broadcast_row<T>(row, c);
  gemm<T>(precision, a, b, row.empty() ? 0 : 1, c);
}

#define HEED_INSTANTIATE_GEMM(T)                                                    \
  template void gemm<T>(Precision, Matrix<const T>, Matrix<const T>, T, Matrix<T>); \
  template void gemm<T>(Precision, Matrix<const T>, Matrix<const T>, std::span<const T>, Matrix<T>);
HEED_INSTANTIATE_GEMM(float)
HEED_INSTANTIATE_GEMM(double)
#undef HEED_INSTANTIATE_GEMM

std::string kernels_in_use() {
  constexpr const char* kLevels[] = {"no SIMD", "SSE4", "AVX2", "AVX-512", "AMX"};
  const KernelTable& table = kernel_table();
  const char* const kernels = !table.packed.context                  ? bli_arch_string(bli_arch_query_id())
                              : table.processor == Processor::avx512 ? "haswell+skx"
                                                                     : "haswell";
  return concat("BLIS ", bli_info_get_version_str(), " ", kernels, " and ",
                kLevels[static_cast<std::size_t>(simd_level())]);
}

}  // namespace heed
