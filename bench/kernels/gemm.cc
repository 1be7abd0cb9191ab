// Matrix products: in double, and in f16 without and with matrix instructions.
#include <immintrin.h>

#include "problem.h"
#include "problems.h"

EMBED_TEXT(gemm_ptx, "kernels/gemm.ptx");
EMBED_TEXT(gemm_cl, "kernels/gemm.cl");
EMBED_TEXT(sgemm_ptx, "kernels/kernels.ptx");
EMBED_TEXT(sgemm_cl, "kernels/kernels.cl");
EMBED_TEXT(product_ptx, "kernels/matrix.ptx");

namespace bench {
namespace {

constexpr uint32_t kSize = 512;

// C = A B, four rows by two vectors at a time in registers, over panels of B that stay in the second-level cache.
template <typename T>
void Product(const T* a, const T* b, T* c) {
  using Vector [[gnu::vector_size(kVectorBytes), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
  constexpr uint32_t kLanes = kVectorBytes / sizeof(T), kColumns = 2;
#pragma omp parallel for schedule(static)
  for (uint32_t row = 0; row < kSize; row += 4) {
    for (uint32_t column = 0; column < kSize; column += kColumns * kLanes) {
      Vector sums[4][kColumns] = {};
      for (uint32_t k = 0; k < kSize; ++k) {
        const auto* right = reinterpret_cast<const Vector*>(b + k * kSize + column);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; ++i) {
#pragma GCC unroll 2
          for (uint32_t j = 0; j < kColumns; ++j) sums[i][j] += right[j] * a[(row + i) * kSize + k];
        }
      }
      for (uint32_t i = 0; i < 4; ++i) {
        for (uint32_t j = 0; j < kColumns; ++j)
          *reinterpret_cast<Vector*>(c + (row + i) * kSize + column + j * kLanes) = sums[i][j];
      }
    }
  }
}

class Sgemm final : public Problem {
 public:
  explicit Sgemm(OpenCl* opencl)
      : Problem({sgemm_ptx, sgemm_cl}),
        a_(opencl, problem::Floats(kSize * kSize)),
        b_(opencl, problem::Floats(kSize * kSize, 9)),
        c_(opencl, problem::Floats(kSize * kSize)) {
    work = {.operations = 2.0 * kSize * kSize * kSize};
    Returns(c_, 1e-4);
  }
  void Kernels(Runner& on) override { on.Launch("sgemm", {kSize / 16, kSize / 16, 16, 16}, a_, b_, c_, kSize); }
  void Native() override { Product(a_.data(), b_.data(), c_.data()); }

 private:
  Array<float> a_, b_, c_;
};

class Dgemm final : public Problem {
 public:
  explicit Dgemm(OpenCl* opencl)
      : Problem({gemm_ptx, gemm_cl}), a_(opencl, Doubles(0)), b_(opencl, Doubles(9)), c_(opencl, Doubles(1)) {
    work = {.double_operations = 2.0 * kSize * kSize * kSize};
    Returns(c_, 1e-10);
  }
  void Kernels(Runner& on) override { on.Launch("dgemm", {kSize / 16, kSize / 16, 16, 16}, a_, b_, c_, kSize); }
  void Native() override { Product(a_.data(), b_.data(), c_.data()); }

 private:
  static std::vector<double> Doubles(uint32_t salt) {
    const std::vector<float> floats = problem::Floats(kSize * kSize, salt);
    return {floats.begin(), floats.end()};
  }
  Array<double> a_, b_, c_;
};

// To f16 and back.
#ifdef __AVX512F__
using HalfVector = __m512;
inline HalfVector Rounded(HalfVector sums) {
  return _mm512_cvtph_ps(_mm512_cvtps_ph(sums, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
using HalfVector = __m256;
inline HalfVector Rounded(HalfVector sums) { return _mm256_cvtph_ps(_mm256_cvtps_ph(sums, _MM_FROUND_TO_NEAREST_INT)); }
#endif

// Like Product, but sixteen products each are added up in f16, as the kernel does it. A sum is rounded to f32 first and
// then to f16, which the kernel may not do: where f32 has it in the middle between two halves, that is the wrong one.
void ProductInHalves(const float* a, const float* b, float* c) {
  constexpr uint32_t kLanes = sizeof(HalfVector) / sizeof(float), kColumns = 2;
#pragma omp parallel for schedule(static)
  for (uint32_t row = 0; row < kSize; row += 4) {
    for (uint32_t column = 0; column < kSize; column += kColumns * kLanes) {
      HalfVector sums[4][kColumns] = {};
      for (uint32_t start = 0; start < kSize; start += 16) {
        HalfVector parts[4][kColumns] = {};
        for (uint32_t k = start; k < start + 16; ++k) {
          HalfVector right[kColumns];
          for (uint32_t j = 0; j < kColumns; ++j)
            __builtin_memcpy(&right[j], b + k * kSize + column + j * kLanes, sizeof right[j]);
#pragma GCC unroll 4
          for (uint32_t i = 0; i < 4; ++i) {
#pragma GCC unroll 2
            for (uint32_t j = 0; j < kColumns; ++j)
              parts[i][j] = Rounded(right[j] * a[(row + i) * kSize + k] + parts[i][j]);
          }
        }
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; ++i) {
#pragma GCC unroll 2
          for (uint32_t j = 0; j < kColumns; ++j) sums[i][j] += parts[i][j];
        }
      }
      for (uint32_t i = 0; i < 4; ++i) {
        for (uint32_t j = 0; j < kColumns; ++j)
          __builtin_memcpy(c + (row + i) * kSize + column + j * kLanes, &sums[i][j], sizeof sums[i][j]);
      }
    }
  }
}

// A processor multiplies f16 in f32: native code converts the factors first.
class HalfProduct : public Problem {
 public:
  HalfProduct(OpenCl* opencl, Source source)
      : Problem(source), a_(opencl, Halves(0)), b_(opencl, Halves(9)), c_(opencl, problem::Floats(kSize * kSize)) {
    work = {.operations = 2.0 * kSize * kSize * kSize};
    Returns(c_, 2e-2);
  }
  void Native() override { Multiply(Product<float>); }

 protected:
  void Multiply(void (*product)(const float*, const float*, float*)) {
    std::vector<float> a(kSize * kSize), b(kSize * kSize);
#pragma omp parallel for simd schedule(static)
    for (uint32_t i = 0; i < kSize * kSize; ++i) {
      a[i] = static_cast<float>(a_.host[i]);
      b[i] = static_cast<float>(b_.host[i]);
    }
    product(a.data(), b.data(), c_.data());
  }
  static std::vector<_Float16> Halves(uint32_t salt) {
    std::vector<_Float16> halves;
    for (const float value : problem::Floats(kSize * kSize, salt)) halves.push_back(static_cast<_Float16>(value));
    return halves;
  }
  Array<_Float16> a_, b_;
  Array<float> c_;
};

class Hgemm final : public HalfProduct {
 public:
  explicit Hgemm(OpenCl* opencl) : HalfProduct(opencl, {gemm_ptx, gemm_cl}) {}
  void Kernels(Runner& on) override {
    // OpenCL's makes one column a thread.
    const bool pairs = !on.is_opencl();
    on.Launch("hgemm", {kSize / (pairs ? 32 : 16), kSize / 16, 16, 16}, a_, b_, c_, kSize);
  }
  bool NativeOnItsTerms() override {
    Multiply(ProductInHalves);
    return true;
  }
};

class MatrixInstructions final : public HalfProduct {
 public:
  explicit MatrixInstructions(OpenCl* opencl) : HalfProduct(opencl, {product_ptx, nullptr}) {}
  void Kernels(Runner& on) override { on.Launch("product_f16", {kSize / 64, kSize / 64, 128, 1}, a_, b_, c_, kSize); }
};

}  // namespace

std::vector<Entry> Matrices() {
  return {Named<Sgemm>("tiled SGEMM 512"), Named<Dgemm>("tiled DGEMM 512"), Named<Hgemm>("tiled HGEMM 512, f16x2"),
          Named<MatrixInstructions>("HGEMM 512, wmma")};
}

}  // namespace bench
