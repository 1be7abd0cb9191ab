// cublasLt: products with what is done to them afterwards.
#include "tests/libraries/blas_fixture.h"

namespace blas_test {
namespace {

extern "C" {
int cublasLtCreate(void**);
int cublasLtDestroy(void*);
int cublasLtMatrixLayoutCreate(void**, int, uint64_t, uint64_t, int64_t);
int cublasLtMatrixLayoutDestroy(void*);
int cublasLtMatrixLayoutSetAttribute(void*, int, const void*, size_t);
int cublasLtMatmulDescCreate(void**, int, int);
int cublasLtMatmulDescDestroy(void*);
int cublasLtMatmulDescSetAttribute(void*, int, const void*, size_t);
int cublasLtMatmulDescGetAttribute(void*, int, void*, size_t, size_t*);
int cublasLtMatmulPreferenceCreate(void**);
int cublasLtMatmulPreferenceDestroy(void*);
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*, int*);
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                   void*, void*, const void*, void*, size_t, void*);
}

constexpr int kF32 = 0, kCompute32F = 68, kTransA = 3, kEpilogue = 7, kBiasPointer = 8, kAuxPointer = 11, kAuxLd = 12,
              kAScale = 17;
constexpr int kOrder = 1, kBatches = 5, kBatchStride = 6;
constexpr int kM = 70, kN_ = 45, kK = 33;

class Lt : public Blas {
 protected:
  Lt() {
    EXPECT_EQ(cublasLtCreate(&lt_), kSuccess);
    EXPECT_EQ(cublasLtMatmulDescCreate(&desc_, kCompute32F, kF32), kSuccess);
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&a_, kF32, kM, kK, kM), kSuccess);
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&b_, kF32, kK, kN_, kK), kSuccess);
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&d_, kF32, kM, kN_, kM), kSuccess);
  }
  ~Lt() override {
    for (void* const layout : {a_, b_, d_}) EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), kSuccess);
    EXPECT_EQ(cublasLtMatmulDescDestroy(desc_), kSuccess);
    EXPECT_EQ(cublasLtDestroy(lt_), kSuccess);
  }

  template <typename V>
  void Set(int attribute, V value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc_, attribute, &value, sizeof value), kSuccess);
  }
  template <typename V>
  static void SetLayout(void* layout, int attribute, V value) {
    ASSERT_EQ(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value), kSuccess);
  }
  int Multiply(const Device<float>& a, const Device<float>& b, const Device<float>& d, float beta = 0) {
    const float alpha = 1;
    return cublasLtMatmul(lt_, desc_, &alpha, a.get(), a_, b.get(), b_, &beta, d.get(), d_, d.get(), d_, nullptr,
                          nullptr, 0, nullptr);
  }
  static std::vector<float> Product(const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> c(kM * kN_);
    const float one = 1, zero = 0;
    const int m = kM, n = kN_, k = kK;
    Api<float>::their_gemm("N", "N", &m, &n, &k, &one, a.data(), &m, b.data(), &k, &zero, c.data(), &m);
    return c;
  }

  void *lt_ = nullptr, *desc_ = nullptr, *a_ = nullptr, *b_ = nullptr, *d_ = nullptr;
};

TEST_F(Lt, EpiloguesAddABiasAndActivate) {
  const auto a = Random<float>(kM * kK, 1), b = Random<float>(kK * kN_, 2), bias = Random<float>(kM, 3);
  const Device<float> our_a(a), our_b(b), d(std::vector<float>(kM * kN_)), our_bias(bias),
      aux(std::vector<float>(kM * kN_));
  const auto plain = Product(a, b);
  Set(kBiasPointer, static_cast<const void*>(our_bias.get()));
  Set(kAuxPointer, static_cast<void*>(aux.get()));
  Set(kAuxLd, int64_t{kM});
  for (const uint32_t epilogue : {1u, 2u, 4u, 6u, 32u, 36u, 32u | 128u | 4u}) {
    Set(kEpilogue, epilogue);
    ASSERT_EQ(Multiply(our_a, our_b, d), kSuccess);
    auto expected = plain, before = plain;
    for (int i = 0; i < kM * kN_; ++i) {
      double value = plain[i];
      if (epilogue & 4) value += bias[i % kM];
      before[i] = static_cast<float>(value);
      if (epilogue & 2) value = std::max(0.0, value);
      if (epilogue & 32)
        value = 0.5 * value * (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
      expected[i] = static_cast<float>(value);
    }
    ExpectNear(d.Read(), expected, kK + 20, "epilogue " + std::to_string(epilogue));
    if (epilogue & 128) ExpectNear(aux.Read(), before, kK, "what went into GELU");
  }
  Set(kEpilogue, uint32_t{512});
  EXPECT_EQ(Multiply(our_a, our_b, d), kNotSupported);
}

TEST_F(Lt, MatricesByRowsAreTransposed) {
  const auto a = Random<float>(kM * kK, 1), b = Random<float>(kK * kN_, 2), bias = Random<float>(kM, 3);
  const auto plain = Product(a, b);
  std::vector<float> by_rows(kM * kK), expected(kM * kN_);
  for (int i = 0; i < kM; ++i) {
    for (int p = 0; p < kK; ++p) by_rows[p + i * kK] = a[i + p * kM];
    for (int j = 0; j < kN_; ++j) expected[j + i * kN_] = plain[i + j * kM] + bias[i];
  }
  const Device<float> our_a(by_rows), our_b(b), d(std::vector<float>(kM * kN_)), our_bias(bias);
  SetLayout(a_, kOrder, int32_t{1});
  SetLayout(a_, 4, int64_t{kK});
  SetLayout(d_, kOrder, int32_t{1});
  SetLayout(d_, 4, int64_t{kN_});
  Set(kEpilogue, uint32_t{4});
  Set(kBiasPointer, static_cast<const void*>(our_bias.get()));
  ASSERT_EQ(Multiply(our_a, our_b, d), kSuccess);
  ExpectNear(d.Read(), expected, kK, "by rows");
}

TEST_F(Lt, BatchesStepByTheirStrides) {
  const auto a = Random<float>(2 * kM * kK, 1), b = Random<float>(kK * kN_, 2);
  const Device<float> our_a(a), our_b(b), d(std::vector<float>(2 * kM * kN_)), scale({3});
  for (void* const layout : {a_, b_, d_}) SetLayout(layout, kBatches, int32_t{2});
  SetLayout(a_, kBatchStride, int64_t{kM} * kK);
  SetLayout(b_, kBatchStride, int64_t{0});
  SetLayout(d_, kBatchStride, int64_t{kM} * kN_);
  Set(kAScale, static_cast<const void*>(scale.get()));
  ASSERT_EQ(Multiply(our_a, our_b, d), kSuccess);
  auto expected = Product(a, b), second = Product({a.begin() + kM * kK, a.end()}, b);
  expected.insert(expected.end(), second.begin(), second.end());
  for (float& value : expected) value *= 3;
  ExpectNear(d.Read(), expected, 3 * kK, "batches");
}

TEST_F(Lt, TheHeuristicKnowsWhatMatmulDoes) {
  void* preference = nullptr;
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), kSuccess);
  alignas(8) unsigned char results[96 * 2];
  int count = -1;
  const auto ask = [&] {
    return cublasLtMatmulAlgoGetHeuristic(lt_, desc_, a_, b_, d_, d_, preference, 2, results, &count);
  };
  ASSERT_EQ(ask(), kSuccess);
  EXPECT_EQ(count, 1);
  Set(kEpilogue, uint32_t{8 | 128});
  EXPECT_EQ(ask(), kNotSupported);
  EXPECT_EQ(count, 0);
  Set(kEpilogue, uint32_t{1});
  Set(kTransA, int32_t{1});
  EXPECT_EQ(ask(), kInvalidValue);  // the sizes no longer fit
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), kSuccess);
}

TEST_F(Lt, AttributesHaveTheirSizes) {
  const int64_t wide = 1;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc_, kEpilogue, &wide, sizeof wide), kInvalidValue);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc_, 9999, &wide, sizeof wide), kInvalidValue);
  uint32_t epilogue = 0;
  size_t written = 0;
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(desc_, kEpilogue, &epilogue, sizeof epilogue, &written), kSuccess);
  EXPECT_EQ(epilogue, 1u);
  EXPECT_EQ(written, sizeof epilogue);
}

}  // namespace
}  // namespace blas_test
