#include "fft/transform.h"

#include <fftw3.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "driver/fixture.h"
#include "fft/cufft.h"

namespace tutti::compat::fft {
namespace {

using Number = std::complex<double>;

bool IsDouble(int type) { return type >= kZ2Z; }
bool IsRealIn(int type) { return type == kR2C || type == kD2Z; }
bool IsRealOut(int type) { return type == kC2R || type == kZ2D; }

constexpr double kUntouched = 12345;  // exact in both precisions

// One side's elements, in the order of batch and index, and their places in memory in numbers of the transform's
// precision.
struct Side {
  bool is_real = false;
  std::vector<size_t> places;
  size_t numbers = 0;  // that the memory holds

  size_t count() const { return places.size(); }
};

Side MakeSide(const Transform& t, const std::optional<Layout>& layout, bool is_real, bool is_half) {
  const int rank = static_cast<int>(t.n.size());
  std::vector<int> extents = t.n;
  if (is_half) extents.back() = extents.back() / 2 + 1;
  std::vector<int> embed = layout ? layout->embed : extents;
  const bool is_padded = is_real && t.is_in_place && !layout;
  if (is_padded) embed.back() = 2 * (t.n.back() / 2 + 1);
  size_t dist = 1, stride = 1;
  for (const int extent : embed) dist *= static_cast<size_t>(extent);
  if (layout) {
    dist = static_cast<size_t>(layout->dist);
    stride = static_cast<size_t>(layout->stride);
  }
  Side side{is_real, {}, 0};
  std::vector<int> x(t.n.size(), 0);
  for (int b = 0; b < t.batch; ++b) {
    size_t count = 1;
    for (const int extent : extents) count *= static_cast<size_t>(extent);
    for (size_t i = 0; i < count; ++i) {
      size_t place = 0, rest = i;
      for (int k = rank - 1; k >= 0; --k) {
        x[k] = static_cast<int>(rest % extents[k]);
        rest /= extents[k];
      }
      for (int k = 0; k < rank; ++k) place = place * (k == 0 ? 1 : embed[k]) + x[k];
      place = place * stride + b * dist;
      side.places.push_back(is_real ? place : 2 * place);
      side.numbers = std::max(side.numbers, side.places.back() + 2);
    }
  }
  return side;
}

template <typename T>
std::vector<T> Write(const Side& side, const std::vector<Number>& values) {
  std::vector<T> memory(side.numbers, static_cast<T>(kUntouched));
  for (size_t i = 0; i < side.count(); ++i) {
    memory[side.places[i]] = static_cast<T>(values[i].real());
    if (!side.is_real) memory[side.places[i] + 1] = static_cast<T>(values[i].imag());
  }
  return memory;
}

std::vector<Number> Random(size_t count, bool is_real) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-1, 1);  // so that they are exact in single precision
  std::vector<Number> numbers(count);
  for (Number& number : numbers) number = Number(values(random), is_real ? 0 : values(random));
  return numbers;
}

fftw_complex* Fftw(std::vector<Number>& numbers) { return reinterpret_cast<fftw_complex*>(numbers.data()); }

// Dense transforms of complex numbers; a real side of a transform is taken as such, a half spectrum as the whole.
std::vector<Number> Reference(const Transform& t, std::vector<Number> in, int sign) {
  std::vector<Number> out(in.size());
  const int dist = static_cast<int>(in.size() / t.batch), rank = static_cast<int>(t.n.size());
  const fftw_plan plan = fftw_plan_many_dft(rank, t.n.data(), t.batch, Fftw(in), nullptr, 1, dist, Fftw(out), nullptr,
                                            1, dist, sign, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  return out;
}

// The first n / 2 + 1 elements of each row.
std::vector<Number> Half(const Transform& t, const std::vector<Number>& whole) {
  std::vector<Number> half;
  const size_t n = t.n.back();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i % n <= n / 2) half.push_back(whole[i]);
  }
  return half;
}

int Make(const Transform& t, Handle* plan) {
  Transform copy = t;
  const int rank = static_cast<int>(t.n.size());
  if (t.in) {
    return cufftPlanMany(plan, rank, copy.n.data(), copy.in->embed.data(), t.in->stride, t.in->dist,
                         copy.out->embed.data(), t.out->stride, t.out->dist, t.type, t.batch);
  }
  if (t.batch == 1 && rank == 2) return cufftPlan2d(plan, t.n[0], t.n[1], t.type);
  if (t.batch == 1 && rank == 3) return cufftPlan3d(plan, t.n[0], t.n[1], t.n[2], t.type);
  if (rank == 1) return cufftPlan1d(plan, t.n[0], t.type, t.batch);
  return cufftPlanMany(plan, rank, copy.n.data(), nullptr, 0, 0, nullptr, 0, 0, t.type, t.batch);
}

int Execute(const Transform& t, Handle plan, CUdeviceptr in_address, CUdeviceptr out_address) {
  void* const in = reinterpret_cast<void*>(in_address);
  void* const out = reinterpret_cast<void*>(out_address);
  const int direction = t.is_inverse ? kInverse : kForward;
  switch (t.type) {
    case kC2C: return cufftExecC2C(plan, in, out, direction);
    case kZ2Z: return cufftExecZ2Z(plan, in, out, direction);
    case kR2C: return cufftExecR2C(plan, in, out);
    case kD2Z: return cufftExecD2Z(plan, in, out);
    case kC2R: return cufftExecC2R(plan, in, out);
    default: return cufftExecZ2D(plan, in, out);
  }
}

template <typename T>
std::vector<T> ReadBack(CUdeviceptr address, size_t count) {
  std::vector<T> numbers(count);
  EXPECT_EQ(cuMemcpyDtoH_v2(numbers.data(), address, count * sizeof(T)), CUDA_SUCCESS);
  return numbers;
}

// The result's memory.
template <typename T>
std::vector<T> RunOn(const Transform& t, std::vector<T> in_memory, size_t out_numbers) {
  if (t.is_in_place) in_memory.resize(std::max(in_memory.size(), out_numbers), static_cast<T>(kUntouched));
  const std::vector<T> untouched(out_numbers, static_cast<T>(kUntouched));
  const size_t in_bytes = in_memory.size() * sizeof(T), out_bytes = out_numbers * sizeof(T);
  CUdeviceptr in = 0, out = 0;
  EXPECT_EQ(cuMemAlloc_v2(&in, in_bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&out, out_bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD_v2(in, in_memory.data(), in_bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD_v2(out, untouched.data(), out_bytes), CUDA_SUCCESS);
  Handle plan = 0;
  EXPECT_EQ(Make(t, &plan), kSuccess) << t.Text();
  EXPECT_EQ(Execute(t, plan, in, t.is_in_place ? in : out), kSuccess) << t.Text();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << t.Text();
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  std::vector<T> result = ReadBack<T>(t.is_in_place ? in : out, out_numbers);
  if (!t.is_in_place) {
    EXPECT_EQ(ReadBack<T>(in, in_memory.size()), in_memory) << "the input has changed: " << t.Text();
  }
  EXPECT_EQ(cuMemFree_v2(in), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(out), CUDA_SUCCESS);
  return result;
}

template <typename T>
double ErrorIn(const Transform& t) {
  const Side in = MakeSide(t, t.in, IsRealIn(t.type), IsRealOut(t.type));
  const Side out = MakeSide(t, t.out, IsRealOut(t.type), IsRealIn(t.type));
  std::vector<Number> input, expected;
  if (IsRealOut(t.type)) {
    // Of a spectrum of real numbers.
    const std::vector<Number> whole = Reference(t, Random(out.count(), true), FFTW_FORWARD);
    input = Half(t, whole);
    expected = Reference(t, whole, FFTW_BACKWARD);
  } else {
    input = Random(in.count(), IsRealIn(t.type));
    expected = Reference(t, input, t.is_inverse ? FFTW_BACKWARD : FFTW_FORWARD);
    if (IsRealIn(t.type)) expected = Half(t, expected);
  }
  std::vector<T> result = RunOn<T>(t, Write<T>(in, input), out.numbers);
  double error = 0, length = 0;
  for (size_t i = 0; i < out.count(); ++i) {
    T* const at = &result[out.places[i]];
    const Number got(at[0], out.is_real ? 0 : at[1]);
    error += std::norm(got - expected[i]);
    length += std::norm(expected[i]);
    at[0] = static_cast<T>(kUntouched);
    if (!out.is_real) at[1] = static_cast<T>(kUntouched);
  }
  if (!t.is_in_place) {
    EXPECT_EQ(std::count(result.begin(), result.end(), static_cast<T>(kUntouched)), std::ssize(result))
        << "elements beside the results have changed: " << t.Text();
  }
  return std::sqrt(error / length);
}

}  // namespace

std::string Transform::Text() const {
  return fmt::format("type {:#x} n {} batch {}{}{}{}", type, fmt::join(n, " x "), batch, is_in_place ? " in place" : "",
                     is_inverse ? " inverse" : "",
                     in ? fmt::format(" strides {} {} dists {} {}", in->stride, out->stride, in->dist, out->dist) : "");
}

double ErrorOf(const Transform& transform) {
  return IsDouble(transform.type) ? ErrorIn<double>(transform) : ErrorIn<float>(transform);
}

double ToleranceOf(int type) { return IsDouble(type) ? 2e-15 : 1e-6; }

}  // namespace tutti::compat::fft
