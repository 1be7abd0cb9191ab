// rotg and rotmg: Givens rotations of two numbers, computed by the host. With numbers in device memory they are fetched
// first.
#include <cmath>
#include <initializer_list>
#include <utility>

#include "libraries/blas/handle.h"

namespace tutti::blas {
namespace {

// Lets `work` change `count` numbers each of several places, wherever these are.
template <typename Work>
Status OnHost(Handle* handle, std::initializer_list<std::pair<void*, size_t>> places, const Work& work) {
  BLAS_CHECK_HANDLE(handle);
  for (const auto& [place, bytes] : places) BLAS_CHECK(place != nullptr);
  alignas(16) unsigned char room[5][64];
  void* local[5] = {};
  size_t i = 0;
  const bool device = handle->pointer_mode != kHost;
  for (const auto& [place, bytes] : places) {
    local[i] = device ? room[i] : place;
    if (device)
      BLAS_TRY(StatusOf(
          cuda::cuMemcpyDtoHAsync_v2(room[i], reinterpret_cast<cuda::CUdeviceptr>(place), bytes, handle->stream)));
    ++i;
  }
  if (device) BLAS_TRY(StatusOf(cuda::cuStreamSynchronize(handle->stream)));
  work(local);
  i = 0;
  for (const auto& [place, bytes] : places) {
    if (device)
      BLAS_TRY(StatusOf(
          cuda::cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::CUdeviceptr>(place), room[i], bytes, handle->stream)));
    ++i;
  }
  if (device) BLAS_TRY(StatusOf(cuda::cuStreamSynchronize(handle->stream)));
  return kSuccess;
}

template <typename R>
void Rotation(R& a, R& b, R& c, R& s) {
  const R larger = std::abs(a) > std::abs(b) ? a : b, scale = std::abs(a) + std::abs(b);
  if (scale == 0) {
    c = 1;
    s = a = b = 0;
    return;
  }
  const R r = std::copysign(std::hypot(a, b), larger);
  c = a / r;
  s = b / r;
  b = std::abs(a) > std::abs(b) ? s : c != 0 ? 1 / c : 1;
  a = r;
}

template <typename T, typename R>
void ComplexRotation(T& a, const T& b, R& c, T& s) {
  const R size = std::hypot(a.re, a.im), other = std::hypot(b.re, b.im);
  if (size == 0) {
    c = 0;
    s = {1, 0};
    a = b;
    return;
  }
  const R norm = std::hypot(size, other);
  const T unit = {a.re / size, a.im / size};  // a / |a|
  c = size / norm;
  s = {(unit.re * b.re + unit.im * b.im) / norm, (unit.im * b.re - unit.re * b.im) / norm};
  a = {unit.re * norm, unit.im * norm};
}

// The modified rotation of the reference implementation of level 1: scaled so that d1 and d2 stay in range.
template <typename R>
void ModifiedRotation(R& d1, R& d2, R& x1, const R y1, R* p) {
  constexpr R kGamma = 4096, kBig = kGamma * kGamma, kSmall = 1 / kBig;
  R flag = 0, h11 = 0, h12 = 0, h21 = 0, h22 = 0;
  const auto spoil = [&] { flag = -1, h11 = h12 = h21 = h22 = 0, d1 = d2 = x1 = 0; };
  const auto fill = [&] {
    if (flag == 0) h11 = 1, h22 = 1;
    if (flag == 1) h21 = -1, h12 = 1;
    flag = -1;
  };
  if (d1 < 0) {
    spoil();
  } else {
    const R p2 = d2 * y1;
    if (p2 == 0) {
      p[0] = -2;
      return;
    }
    const R p1 = d1 * x1, q2 = p2 * y1, q1 = p1 * x1;
    if (std::abs(q1) > std::abs(q2)) {
      h21 = -y1 / x1;
      h12 = p2 / p1;
      const R u = 1 - h12 * h21;
      if (u > 0)
        flag = 0, d1 /= u, d2 /= u, x1 *= u;
      else
        spoil();
    } else if (q2 < 0) {
      spoil();
    } else {
      flag = 1;
      h11 = p1 / p2;
      h22 = x1 / y1;
      const R u = 1 + h11 * h22;
      const R other = d2 / u;
      d2 = d1 / u;
      d1 = other;
      x1 = y1 * u;
    }
    while (d1 != 0 && (d1 <= kSmall || d1 >= kBig)) {
      fill();
      const bool up = d1 <= kSmall;
      d1 = up ? d1 * kBig : d1 / kBig;
      x1 = up ? x1 / kGamma : x1 * kGamma;
      h11 = up ? h11 / kGamma : h11 * kGamma;
      h12 = up ? h12 / kGamma : h12 * kGamma;
      if (!std::isfinite(d1)) break;
    }
    while (d2 != 0 && (std::abs(d2) <= kSmall || std::abs(d2) >= kBig)) {
      fill();
      const bool up = std::abs(d2) <= kSmall;
      d2 = up ? d2 * kBig : d2 / kBig;
      h21 = up ? h21 / kGamma : h21 * kGamma;
      h22 = up ? h22 / kGamma : h22 * kGamma;
      if (!std::isfinite(d2)) break;
    }
  }
  if (flag == -1) p[1] = h11, p[2] = h21, p[3] = h12, p[4] = h22;
  if (flag == 0) p[2] = h21, p[3] = h12;
  if (flag == 1) p[1] = h11, p[4] = h22;
  p[0] = flag;
}

}  // namespace

#define ROTG(symbol, R)                                                                                             \
  BLAS_EXPORT symbol(Handle* handle, R* a, R* b, R* c, R* s) {                                                      \
    return OnHost(handle, {{a, sizeof *a}, {b, sizeof *b}, {c, sizeof *c}, {s, sizeof *s}}, [](void** at) {         \
      Rotation(*static_cast<R*>(at[0]), *static_cast<R*>(at[1]), *static_cast<R*>(at[2]), *static_cast<R*>(at[3])); \
    });                                                                                                             \
  }
ROTG(cublasSrotg_v2, float)
ROTG(cublasDrotg_v2, double)
#define COMPLEX_ROTG(symbol, T, R)                                                                          \
  BLAS_EXPORT symbol(Handle* handle, T* a, T* b, R* c, T* s) {                                              \
    return OnHost(handle, {{a, sizeof *a}, {b, sizeof *b}, {c, sizeof *c}, {s, sizeof *s}}, [](void** at) { \
      ComplexRotation(*static_cast<T*>(at[0]), *static_cast<T*>(at[1]), *static_cast<R*>(at[2]),            \
                      *static_cast<T*>(at[3]));                                                             \
    });                                                                                                     \
  }
COMPLEX_ROTG(cublasCrotg_v2, ComplexFloat, float)
COMPLEX_ROTG(cublasZrotg_v2, ComplexDouble, double)
#define ROTMG(symbol, R)                                                                                        \
  BLAS_EXPORT symbol(Handle* handle, R* d1, R* d2, R* x1, const R* y1, R* parameters) {                         \
    return OnHost(handle,                                                                                       \
                  {{d1, sizeof *d1},                                                                            \
                   {d2, sizeof *d2},                                                                            \
                   {x1, sizeof *x1},                                                                            \
                   {const_cast<R*>(y1), sizeof *y1},                                                            \
                   {parameters, 5 * sizeof *parameters}},                                                       \
                  [](void** at) {                                                                               \
                    ModifiedRotation(*static_cast<R*>(at[0]), *static_cast<R*>(at[1]), *static_cast<R*>(at[2]), \
                                     *static_cast<const R*>(at[3]), static_cast<R*>(at[4]));                    \
                  });                                                                                           \
  }
ROTMG(cublasSrotmg_v2, float)
ROTMG(cublasDrotmg_v2, double)

}  // namespace tutti::blas
