#include "tests/libraries/blas_fixture.h"

namespace blas_test {
namespace {

TYPED_TEST_SUITE(BlasOf, Types);

TYPED_TEST(BlasOf, GemmIsOpenBlas) {
  using T = TypeParam;
  struct Case {
    int m, n, k;
  };
  const T alpha = Parts<T>::Make(0.5, 0.25);
  for (const Case& size : {Case{1, 1, 1},
                           {0, 4, 3},
                           {5, 7, 0},
                           {33, 49, 17},
                           {129, 97, 65},
                           {300, 50, 40},
                           {7, 300, 129},
                           {260, 70, 66}}) {
    for (int op_a = 0; op_a < 3; ++op_a) {
      for (int op_b = 0; op_b < 3; ++op_b) {
        const auto [m, n, k] = size;
        const T beta = Parts<T>::Make(op_a == op_b ? 0.0 : -0.5, 0);
        const int lda = (op_a == 0 ? m : k) + 2, ldb = (op_b == 0 ? k : n) + 1, ldc = m + 3;
        const auto a = Random<T>(static_cast<size_t>(lda) * (op_a == 0 ? k : m), 1);
        const auto b = Random<T>(static_cast<size_t>(ldb) * (op_b == 0 ? n : k), 2);
        auto c = Random<T>(static_cast<size_t>(ldc) * n, 3);
        const Device<T> our_a(a), our_b(b), our_c(c);
        ASSERT_EQ(Api<T>::gemm(this->handle_, op_a, op_b, m, n, k, &alpha, our_a.get(), lda, our_b.get(), ldb, &beta,
                               our_c.get(), ldc),
                  kSuccess);
        Api<T>::their_gemm(&kOps[op_a], &kOps[op_b], &m, &n, &k, &alpha, a.data(), &lda, b.data(), &ldb, &beta,
                           c.data(), &ldc);
        ExpectNear(our_c.Read(), c, k, std::string("gemm ") + kOps[op_a] + kOps[op_b] + " " + std::to_string(m));
      }
    }
  }
}

TYPED_TEST(BlasOf, ABetaOfZeroReadsNothing) {
  using T = TypeParam;
  using R = typename Api<T>::Real;
  const T one = Parts<T>::Make(1, 0), zero = Parts<T>::Make(0, 0);
  const Device<T> a({one}), b({one}), c({Parts<T>::Make(std::numeric_limits<R>::quiet_NaN(), 0)});
  ASSERT_EQ(Api<T>::gemm_64(this->handle_, kN, kN, 1, 1, 1, &one, a.get(), 1, b.get(), 1, &zero, c.get(), 1), kSuccess);
  EXPECT_EQ(c.Read()[0], one);
}

// As in BLAS: what is multiplied by zero need not be valid.
TYPED_TEST(BlasOf, AnAlphaOfZeroReadsNeitherAnorB) {
  using T = TypeParam;
  using R = typename Api<T>::Real;
  const T zero = Parts<T>::Make(0, 0), two = Parts<T>::Make(2, 0), four = Parts<T>::Make(4, 0);
  const Device<T> nan({Parts<T>::Make(std::numeric_limits<R>::quiet_NaN(), 0)}), zero_there({zero}), two_there({two});
  for (const int mode : {0, 1}) {
    ASSERT_EQ(cublasSetPointerMode_v2(this->handle_, mode), kSuccess);
    const T *const alpha = mode == 0 ? &zero : zero_there.get(), *const beta = mode == 0 ? &two : two_there.get();
    const Device<T> c({two}), y({two}), z({two}), a({two}), sum({two});
    ASSERT_EQ(Api<T>::gemm(this->handle_, kN, kN, 1, 1, 1, alpha, nan.get(), 1, nan.get(), 1, beta, c.get(), 1),
              kSuccess);
    for (const int op : {kN, kT}) {
      const Device<T>& to = op == kN ? y : z;
      ASSERT_EQ(Api<T>::gemv(this->handle_, op, 1, 1, alpha, nan.get(), 1, nan.get(), 1, beta, to.get(), 1), kSuccess);
    }
    ASSERT_EQ(Api<T>::gbmv(this->handle_, kN, 1, 1, 0, 0, alpha, nan.get(), 1, nan.get(), 1, beta, a.get(), 1),
              kSuccess);
    ASSERT_EQ(Api<T>::axpy(this->handle_, 1, alpha, nan.get(), 1, sum.get(), 1), kSuccess);
    EXPECT_EQ(c.Read()[0], four);
    EXPECT_EQ(y.Read()[0], four);
    EXPECT_EQ(z.Read()[0], four);
    EXPECT_EQ(a.Read()[0], four);
    EXPECT_EQ(sum.Read()[0], two);
  }
}

TYPED_TEST(BlasOf, FactorsMayBeInDeviceMemory) {
  using T = TypeParam;
  const Device<T> a({Parts<T>::Make(3, 0)}), b({Parts<T>::Make(5, 0)}), c({Parts<T>::Make(7, 0)});
  const Device<T> alpha({Parts<T>::Make(2, 0)}), beta({Parts<T>::Make(-1, 0)});
  ASSERT_EQ(cublasSetPointerMode_v2(this->handle_, 1), kSuccess);
  ASSERT_EQ(Api<T>::gemm(this->handle_, kN, kN, 1, 1, 1, alpha.get(), a.get(), 1, b.get(), 1, beta.get(), c.get(), 1),
            kSuccess);
  EXPECT_EQ(c.Read()[0], Parts<T>::Make(23, 0));
}

TYPED_TEST(BlasOf, BatchesAreProductsOfEach) {
  using T = TypeParam;
  const int m = 37, n = 29, k = 41, count = 5;
  const T alpha = Parts<T>::Make(1, 0.5), beta = Parts<T>::Make(0.5, 0);
  const auto a = Random<T>(m * k * count, 1), b = Random<T>(n * k * count, 2);
  auto c = Random<T>(m * n * count, 3);
  const Device<T> our_a(a), our_b(b), our_c(c), other_c(c);
  ASSERT_EQ(Api<T>::gemm_strided(this->handle_, kN, kT, m, n, k, &alpha, our_a.get(), m, m * k, our_b.get(), n, n * k,
                                 &beta, our_c.get(), m, m * n, count),
            kSuccess);
  std::vector<const T*> as, bs;
  std::vector<T*> cs;
  for (int i = 0; i < count; ++i) {
    as.push_back(our_a.get() + i * m * k);
    bs.push_back(our_b.get() + i * n * k);
    cs.push_back(other_c.get() + i * m * n);
    Api<T>::their_gemm("N", "T", &m, &n, &k, &alpha, a.data() + i * m * k, &m, b.data() + i * n * k, &n, &beta,
                       c.data() + i * m * n, &m);
  }
  const Device<const T*> a_array(as), b_array(bs);
  const Device<T*> c_array(cs);
  ASSERT_EQ(Api<T>::gemm_batched(this->handle_, kN, kT, m, n, k, &alpha, a_array.get(), m, b_array.get(), n, &beta,
                                 c_array.get(), m, count),
            kSuccess);
  ExpectNear(our_c.Read(), c, k, "strided");
  ExpectNear(other_c.Read(), c, k, "arrays");
}

TYPED_TEST(BlasOf, SymmetricProductsAreOpenBlas) {
  using T = TypeParam;
  const T alpha = Parts<T>::Make(0.75, 0.5), beta = Parts<T>::Make(-0.5, 0);
  const int m = 70, n = 53;
  for (int side = 0; side < 2; ++side) {
    for (int fill = 0; fill < 2; ++fill) {
      const int lda = (side == 0 ? m : n) + 1;
      const auto a = Random<T>(static_cast<size_t>(lda) * lda, 1), b = Random<T>(static_cast<size_t>(m) * n, 2);
      auto c = Random<T>(static_cast<size_t>(m) * n, 3);
      const Device<T> our_a(a), our_b(b), our_c(c);
      ASSERT_EQ(Api<T>::symm(this->handle_, side, fill, m, n, &alpha, our_a.get(), lda, our_b.get(), m, &beta,
                             our_c.get(), m),
                kSuccess);
      Api<T>::their_symm(&kSides[side], &kFills[fill], &m, &n, &alpha, a.data(), &lda, b.data(), &m, &beta, c.data(),
                         &m);
      ExpectNear(our_c.Read(), c, m, "symm");
      ASSERT_EQ(Api<T>::hemm(this->handle_, side, fill, m, n, &alpha, our_a.get(), lda, our_b.get(), m, &beta,
                             our_c.get(), m),
                kSuccess);
      Api<T>::their_hemm(&kSides[side], &kFills[fill], &m, &n, &alpha, a.data(), &lda, b.data(), &m, &beta, c.data(),
                         &m);
      ExpectNear(our_c.Read(), c, 2 * m, "hemm");
    }
  }
}

TYPED_TEST(BlasOf, RankKUpdatesAreOpenBlasAndLeaveTheOtherTriangle) {
  using T = TypeParam;
  using R = typename Api<T>::Real;
  const T alpha = Parts<T>::Make(0.75, 0.5), beta = Parts<T>::Make(-0.5, 0.25);
  const R real_alpha = 0.75, real_beta = -0.5;
  const int n = 83, k = 37;
  for (int fill = 0; fill < 2; ++fill) {
    for (const bool turned : {false, true}) {
      const int lda = turned ? k : n, adjoint = turned ? (sizeof(T) == sizeof(R) ? kT : kC) : kN,
                transposed = turned ? kT : kN;
      const auto a = Random<T>(n * k, 1), b = Random<T>(n * k, 2);
      auto c = Random<T>(n * n, 3);
      const Device<T> our_a(a), our_b(b), our_c(c);
      ASSERT_EQ(Api<T>::syrk(this->handle_, fill, transposed, n, k, &alpha, our_a.get(), lda, &beta, our_c.get(), n),
                kSuccess);
      Api<T>::their_syrk(&kFills[fill], &kOps[transposed], &n, &k, &alpha, a.data(), &lda, &beta, c.data(), &n);
      ExpectNear(our_c.Read(), c, k, "syrk");
      ASSERT_EQ(
          Api<T>::herk(this->handle_, fill, adjoint, n, k, &real_alpha, our_a.get(), lda, &real_beta, our_c.get(), n),
          kSuccess);
      Api<T>::their_herk(&kFills[fill], &kOps[adjoint], &n, &k, &real_alpha, a.data(), &lda, &real_beta, c.data(), &n);
      ExpectNear(our_c.Read(), c, 2 * k, "herk");
      ASSERT_EQ(Api<T>::her2k(this->handle_, fill, adjoint, n, k, &alpha, our_a.get(), lda, our_b.get(), lda,
                              &real_beta, our_c.get(), n),
                kSuccess);
      Api<T>::their_her2k(&kFills[fill], &kOps[adjoint], &n, &k, &alpha, a.data(), &lda, b.data(), &lda, &real_beta,
                          c.data(), &n);
      ExpectNear(our_c.Read(), c, 4 * k, "her2k");
    }
  }
}

TYPED_TEST(BlasOf, TriangularMatricesAreOpenBlas) {
  using T = TypeParam;
  const T alpha = Parts<T>::Make(0.75, 0.5);
  for (const auto& [m, n] : {std::pair(1, 3), {45, 70}, {100, 33}}) {
    for (int side = 0; side < 2; ++side) {
      const int size = side == 0 ? m : n, lda = size + 1, ldb = m + 2;
      const auto a = Dominant<T>(static_cast<size_t>(lda) * size, size, [&](int i) { return i * (lda + 1); });
      const Device<T> our_a(a);
      for (int i = 0; i < 12; ++i) {
        const int fill = i & 1, unit = i / 2 & 1, op = i / 4;
        auto b = Random<T>(static_cast<size_t>(ldb) * n, 2);
        const Device<T> ours(b);
        const std::string what = {kSides[side], kFills[fill], kOps[op], kDiagonals[unit]};
        ASSERT_EQ(Api<T>::trmm(this->handle_, side, fill, op, unit, m, n, &alpha, our_a.get(), lda, ours.get(), ldb,
                               ours.get(), ldb),
                  kSuccess);
        Api<T>::their_trmm(&kSides[side], &kFills[fill], &kOps[op], &kDiagonals[unit], &m, &n, &alpha, a.data(), &lda,
                           b.data(), &ldb);
        ExpectNear(ours.Read(), b, size, "trmm " + what);
        ASSERT_EQ(Api<T>::trsm(this->handle_, side, fill, op, unit, m, n, &alpha, our_a.get(), lda, ours.get(), ldb),
                  kSuccess);
        Api<T>::their_trsm(&kSides[side], &kFills[fill], &kOps[op], &kDiagonals[unit], &m, &n, &alpha, a.data(), &lda,
                           b.data(), &ldb);
        ExpectNear(ours.Read(), b, 4 * size, "trsm " + what);
      }
    }
  }
}

TYPED_TEST(BlasOf, SumsAndDiagonalProducts) {
  using T = TypeParam;
  const T alpha = Parts<T>::Make(2, 1), beta = Parts<T>::Make(-1, 0);
  const int m = 61, n = 47;
  const auto a = Random<T>(m * n, 1), b = Random<T>(m * n, 2), x = Random<T>(2 * m, 3);
  const Device<T> our_a(a), our_b(b), our_c(std::vector<T>(m * n)), our_x(x);
  ASSERT_EQ(Api<T>::geam(this->handle_, kT, kN, m, n, &alpha, our_a.get(), n, &beta, our_b.get(), m, our_c.get(), m),
            kSuccess);
  std::vector<T> expected(m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) expected[i + j * m] = alpha * a[j + i * n] + beta * b[i + j * m];
  }
  ExpectNear(our_c.Read(), expected, 2, "geam");
  for (int side = 0; side < 2; ++side) {
    ASSERT_EQ(Api<T>::dgmm(this->handle_, side, m, n, our_a.get(), m, our_x.get(), 2, our_c.get(), m), kSuccess);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) expected[i + j * m] = a[i + j * m] * x[2 * (side == 0 ? i : j)];
    }
    ExpectNear(our_c.Read(), expected, 1, "dgmm");
  }
}

TYPED_TEST(BlasOf, FactorsOfManyMatricesSolveAndInvert) {
  using T = TypeParam;
  const int n = 35, count = 3, columns = 4;
  const T one = Parts<T>::Make(1, 0), zero = Parts<T>::Make(0, 0);
  auto a = Random<T>(n * n * count, 1);
  for (int i = 0; i < n; ++i) a[2 * n * n + i + 7 * n] = zero;  // the third is singular
  const auto b = Random<T>(n * columns * count, 2);
  const Device<T> factors(a), inverse(a), solution(b);
  std::vector<T*> as, inverses, solutions;
  for (int i = 0; i < count; ++i) {
    as.push_back(factors.get() + i * n * n);
    inverses.push_back(inverse.get() + i * n * n);
    solutions.push_back(solution.get() + i * n * columns);
  }
  const Device<T*> a_array(as), inverse_array(inverses), solution_array(solutions);
  const Device<int> pivots(std::vector<int>(n * count)), info(std::vector<int>(count, -5));
  ASSERT_EQ(Api<T>::getrf(this->handle_, n, a_array.get(), n, pivots.get(), info.get(), count), kSuccess);
  EXPECT_EQ(info.Read(), (std::vector<int>{0, 0, 8}));
  ASSERT_EQ(Api<T>::getri(this->handle_, n, a_array.get(), n, pivots.get(), inverse_array.get(), n, info.get(), 2),
            kSuccess);
  for (const int op : {kN, kT, kC}) {
    const_cast<Device<T>&>(solution).Write(b);
    int wrong = -5;
    ASSERT_EQ(Api<T>::getrs(this->handle_, op, n, columns, a_array.get(), n, pivots.get(), solution_array.get(), n,
                            &wrong, 2),
              kSuccess);
    EXPECT_EQ(wrong, 0);
    const auto x = solution.Read();
    for (int i = 0; i < 2; ++i) {
      std::vector<T> product(n * columns);
      Api<T>::their_gemm(&kOps[op], "N", &n, &columns, &n, &one, a.data() + i * n * n, &n, x.data() + i * n * columns,
                         &n, &zero, product.data(), &n);
      ExpectNear(product, std::vector<T>(b.begin() + i * n * columns, b.begin() + (i + 1) * n * columns), 5000,
                 "getrs");
    }
  }
  const auto inverted = inverse.Read();
  std::vector<T> product(n * n), identity(n * n);
  for (int i = 0; i < n; ++i) identity[i * (n + 1)] = one;
  Api<T>::their_gemm("N", "N", &n, &n, &n, &one, a.data(), &n, inverted.data(), &n, &zero, product.data(), &n);
  ExpectNear(product, identity, 5000, "getri");
}

}  // namespace
}  // namespace blas_test
