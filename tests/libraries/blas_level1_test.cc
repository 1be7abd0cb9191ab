#include <array>

#include "tests/libraries/blas_fixture.h"

namespace blas_test {
namespace {

extern "C" {
int cublasSdot_v2(Handle*, int, const float*, int, const float*, int, float*);
int cublasZdotc_v2(Handle*, int, const Double*, int, const Double*, int, Double*);
int cublasZdotu_v2(Handle*, int, const Double*, int, const Double*, int, Double*);
int cublasZdrot_v2(Handle*, int, Double*, int, Double*, int, const double*, const double*);
int cublasDrotg_v2(Handle*, double*, double*, double*, double*);
int cublasDrotmg_v2(Handle*, double*, double*, double*, const double*, double*);
int cublasDrotm_v2(Handle*, int, double*, int, double*, int, const double*);
void drotg_(double*, double*, double*, double*);
void drotmg_(double*, double*, double*, const double*, double*);
void drotm_(const int*, double*, const int*, double*, const int*, const double*);
}

TYPED_TEST_SUITE(BlasOf, Types);

constexpr int kSizes[] = {0, 1, 31, 33, 1000, 70001};
struct Steps {
  int x, y;
};
constexpr Steps kSteps[] = {{1, 1}, {2, 3}, {-1, 1}, {1, -2}, {-3, -2}};

size_t Extent(int n, int step) { return n == 0 ? 0 : 1 + static_cast<size_t>(n - 1) * std::abs(step); }

TYPED_TEST(BlasOf, AxpyIsOpenBlas) {
  using T = TypeParam;
  const T alpha = Parts<T>::Make(0.75, -0.5);
  for (const int n : kSizes) {
    for (const Steps step : kSteps) {
      const auto x = Random<T>(Extent(n, step.x), 1);
      auto y = Random<T>(Extent(n, step.y), 2);
      const Device<T> ours_x(x), ours_y(y);
      ASSERT_EQ(Api<T>::axpy(this->handle_, n, &alpha, ours_x.get(), step.x, ours_y.get(), step.y), kSuccess);
      Api<T>::their_axpy(&n, &alpha, x.data(), &step.x, y.data(), &step.y);
      ExpectNear(ours_y.Read(), y, 1, "axpy of " + std::to_string(n));
    }
  }
}

TYPED_TEST(BlasOf, CopiesSwapsAndScalesWithSteps) {
  using T = TypeParam;
  const auto x = Random<T>(200, 1), y = Random<T>(200, 2);
  const Device<T> ours_x(x), ours_y(y);
  ASSERT_EQ(Api<T>::swap(this->handle_, 100, ours_x.get(), 2, ours_y.get(), -1), kSuccess);
  auto swapped_x = x, swapped_y = y;
  for (int i = 0; i < 100; ++i) std::swap(swapped_x[2 * i], swapped_y[99 - i]);
  EXPECT_EQ(ours_x.Read(), swapped_x);
  EXPECT_EQ(ours_y.Read(), swapped_y);
  ASSERT_EQ(Api<T>::copy(this->handle_, 67, ours_x.get(), 1, ours_y.get(), 3), kSuccess);
  for (int i = 0; i < 67; ++i) swapped_y[3 * i] = swapped_x[i];
  EXPECT_EQ(ours_y.Read(), swapped_y);
  const T alpha = Parts<T>::Make(2, 1);
  ASSERT_EQ(Api<T>::scal(this->handle_, 50, &alpha, ours_x.get(), 4), kSuccess);
  for (int i = 0; i < 50; ++i) swapped_x[4 * i] *= alpha;
  ExpectNear(ours_x.Read(), swapped_x, 1, "scal");
}

TYPED_TEST(BlasOf, ReductionsAreOpenBlas) {
  using T = TypeParam;
  using R = typename Api<T>::Real;
  for (const int n : kSizes) {
    for (const int step : {1, 3}) {
      const auto x = Random<T>(Extent(n, step), 7);
      const Device<T> ours(x);
      R got = -1;
      ASSERT_EQ(Api<T>::nrm2(this->handle_, n, ours.get(), step, &got), kSuccess);
      const R norm = Api<T>::their_nrm2(&n, x.data(), &step);
      EXPECT_NEAR(got, norm, 1e-5 * std::max<double>(1, norm)) << n;
      ASSERT_EQ(Api<T>::asum(this->handle_, n, ours.get(), step, &got), kSuccess);
      // By hand: scasum of OpenBLAS 0.3.21 is wrong now and then on processors with AVX-512.
      double sum = 0;
      for (int i = 0; i < n; ++i) {
        const std::complex<double> element(x[static_cast<size_t>(i) * step]);
        sum += std::abs(element.real()) + std::abs(element.imag());
      }
      EXPECT_NEAR(got, sum, 1e-4 * std::max<double>(1, sum)) << n;
      int index = -1;
      ASSERT_EQ(Api<T>::amax(this->handle_, n, ours.get(), step, &index), kSuccess);
      EXPECT_EQ(index, Api<T>::their_amax(&n, x.data(), &step)) << n;
    }
  }
}

TYPED_TEST(BlasOf, ResultsGoToDeviceMemoryInDevicePointerMode) {
  using T = TypeParam;
  using R = typename Api<T>::Real;
  const auto x = Random<T>(50000, 3);
  const Device<T> ours(x), alpha({Parts<T>::Make(2, 0)});
  const Device<R> norm({R{-1}});
  const Device<int> index({-1, 77});
  ASSERT_EQ(cublasSetPointerMode_v2(this->handle_, 1), kSuccess);
  ASSERT_EQ(Api<T>::nrm2(this->handle_, 50000, ours.get(), 1, norm.get()), kSuccess);
  ASSERT_EQ(Api<T>::amax(this->handle_, 50000, ours.get(), 1, index.get()), kSuccess);
  ASSERT_EQ(Api<T>::scal(this->handle_, 50000, alpha.get(), ours.get(), 1), kSuccess);
  const int n = 50000, step = 1;
  EXPECT_NEAR(norm.Read()[0], Api<T>::their_nrm2(&n, x.data(), &step), 1e-2);
  EXPECT_EQ(index.Read(), (std::vector<int>{Api<T>::their_amax(&n, x.data(), &step), 77}));
  EXPECT_EQ(ours.Read()[17], x[17] * Parts<T>::Make(2, 0));
}

TEST_F(Blas, NormsNeitherOverflowNorVanish) {
  for (const double size : {1e300, 1e-300, 1e160, 1e-160, 3e-320}) {
    const Device<double> x({3 * size, -4 * size});
    double norm = 0;
    ASSERT_EQ(Api<double>::nrm2(handle_, 2, x.get(), 1, &norm), kSuccess);
    EXPECT_NEAR(norm / size, 5, size < 1e-310 ? 0.1 : 1e-14);
  }
}

TEST_F(Blas, TheFirstOfEqualElementsIsFound) {
  std::vector<float> values(5000, -2.0f);
  values[0] = 1;
  values[4000] = 1;
  const Device<float> x(values);
  int index = 0;
  ASSERT_EQ(Api<float>::amax(handle_, 5000, x.get(), 1, &index), kSuccess);
  EXPECT_EQ(index, 2);
  ASSERT_EQ(Api<float>::amin(handle_, 5000, x.get(), 1, &index), kSuccess);
  EXPECT_EQ(index, 1);
}

TEST_F(Blas, DotConjugatesTheFirstVectorIfAsked) {
  const auto x = Random<Double>(3001, 1), y = Random<Double>(6001, 2);
  const Device<Double> ours_x(x), ours_y(y);
  Double plain, conjugated, expected_plain, expected_conjugated;
  ASSERT_EQ(cublasZdotu_v2(handle_, 3001, ours_x.get(), -1, ours_y.get(), 2, &plain), kSuccess);
  ASSERT_EQ(cublasZdotc_v2(handle_, 3001, ours_x.get(), -1, ours_y.get(), 2, &conjugated), kSuccess);
  for (int i = 0; i < 3001; ++i) {
    expected_plain += x[3000 - i] * y[2 * i];
    expected_conjugated += std::conj(x[3000 - i]) * y[2 * i];
  }
  EXPECT_LT(std::abs(plain - expected_plain), 1e-11);
  EXPECT_LT(std::abs(conjugated - expected_conjugated), 1e-11);
  float nothing = 5;
  ASSERT_EQ(cublasSdot_v2(handle_, 0, nullptr, 1, nullptr, 1, &nothing), kSuccess);
  EXPECT_EQ(nothing, 0);
}

TEST_F(Blas, RotationsAreOpenBlas) {
  for (const auto& [first, second] : {std::pair(3.0, 4.0), {-5.0, 1.0}, {0.0, 2.0}, {0.0, 0.0}, {2.0, 0.0}}) {
    double a = first, b = second, c = 9, s = 9, their_a = first, their_b = second, their_c, their_s;
    ASSERT_EQ(cublasDrotg_v2(handle_, &a, &b, &c, &s), kSuccess);
    drotg_(&their_a, &their_b, &their_c, &their_s);
    EXPECT_NEAR(a, their_a, 1e-14);
    EXPECT_NEAR(c, their_c, 1e-14);
    EXPECT_NEAR(s, their_s, 1e-14);
  }
  const auto x = Random<Double>(300, 1), y = Random<Double>(300, 2);
  const Device<Double> ours_x(x), ours_y(y);
  const double c = 0.6, s = 0.8;
  ASSERT_EQ(cublasZdrot_v2(handle_, 300, ours_x.get(), 1, ours_y.get(), 1, &c, &s), kSuccess);
  auto turned_x = x, turned_y = y;
  for (int i = 0; i < 300; ++i) turned_x[i] = c * x[i] + s * y[i], turned_y[i] = c * y[i] - s * x[i];
  ExpectNear(ours_x.Read(), turned_x, 2, "rot, x");
  ExpectNear(ours_y.Read(), turned_y, 2, "rot, y");
}

TEST_F(Blas, ModifiedRotationsAreOpenBlas) {
  for (const auto& in : {std::array{2.0, 3.0, 1.0, 5.0},
                         {5.0, 0.5, 4.0, 1.0},
                         {1e-9, 2.0, 1.0, 0.0},
                         {-1.0, 1.0, 1.0, 1.0},
                         {1e12, 1e-12, 3.0, 4.0}}) {
    double ours[5] = {7, 7, 7, 7, 7}, theirs[5] = {7, 7, 7, 7, 7};
    double d1 = in[0], d2 = in[1], x1 = in[2], e1 = in[0], e2 = in[1], f1 = in[2];
    ASSERT_EQ(cublasDrotmg_v2(handle_, &d1, &d2, &x1, &in[3], ours), kSuccess);
    drotmg_(&e1, &e2, &f1, &in[3], theirs);
    EXPECT_EQ(ours[0], theirs[0]);
    EXPECT_NEAR(d1, e1, 1e-12 * std::abs(e1));
    EXPECT_NEAR(d2, e2, 1e-12 * std::abs(e2));
    EXPECT_NEAR(x1, f1, 1e-12 * std::abs(f1));
    const int n = 100, step = 1;
    auto x = Random<double>(n, 1), y = Random<double>(n, 2);
    const Device<double> ours_x(x), ours_y(y);
    ASSERT_EQ(cublasDrotm_v2(handle_, n, ours_x.get(), 1, ours_y.get(), 1, ours), kSuccess);
    drotm_(&n, x.data(), &step, y.data(), &step, theirs);
    ExpectNear(ours_x.Read(), x, 4, "rotm");
    ExpectNear(ours_y.Read(), y, 4, "rotm");
  }
}

}  // namespace
}  // namespace blas_test
