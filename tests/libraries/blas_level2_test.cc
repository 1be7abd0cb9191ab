#include "tests/libraries/blas_fixture.h"

namespace blas_test {
namespace {

TYPED_TEST_SUITE(BlasOf, Types);

struct Steps {
  int x, y;
};
constexpr Steps kSteps[] = {{1, 1}, {-2, 3}, {1, -1}};
size_t Extent(int n, int step) { return n == 0 ? 1 : 1 + static_cast<size_t>(n - 1) * std::abs(step); }

TYPED_TEST(BlasOf, GemvIsOpenBlas) {
  using T = TypeParam;
  const T alpha = Parts<T>::Make(0.5, 0.25);
  for (const auto &[m, n] : {std::pair(1, 1), {33, 17}, {130, 257}, {257, 3}, {0, 5}}) {
    for (const int op : {kN, kT, kC}) {
      for (const Steps step : kSteps) {
        for (const double b : {0.0, -1.5}) {
          const int lda = m + 3, length = op == kN ? n : m, results = op == kN ? m : n;
          const T beta = Parts<T>::Make(b, 0);
          const auto a = Random<T>(static_cast<size_t>(lda) * n, 1), x = Random<T>(Extent(length, step.x), 2);
          auto y = Random<T>(Extent(results, step.y), 3);
          const Device<T> our_a(a), our_x(x), our_y(y);
          ASSERT_EQ(Api<T>::gemv(this->handle_, op, m, n, &alpha, our_a.get(), lda, our_x.get(), step.x, &beta,
                                 our_y.get(), step.y),
                    kSuccess);
          Api<T>::their_gemv(&kOps[op], &m, &n, &alpha, a.data(), &lda, x.data(), &step.x, &beta, y.data(), &step.y);
          ExpectNear(our_y.Read(), y, length, std::string("gemv ") + kOps[op]);
        }
      }
    }
  }
}

TYPED_TEST(BlasOf, GbmvIsOpenBlas) {
  using T = TypeParam;
  const T alpha = Parts<T>::Make(1, 0.25), beta = Parts<T>::Make(0.5, 0);
  const int m = 70, n = 55, below = 5, above = 9, lda = below + above + 2;
  for (const int op : {kN, kT, kC}) {
    for (const Steps step : kSteps) {
      const auto a = Random<T>(static_cast<size_t>(lda) * n, 1), x = Random<T>(Extent(op == kN ? n : m, step.x), 2);
      auto y = Random<T>(Extent(op == kN ? m : n, step.y), 3);
      const Device<T> our_a(a), our_x(x), our_y(y);
      ASSERT_EQ(Api<T>::gbmv(this->handle_, op, m, n, below, above, &alpha, our_a.get(), lda, our_x.get(), step.x,
                             &beta, our_y.get(), step.y),
                kSuccess);
      Api<T>::their_gbmv(&kOps[op], &m, &n, &below, &above, &alpha, a.data(), &lda, x.data(), &step.x, &beta, y.data(),
                         &step.y);
      ExpectNear(our_y.Read(), y, 20, std::string("gbmv ") + kOps[op]);
    }
  }
}

TYPED_TEST(BlasOf, HermitianProductsAreOpenBlas) {
  using T = TypeParam;
  const T alpha = Parts<T>::Make(1, 0.25), beta = Parts<T>::Make(0.5, 0);
  const int n = 65, band = 7;
  for (int fill = 0; fill < 2; ++fill) {
    for (const Steps step : kSteps) {
      const auto a = Random<T>(static_cast<size_t>(n) * n, 1), x = Random<T>(Extent(n, step.x), 2);
      const auto start = Random<T>(Extent(n, step.y), 3);
      const Device<T> our_a(a), our_x(x), our_y(start);
      auto y = start;
      ASSERT_EQ(
          Api<T>::hemv(this->handle_, fill, n, &alpha, our_a.get(), n, our_x.get(), step.x, &beta, our_y.get(), step.y),
          kSuccess);
      Api<T>::their_hemv(&kFills[fill], &n, &alpha, a.data(), &n, x.data(), &step.x, &beta, y.data(), &step.y);
      ExpectNear(our_y.Read(), y, n, "hemv");
      ASSERT_EQ(Api<T>::hbmv(this->handle_, fill, n, band, &alpha, our_a.get(), n, our_x.get(), step.x, &beta,
                             our_y.get(), step.y),
                kSuccess);
      Api<T>::their_hbmv(&kFills[fill], &n, &band, &alpha, a.data(), &n, x.data(), &step.x, &beta, y.data(), &step.y);
      ExpectNear(our_y.Read(), y, n, "hbmv");
      ASSERT_EQ(
          Api<T>::hpmv(this->handle_, fill, n, &alpha, our_a.get(), our_x.get(), step.x, &beta, our_y.get(), step.y),
          kSuccess);
      Api<T>::their_hpmv(&kFills[fill], &n, &alpha, a.data(), x.data(), &step.x, &beta, y.data(), &step.y);
      ExpectNear(our_y.Read(), y, 2 * n, "hpmv");
    }
  }
}

TYPED_TEST(BlasOf, TriangularProductsAndSystemsAreOpenBlas) {
  using T = TypeParam;
  const int n = 71, band = 6, band_ld = band + 2;
  for (int fill = 0; fill < 2; ++fill) {
    const auto dense = Dominant<T>(n * n, n, [](int i) { return i * (n + 1); });
    const auto banded = Dominant<T>(band_ld * n, n, [&](int i) { return i * band_ld + (fill == 0 ? 0 : band); });
    const auto packed =
        Dominant<T>(n * (n + 1) / 2, n, [&](int i) { return fill == 0 ? i * (2 * n - i + 1) / 2 : i * (i + 3) / 2; });
    const Device<T> our_dense(dense), our_banded(banded), our_packed(packed);
    for (int op = 0; op < 3; ++op) {
      for (int unit = 0; unit < 2; ++unit) {
        for (const int step : {1, -2}) {
          auto x = Random<T>(Extent(n, step), 2);
          const Device<T> ours(x);
          const std::string what = {kFills[fill], kOps[op], kDiagonals[unit]};
          const char *const f = &kFills[fill], *const o = &kOps[op], *const d = &kDiagonals[unit];
          ASSERT_EQ(Api<T>::trmv(this->handle_, fill, op, unit, n, our_dense.get(), n, ours.get(), step), kSuccess);
          Api<T>::their_trmv(f, o, d, &n, dense.data(), &n, x.data(), &step);
          ExpectNear(ours.Read(), x, n, "trmv " + what);
          ASSERT_EQ(Api<T>::tbmv(this->handle_, fill, op, unit, n, band, our_banded.get(), band_ld, ours.get(), step),
                    kSuccess);
          Api<T>::their_tbmv(f, o, d, &n, &band, banded.data(), &band_ld, x.data(), &step);
          ExpectNear(ours.Read(), x, 2 * n, "tbmv " + what);
          ASSERT_EQ(Api<T>::tpmv(this->handle_, fill, op, unit, n, our_packed.get(), ours.get(), step), kSuccess);
          Api<T>::their_tpmv(f, o, d, &n, packed.data(), x.data(), &step);
          ExpectNear(ours.Read(), x, 3 * n, "tpmv " + what);
          ASSERT_EQ(Api<T>::trsv(this->handle_, fill, op, unit, n, our_dense.get(), n, ours.get(), step), kSuccess);
          Api<T>::their_trsv(f, o, d, &n, dense.data(), &n, x.data(), &step);
          ExpectNear(ours.Read(), x, 4 * n, "trsv " + what);
          ASSERT_EQ(Api<T>::tbsv(this->handle_, fill, op, unit, n, band, our_banded.get(), band_ld, ours.get(), step),
                    kSuccess);
          Api<T>::their_tbsv(f, o, d, &n, &band, banded.data(), &band_ld, x.data(), &step);
          ExpectNear(ours.Read(), x, 5 * n, "tbsv " + what);
          ASSERT_EQ(Api<T>::tpsv(this->handle_, fill, op, unit, n, our_packed.get(), ours.get(), step), kSuccess);
          Api<T>::their_tpsv(f, o, d, &n, packed.data(), x.data(), &step);
          ExpectNear(ours.Read(), x, 6 * n, "tpsv " + what);
        }
      }
    }
  }
}

TYPED_TEST(BlasOf, RankUpdatesAreOpenBlas) {
  using T = TypeParam;
  using R = typename Api<T>::Real;
  const T alpha = Parts<T>::Make(0.75, -0.5);
  const R real = 0.5;
  const int m = 66, n = 43;
  for (const Steps step : kSteps) {
    const auto x = Random<T>(Extent(m, step.x), 1), y = Random<T>(Extent(m, step.y), 2);
    const Device<T> our_x(x), our_y(y);
    auto a = Random<T>(static_cast<size_t>(m) * m, 3);
    const Device<T> ours(a);
    ASSERT_EQ(Api<T>::gerc(this->handle_, m, n, &alpha, our_x.get(), step.x, our_y.get(), step.y, ours.get(), m),
              kSuccess);
    Api<T>::their_gerc(&m, &n, &alpha, x.data(), &step.x, y.data(), &step.y, a.data(), &m);
    ExpectNear(ours.Read(), a, 2, "gerc");
    for (int fill = 0; fill < 2; ++fill) {
      const char *const f = &kFills[fill];
      ASSERT_EQ(Api<T>::her(this->handle_, fill, m, &real, our_x.get(), step.x, ours.get(), m), kSuccess);
      Api<T>::their_her(f, &m, &real, x.data(), &step.x, a.data(), &m);
      ExpectNear(ours.Read(), a, 4, "her");
      ASSERT_EQ(Api<T>::her2(this->handle_, fill, m, &alpha, our_x.get(), step.x, our_y.get(), step.y, ours.get(), m),
                kSuccess);
      Api<T>::their_her2(f, &m, &alpha, x.data(), &step.x, y.data(), &step.y, a.data(), &m);
      ExpectNear(ours.Read(), a, 6, "her2");
      ASSERT_EQ(Api<T>::hpr(this->handle_, fill, m, &real, our_x.get(), step.x, ours.get()), kSuccess);
      Api<T>::their_hpr(f, &m, &real, x.data(), &step.x, a.data());
      ExpectNear(ours.Read(), a, 8, "hpr");
      ASSERT_EQ(Api<T>::hpr2(this->handle_, fill, m, &alpha, our_x.get(), step.x, our_y.get(), step.y, ours.get()),
                kSuccess);
      Api<T>::their_hpr2(f, &m, &alpha, x.data(), &step.x, y.data(), &step.y, a.data());
      ExpectNear(ours.Read(), a, 10, "hpr2");
    }
  }
}

}  // namespace
}  // namespace blas_test
