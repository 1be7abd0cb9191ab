// What tests of cuBLAS share: a context with a handle, memory of the device, random numbers, comparisons.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "libraries/common/driver.h"
#include "tests/libraries/blas_api.h"

namespace blas_test {

namespace cuda = tutti::cuda;

inline constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;
inline constexpr int kN = 0, kT = 1, kC = 2;
inline constexpr char kOps[] = {'N', 'T', 'C'}, kFills[] = {'L', 'U'}, kDiagonals[] = {'N', 'U'}, kSides[] = {'L', 'R'};

// An array in device memory.
template <typename T>
class Device {
 public:
  explicit Device(const std::vector<T>& values) : count_(values.size()) {
    EXPECT_EQ(cuda::cuMemAlloc_v2(&address_, std::max<size_t>(1, count_ * sizeof(T))), 0);
    Write(values);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { cuda::cuMemFree_v2(address_); }

  T* get() const { return reinterpret_cast<T*>(address_); }
  void Write(const std::vector<T>& values) {
    if (count_ == 0) return;
    EXPECT_EQ(cuda::cuMemcpyHtoD_v2(address_, values.data(), count_ * sizeof(T)), 0);
  }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cuda::cuCtxSynchronize(), 0);
    if (count_ == 0) return values;
    EXPECT_EQ(cuda::cuMemcpyDtoH_v2(values.data(), address_, count_ * sizeof(T)), 0);
    return values;
  }

 private:
  cuda::CUdeviceptr address_ = 0;
  size_t count_;
};

template <typename T>
struct Parts {
  static T Make(double re, double) { return static_cast<T>(re); }
};
template <typename R>
struct Parts<std::complex<R>> {
  static std::complex<R> Make(double re, double im) { return {static_cast<R>(re), static_cast<R>(im)}; }
};

template <typename T>
std::vector<T> Random(size_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<T> values(count);
  for (T& value : values) {
    const double re = number(engine);
    value = Parts<T>::Make(re, number(engine));
  }
  return values;
}
// A matrix, stored in any way, whose triangular systems do not grow: the diagonal is large where `place` says it is.
template <typename T, typename Place>
std::vector<T> Dominant(size_t count, int n, Place place) {
  std::vector<T> values = Random<T>(count, 5);
  for (T& value : values) value *= static_cast<typename Api<T>::Real>(1.0 / n);
  for (int i = 0; i < n; ++i) values[place(i)] += Parts<T>::Make(2, 0.5);
  return values;
}

// Compares up to the rounding of sums of `terms` products of numbers of about 1.
template <typename T>
void ExpectNear(const std::vector<T>& got, const std::vector<T>& expected, int terms, const std::string& what) {
  using R = typename Api<T>::Real;
  ASSERT_EQ(got.size(), expected.size());
  const double bound = 8.0 * std::numeric_limits<R>::epsilon() * (terms + 8);
  for (size_t i = 0; i < got.size(); ++i) {
    const double size = std::max(1.0, static_cast<double>(std::abs(expected[i])));
    ASSERT_LE(static_cast<double>(std::abs(got[i] - expected[i])), bound * size)
        << what << ": element " << i << " is " << got[i] << ", expected " << expected[i];
  }
}

// A context of the device, and a handle.
class Blas : public testing::Test {
 protected:
  Blas() {
    EXPECT_EQ(cuda::cuInit(0), 0);
    cuda::CUdevice device = 0;
    cuda::CUcontext context = nullptr;
    EXPECT_EQ(cuda::cuDeviceGet(&device, 0), 0);
    EXPECT_EQ(cuda::cuDevicePrimaryCtxRetain(&context, device), 0);
    EXPECT_EQ(cuda::cuCtxSetCurrent(context), 0);
    EXPECT_EQ(cublasCreate_v2(&handle_), kSuccess);
  }
  ~Blas() override {
    EXPECT_EQ(cublasDestroy_v2(handle_), kSuccess);
    EXPECT_EQ(cuda::cuDevicePrimaryCtxRelease_v2(0), 0);
  }

  Handle* handle_ = nullptr;
};

template <typename T>
class BlasOf : public Blas {};
using Types = testing::Types<float, double, Single, Double>;

}  // namespace blas_test
