// How programs use cuBLAS: what it refuses, streams and captures, other types of elements, cublasLt.
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/libraries/blas_fixture.h"

namespace blas_test {
namespace {

extern "C" {
int cublasGemmEx(Handle*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                 const void*, void*, int, int, int, int);
int cublasGemmStridedBatchedEx(Handle*, int, int, int, int, int, const void*, const void*, int, int, long long,
                               const void*, int, int, long long, const void*, void*, int, int, long long, int, int,
                               int);
int cublasGetVersion_v2(Handle*, int*);
const char* cublasGetStatusName(int);
int cublasSgelsBatched();
int cublasSetMatrix(int, int, int, const void*, int, void*, int);
int cublasGetMatrix(int, int, int, const void*, int, void*, int);
}

constexpr int kF32 = 0, kF16 = 2, kS8 = 3, kS32 = 10, kBF16 = 14, kCompute16F = 64, kCompute32F = 68, kCompute32I = 72;

// Small integers, exact in each type.
std::vector<int> Integers(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<int> values(count);
  for (int& value : values) value = static_cast<int>(engine() % 9) - 4;
  return values;
}
uint16_t Brain(int value) {
  const auto number = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &number, 4);
  return static_cast<uint16_t>(bits >> 16);
}
uint16_t Half(int value) {
  const auto number = static_cast<_Float16>(value);
  uint16_t bits = 0;
  std::memcpy(&bits, &number, 2);
  return bits;
}
template <typename E>
std::vector<E> Encode(const std::vector<int>& values, E (*encode)(int)) {
  std::vector<E> encoded;
  for (const int value : values) encoded.push_back(encode(value));
  return encoded;
}

struct Integral {
  static constexpr int kM = 65, kN_ = 50, kK = 70;
  std::vector<int> a = Integers(kM * kK, 1), b = Integers(kK * kN_, 2), c = std::vector<int>(kM * kN_);
  Integral() {
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kN_; ++j) {
        for (int p = 0; p < kK; ++p) c[i + j * kM] += a[i + p * kM] * b[p + j * kK];
      }
    }
  }
};

TEST_F(Blas, GemmExTakesHalvesAndBytes) {
  const Integral p;
  const float one = 1, zero = 0;
  const uint16_t half_one = Half(1), half_zero = 0;
  const int int_one = 1, int_zero = 0;
  const auto multiply = [&](int type, const void* a, const void* b, void* c, int c_type, int compute, const void* alpha,
                            const void* beta) {
    return cublasGemmEx(handle_, kN, kN, Integral::kM, Integral::kN_, Integral::kK, alpha, a, type, Integral::kM, b,
                        type, Integral::kK, beta, c, c_type, Integral::kM, compute, -1);
  };
  const Device<uint16_t> half_a(Encode(p.a, Half)), half_b(Encode(p.b, Half)), brain_a(Encode(p.a, Brain)),
      brain_b(Encode(p.b, Brain)), half_c(std::vector<uint16_t>(p.c.size()));
  const auto byte = +[](int value) { return static_cast<int8_t>(value); };
  const Device<int8_t> byte_a(Encode(p.a, byte)), byte_b(Encode(p.b, byte));
  const Device<float> c(std::vector<float>(p.c.size()));
  const Device<int> int_c(std::vector<int>(p.c.size()));
  const std::vector<float> exact(p.c.begin(), p.c.end());
  ASSERT_EQ(multiply(kF16, half_a.get(), half_b.get(), c.get(), kF32, kCompute32F, &one, &zero), kSuccess);
  EXPECT_EQ(c.Read(), exact);
  ASSERT_EQ(multiply(kF16, half_a.get(), half_b.get(), half_c.get(), kF16, kCompute16F, &half_one, &half_zero),
            kSuccess);
  EXPECT_EQ(half_c.Read(), Encode(p.c, Half));
  ASSERT_EQ(multiply(kBF16, brain_a.get(), brain_b.get(), c.get(), kF32, kCompute32F, &one, &zero), kSuccess);
  EXPECT_EQ(c.Read(), exact);
  ASSERT_EQ(multiply(kS8, byte_a.get(), byte_b.get(), int_c.get(), kS32, kCompute32I, &int_one, &int_zero), kSuccess);
  EXPECT_EQ(int_c.Read(), p.c);
  ASSERT_EQ(multiply(kS8, byte_a.get(), byte_b.get(), c.get(), kF32, kCompute32F, &one, &zero), kSuccess);
  EXPECT_EQ(c.Read(), exact);
  EXPECT_EQ(multiply(kS8, byte_a.get(), byte_b.get(), c.get(), kF16, kCompute32F, &one, &zero), kNotSupported);
  EXPECT_EQ(multiply(999, byte_a.get(), byte_b.get(), c.get(), kF32, kCompute32F, &one, &zero), kNotSupported);
}

TEST_F(Blas, WrongArgumentsAreRefused) {
  const float one = 1;
  const Device<float> x(std::vector<float>(64));
  float* const d = x.get();
  const auto gemm = [&](Handle* handle, int op, int m, int n, int k, const float* alpha, int lda, int ldb, int ldc) {
    return Api<float>::gemm(handle, op, kN, m, n, k, alpha, d, lda, d, ldb, &one, d, ldc);
  };
  EXPECT_EQ(gemm(nullptr, kN, 4, 4, 4, &one, 4, 4, 4), kNotInitialized);
  EXPECT_EQ(gemm(handle_, 7, 4, 4, 4, &one, 4, 4, 4), kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, -1, 4, 4, &one, 4, 4, 4), kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 4, -2147483647 - 1, &one, 4, 4, 4), kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 4, 4, &one, 3, 4, 4), kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 4, 4, &one, 4, 0, 4), kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 4, 4, &one, 4, 4, 3), kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 4, 4, nullptr, 4, 4, 4), kInvalidValue);
  EXPECT_EQ(Api<float>::gemv(handle_, kN, 4, 4, &one, d, 4, d, 0, &one, d, 1), kInvalidValue);
  EXPECT_EQ(Api<float>::trsm(handle_, 2, 0, kN, 0, 4, 4, &one, d, 4, d, 4), kInvalidValue);
  EXPECT_EQ(cublasSetPointerMode_v2(handle_, 5), kInvalidValue);
  EXPECT_EQ(cublasDestroy_v2(nullptr), kNotInitialized);
  EXPECT_STREQ(cublasGetStatusName(kInvalidValue), "CUBLAS_STATUS_INVALID_VALUE");
  EXPECT_EQ(cublasSgelsBatched(), kNotSupported);
}

TEST_F(Blas, MatricesAreCopiedByTheirLeadingDimensions) {
  const auto a = Random<float>(10 * 4, 1);
  const Device<float> d(std::vector<float>(7 * 4, 9));
  ASSERT_EQ(cublasSetMatrix(5, 4, sizeof(float), a.data(), 10, d.get(), 7), kSuccess);
  std::vector<float> back(6 * 4, 8);
  ASSERT_EQ(cublasGetMatrix(5, 4, sizeof(float), d.get(), 7, back.data(), 6), kSuccess);
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(back[i + j * 6], a[i + j * 10]);
    EXPECT_EQ(back[5 + j * 6], 8);
    EXPECT_EQ(d.Read()[6 + j * 7], 9);
  }
}

// BLAS: with alpha zero A is not read. In several blocks of rows, and on both sides.
TEST_F(Blas, ASystemIsZeroWithoutAWhenTheDevicesAlphaIsZero) {
  const int n = 100;
  const std::vector<float> nothing(n * n, std::nanf("")), b = Random<float>(n * n, 2), zero{0}, zeros(n * n, 0.0F);
  const Device<float> a(nothing), alpha(zero);
  ASSERT_EQ(cublasSetPointerMode_v2(handle_, 1), kSuccess);
  for (const int side : {0, 1}) {
    const Device<float> x(b);
    EXPECT_EQ(Api<float>::trsm(handle_, side, 0, kN, 0, n, n, alpha.get(), a.get(), n, x.get(), n), kSuccess);
    EXPECT_EQ(x.Read(), zeros) << side;
  }
  ASSERT_EQ(cublasSetPointerMode_v2(handle_, 0), kSuccess);
}

// Two systems of 100 rows, and a product in place: many launches, and memory for a copy.
TEST_F(Blas, ACapturedStreamRecordsTheCalls) {
  const int n = 100;
  const float one = 1;
  const auto a = Dominant<float>(n * n, n, [](int i) { return i * (n + 1); }), b = Random<float>(n * n, 2);
  const Device<float> our_a(a), our_b(b);
  cuda::CUstream stream = nullptr;
  cuda::CUgraph graph = nullptr;
  cuda::CUgraphExec exec = nullptr;
  ASSERT_EQ(cuda::cuStreamCreate(&stream, 1), 0);
  ASSERT_EQ(cublasSetStream_v2(handle_, stream), kSuccess);
  ASSERT_EQ(cuda::cuStreamBeginCapture_v2(stream, 2), 0);
  ASSERT_EQ(Api<float>::trsm(handle_, 0, 0, kN, 0, n, n, &one, our_a.get(), n, our_b.get(), n), kSuccess);
  ASSERT_EQ(Api<float>::trmm(handle_, 0, 0, kN, 0, n, n, &one, our_a.get(), n, our_b.get(), n, our_b.get(), n),
            kSuccess);
  ASSERT_EQ(cuda::cuStreamEndCapture(stream, &graph), 0);
  EXPECT_EQ(our_b.Read(), b);  // nothing has run
  ASSERT_EQ(cuda::cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cuda::cuGraphLaunch(exec, stream), 0);
    ASSERT_EQ(cuda::cuStreamSynchronize(stream), 0);
    ExpectNear(our_b.Read(), b, 4 * n, "solved and multiplied again");
  }
  EXPECT_EQ(cuda::cuGraphExecDestroy(exec), 0);
  EXPECT_EQ(cuda::cuGraphDestroy(graph), 0);
  EXPECT_EQ(cublasSetStream_v2(handle_, nullptr), kSuccess);
  EXPECT_EQ(cuda::cuStreamDestroy_v2(stream), 0);
}

TEST_F(Blas, ThreadsWithHandlesOfTheirOwnDisturbNobody) {
  cuda::CUcontext context = nullptr;
  ASSERT_EQ(cuda::cuCtxGetCurrent(&context), 0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      if (cuda::cuCtxSetCurrent(context) != 0) ++wrong;
      Handle* handle = nullptr;
      if (cublasCreate_v2(&handle) != kSuccess) ++wrong;
      const auto x = Random<double>(20000, thread);
      const Device<double> ours(x);
      double expected = 0;
      for (const double value : x) expected += value * value;
      for (int i = 0; i < 20; ++i) {
        double norm = 0;
        if (Api<double>::nrm2(handle, 20000, ours.get(), 1, &norm) != kSuccess ||
            std::abs(norm - std::sqrt(expected)) > 1e-9)
          ++wrong;
      }
      cublasDestroy_v2(handle);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Blas, AHandleWorksInEachContext) {
  cuda::CUcontext primary = nullptr, other = nullptr;
  ASSERT_EQ(cuda::cuCtxGetCurrent(&primary), 0);
  ASSERT_EQ(cuda::cuCtxCreate_v2(&other, 0, 0), 0);
  Handle* handle = nullptr;
  ASSERT_EQ(cublasCreate_v2(&handle), kSuccess);
  {
    const Device<float> x({3, 4});
    float norm = 0;
    ASSERT_EQ(Api<float>::nrm2(handle, 2, x.get(), 1, &norm), kSuccess);
    EXPECT_EQ(norm, 5);
  }
  EXPECT_EQ(cublasDestroy_v2(handle), kSuccess);
  ASSERT_EQ(cuda::cuCtxDestroy_v2(other), 0);
  ASSERT_EQ(cuda::cuCtxSetCurrent(primary), 0);
  const Device<float> x({6, 8});
  float norm = 0;
  ASSERT_EQ(Api<float>::nrm2(handle_, 2, x.get(), 1, &norm), kSuccess);
  EXPECT_EQ(norm, 10);
}

}  // namespace
}  // namespace blas_test
