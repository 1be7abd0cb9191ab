// Level 1 with types as arguments, where all elements have one type; and dot products of halves, which are products of
// a row and a column.
#include "libraries/blas/data_types.h"
#include "libraries/blas/gemm.h"
#include "libraries/blas/handle.h"

namespace tutti::blas {
extern "C" {
#define DECLARE(letter, T)                                                                    \
  int cublas##letter##axpy_v2_64(Handle*, int64_t, const T*, const T*, int64_t, T*, int64_t); \
  int cublas##letter##scal_v2_64(Handle*, int64_t, const T*, T*, int64_t);
DECLARE(S, float)
DECLARE(D, double)
DECLARE(C, ComplexFloat)
DECLARE(Z, ComplexDouble)
#define DECLARE_DOT(symbol, T) int symbol##_v2_64(Handle*, int64_t, const T*, int64_t, const T*, int64_t, T*);
DECLARE_DOT(cublasSdot, float)
DECLARE_DOT(cublasDdot, double)
DECLARE_DOT(cublasCdotu, ComplexFloat)
DECLARE_DOT(cublasZdotu, ComplexDouble)
DECLARE_DOT(cublasCdotc, ComplexFloat)
DECLARE_DOT(cublasZdotc, ComplexDouble)
#define DECLARE_NORM(symbol, T, R) int symbol##_v2_64(Handle*, int64_t, const T*, int64_t, R*);
DECLARE_NORM(cublasSnrm2, float, float)
DECLARE_NORM(cublasDnrm2, double, double)
DECLARE_NORM(cublasScnrm2, ComplexFloat, float)
DECLARE_NORM(cublasDznrm2, ComplexDouble, double)
}

namespace {

template <typename T>
const T* As(const void* pointer) {
  return static_cast<const T*>(pointer);
}
template <typename T>
T* As(void* pointer) {
  return static_cast<T*>(pointer);
}

int AxpyEx(Handle* handle, int64_t n, const void* alpha, int alpha_type, const void* x, int x_type, int64_t incx,
           void* y, int y_type, int64_t incy) {
  BLAS_CHECK_HANDLE(handle);
  if (alpha_type != x_type || x_type != y_type) return kNotSupported;
  switch (x_type) {
#define CASE(type, letter, T) \
  case type: return cublas##letter##axpy_v2_64(handle, n, As<T>(alpha), As<T>(x), incx, As<T>(y), incy);
    CASE(kR32F, S, float)
    CASE(kR64F, D, double)
    CASE(kC32F, C, ComplexFloat)
    CASE(kC64F, Z, ComplexDouble)
#undef CASE
    default: return kNotSupported;
  }
}

int ScalEx(Handle* handle, int64_t n, const void* alpha, int alpha_type, void* x, int x_type, int64_t incx) {
  BLAS_CHECK_HANDLE(handle);
  if (alpha_type != x_type) return kNotSupported;
  switch (x_type) {
#define CASE(type, letter, T) \
  case type: return cublas##letter##scal_v2_64(handle, n, As<T>(alpha), As<T>(x), incx);
    CASE(kR32F, S, float)
    CASE(kR64F, D, double)
    CASE(kC32F, C, ComplexFloat)
    CASE(kC64F, Z, ComplexDouble)
#undef CASE
    default: return kNotSupported;
  }
}

int Nrm2Ex(Handle* handle, int64_t n, const void* x, int x_type, int64_t incx, void* result, int result_type) {
  BLAS_CHECK_HANDLE(handle);
  if (x_type == kR32F && result_type == kR32F)
    return cublasSnrm2_v2_64(handle, n, As<float>(x), incx, As<float>(result));
  if (x_type == kR64F && result_type == kR64F)
    return cublasDnrm2_v2_64(handle, n, As<double>(x), incx, As<double>(result));
  if (x_type == kC32F && result_type == kR32F)
    return cublasScnrm2_v2_64(handle, n, As<ComplexFloat>(x), incx, As<float>(result));
  if (x_type == kC64F && result_type == kR64F)
    return cublasDznrm2_v2_64(handle, n, As<ComplexDouble>(x), incx, As<double>(result));
  return kNotSupported;
}

// The product of a row and a column of halves, summed as floats.
Status DotOfHalves(Handle* handle, int64_t n, Type type, const void* x, int64_t incx, const void* y, int64_t incy,
                   void* result) {
  BLAS_CHECK(result != nullptr);
  if (incx <= 0 || incy <= 0) return kNotSupported;
  const bool host = handle->pointer_mode == kHost;
  const std::lock_guard lock(handle->result_lock());
  void* const place = host ? handle->result() : result;
  // y is a row of a transposed matrix: its elements are a leading dimension apart, as those of x.
  GemmTask task = Product(1, 1, n > 0 ? n : 0, kOne, Dense(type, kN, x, incx), Dense(type, kT, y, incy), kZero,
                          Into(type, place, 1));
  BLAS_TRY(Run(handle->stream, Type::kF32, task));
  if (!host) return kSuccess;
  BLAS_TRY(StatusOf(cuda::cuStreamSynchronize(handle->stream)));
  *static_cast<uint16_t*>(result) = *static_cast<const uint16_t*>(place);
  return kSuccess;
}

int DotEx(Handle* handle, int64_t n, const void* x, int x_type, int64_t incx, const void* y, int y_type, int64_t incy,
          void* result, int result_type, bool conjugated) {
  BLAS_CHECK_HANDLE(handle);
  if (x_type != y_type || x_type != result_type) return kNotSupported;
  switch (x_type) {
#define CASE(type, symbol, T) \
  case type: return symbol##_v2_64(handle, n, As<T>(x), incx, As<T>(y), incy, As<T>(result));
    CASE(kR32F, cublasSdot, float)
    CASE(kR64F, cublasDdot, double)
#undef CASE
    case kC32F:
      return (conjugated ? cublasCdotc_v2_64 : cublasCdotu_v2_64)(handle, n, As<ComplexFloat>(x), incx,
                                                                  As<ComplexFloat>(y), incy, As<ComplexFloat>(result));
    case kC64F:
      return (conjugated ? cublasZdotc_v2_64 : cublasZdotu_v2_64)(
          handle, n, As<ComplexDouble>(x), incx, As<ComplexDouble>(y), incy, As<ComplexDouble>(result));
    case kR16F: return DotOfHalves(handle, n, Type::kF16, x, incx, y, incy, result);
    case kR16BF: return DotOfHalves(handle, n, Type::kBF16, x, incx, y, incy, result);
    default: return kNotSupported;
  }
}

}  // namespace

#define FUNCTIONS(suffix, Int)                                                                                    \
  BLAS_EXPORT cublasAxpyEx##suffix(Handle* handle, Int n, const void* alpha, int alpha_type, const void* x,       \
                                   int x_type, Int incx, void* y, int y_type, Int incy, int) {                    \
    return AxpyEx(handle, n, alpha, alpha_type, x, x_type, incx, y, y_type, incy);                                \
  }                                                                                                               \
  BLAS_EXPORT cublasScalEx##suffix(Handle* handle, Int n, const void* alpha, int alpha_type, void* x, int x_type, \
                                   Int incx, int) {                                                               \
    return ScalEx(handle, n, alpha, alpha_type, x, x_type, incx);                                                 \
  }                                                                                                               \
  BLAS_EXPORT cublasNrm2Ex##suffix(Handle* handle, Int n, const void* x, int x_type, Int incx, void* result,      \
                                   int result_type, int) {                                                        \
    return Nrm2Ex(handle, n, x, x_type, incx, result, result_type);                                               \
  }                                                                                                               \
  BLAS_EXPORT cublasDotEx##suffix(Handle* handle, Int n, const void* x, int x_type, Int incx, const void* y,      \
                                  int y_type, Int incy, void* result, int result_type, int) {                     \
    return DotEx(handle, n, x, x_type, incx, y, y_type, incy, result, result_type, false);                        \
  }                                                                                                               \
  BLAS_EXPORT cublasDotcEx##suffix(Handle* handle, Int n, const void* x, int x_type, Int incx, const void* y,     \
                                   int y_type, Int incy, void* result, int result_type, int) {                    \
    return DotEx(handle, n, x, x_type, incx, y, y_type, incy, result, result_type, true);                         \
  }
FUNCTIONS(, int)
FUNCTIONS(_64, int64_t)

}  // namespace tutti::blas
