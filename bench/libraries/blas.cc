#include "blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "../driver.h"
#include "../timing.h"

extern "C" {
struct BlasHandle;
int cublasCreate_v2(BlasHandle** handle);
int cublasDestroy_v2(BlasHandle* handle);
int cublasSgemm_v2(BlasHandle*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                   const float*, float*, int);
int cublasDgemm_v2(BlasHandle*, int, int, int, int, int, const double*, const double*, int, const double*, int,
                   const double*, double*, int);
int cublasSgemv_v2(BlasHandle*, int, int, int, const float*, const float*, int, const float*, int, const float*, float*,
                   int);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void sgemv_(const char*, const int*, const int*, const float*, const float*, const int*, const float*, const int*,
            const float*, float*, const int*);
}

namespace bench {
namespace {

void Check(int status) {
  if (status == 0) return;
  fmt::print(stderr, "libraries: cuBLAS' status {}\n", status);
  std::exit(1);
}

// Both by turns, so that what else the machine does meets both.
void Compare(Report& report, const std::string& name, const std::function<void()>& ours,
             const std::function<void()>& theirs) {
  for (int i = 0; i < 2; ++i) ours(), theirs();
  std::vector<double> our_ns, their_ns;
  const double once_ms = TimeEach(1, ours)[0] / 1e6;
  const int samples = std::clamp(static_cast<int>(3000 / once_ms), 7, 50);
  for (int i = 0; i < samples; ++i) {
    our_ns.push_back(TimeEach(1, ours)[0]);
    their_ns.push_back(TimeEach(1, theirs)[0]);
  }
  const Statistics our = Summarize(our_ns), their = Summarize(their_ns);
  report.Add({name, our.median / 1e6, "ms", their.median / 1e6, "OpenBLAS", their.median / our.median, our.spread});
}

template <typename T>
std::vector<T> Numbers(size_t count, unsigned seed) {
  std::vector<T> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<T>((i * 7919 + seed) % 1000) / 1000 - T(0.5);
  return numbers;
}

template <typename T>
void ExpectSame(const std::vector<T>& a, const std::vector<T>& b, const char* name) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) <= 1e-2) continue;
    fmt::print(stderr, "libraries: {}: result {} is {}, OpenBLAS has {}\n", name, i, a[i], b[i]);
    std::exit(1);
  }
}

template <typename T, typename Ours, typename Theirs>
void MeasureGemm(Report& report, BlasHandle* handle, const char* name, int n, Ours ours, Theirs theirs) {
  const size_t count = static_cast<size_t>(n) * n;
  const auto a = Numbers<T>(count, 1), b = Numbers<T>(count, 2);
  std::vector<T> c(count);
  driver::Buffer<T> our_a(a), our_b(b), our_c(count);
  const auto at = [](const driver::Buffer<T>& buffer) { return reinterpret_cast<T*>(buffer.address()); };
  const T one = 1, zero = 0;
  Compare(
      report, fmt::format("{} of {} cubed", name, n),
      [&] {
        Check(ours(handle, 0, 0, n, n, n, &one, at(our_a), n, at(our_b), n, &zero, at(our_c), n));
        CHECK_CU(cuCtxSynchronize());
      },
      [&] { theirs("N", "N", &n, &n, &n, &one, a.data(), &n, b.data(), &n, &zero, c.data(), &n); });
  ExpectSame(our_c.Read(), c, name);
}

void MeasureGemv(Report& report, BlasHandle* handle, int n, bool transposed) {
  const size_t count = static_cast<size_t>(n) * n;
  const auto a = Numbers<float>(count, 1), x = Numbers<float>(n, 2);
  std::vector<float> y(n);
  driver::Buffer<float> our_a(a), our_x(x), our_y(n);
  const auto at = [](const driver::Buffer<float>& buffer) { return reinterpret_cast<float*>(buffer.address()); };
  const float one = 1, zero = 0;
  const int step = 1;
  Compare(
      report, fmt::format("SGEMV of {} squared{}", n, transposed ? ", transposed" : ""),
      [&] {
        Check(cublasSgemv_v2(handle, transposed ? 1 : 0, n, n, &one, at(our_a), n, at(our_x), 1, &zero, at(our_y), 1));
        CHECK_CU(cuCtxSynchronize());
      },
      [&] { sgemv_(transposed ? "T" : "N", &n, &n, &one, a.data(), &n, x.data(), &step, &zero, y.data(), &step); });
  ExpectSame(our_y.Read(), y, "SGEMV");
}

}  // namespace

void MeasureBlas(Report& report) {
  BlasHandle* handle = nullptr;
  Check(cublasCreate_v2(&handle));
  for (const int n : {256, 1024}) MeasureGemm<float>(report, handle, "SGEMM", n, cublasSgemm_v2, sgemm_);
  MeasureGemm<double>(report, handle, "DGEMM", 1024, cublasDgemm_v2, dgemm_);
  for (const bool transposed : {false, true}) MeasureGemv(report, handle, 4096, transposed);
  Check(cublasDestroy_v2(handle));
}

}  // namespace bench
