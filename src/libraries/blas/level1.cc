// Level 1: vectors.

#include "libraries/blas/handle.h"
#include "libraries/common/stream_memory.h"

namespace tutti::blas {
namespace {

constexpr uint32_t kThreads = 256;
constexpr int64_t kEach = 16;  // elements of a thread, for a block to be worth its launch
constexpr int64_t kMostReducing = 1024;

template <typename T>
VectorTask Vectors(int64_t n, const T* x, int64_t x_step, const T* y, int64_t y_step) {
  VectorTask task{};
  task.n = n;
  // A vector with a negative step begins at its end.
  task.x = const_cast<T*>(x_step < 0 ? x + (1 - n) * x_step : x);
  task.y = const_cast<T*>(y_step < 0 ? y + (1 - n) * y_step : y);
  task.x_step = x_step;
  task.y_step = y_step;
  return task;
}

uint32_t BlocksOf(int64_t n) {
  const int64_t blocks = BlocksFor(n, kThreads * kEach);
  return static_cast<uint32_t>(blocks < libraries::kMostBlocks ? blocks : libraries::kMostBlocks);
}

template <typename T>
Status Elementwise(Handle* handle, Name name, const VectorTask& task) {
  return Launch(handle->stream, name, kTypeOf<T>, {BlocksOf(task.n)}, kThreads, task);
}

template <typename T, typename A>
Status Axpy(Handle* handle, int64_t n, const A* alpha, const T* x, int64_t incx, T* y, int64_t incy) {
  BLAS_CHECK_HANDLE(handle);
  if (n <= 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && x != nullptr && y != nullptr);
  VectorTask task = Vectors<T>(n, x, incx, y, incy);
  task.alpha = ScalarOf(*handle, alpha);
  if (IsZero(task.alpha)) return kSuccess;
  // One element may be the target of all: then there is an order.
  if (incy == 0) return Launch(handle->stream, Name::axpy, kTypeOf<T>, {1}, 1, task);
  return Elementwise<T>(handle, Name::axpy, task);
}

template <typename T>
Status CopyOrSwap(Handle* handle, Name name, int64_t n, const T* x, int64_t incx, T* y, int64_t incy) {
  BLAS_CHECK_HANDLE(handle);
  if (n <= 0) return kSuccess;
  BLAS_CHECK(x != nullptr && y != nullptr);
  return Elementwise<T>(handle, name, Vectors<T>(n, x, incx, y, incy));
}

template <typename T, typename A>
Status Scal(Handle* handle, int64_t n, const A* alpha, T* x, int64_t incx) {
  BLAS_CHECK_HANDLE(handle);
  if (n <= 0 || incx <= 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && x != nullptr);
  VectorTask task = Vectors<T>(n, x, incx, x, incx);
  task.alpha = ScalarOf(*handle, alpha);
  return Elementwise<T>(handle, Name::scal, task);
}

template <typename T, typename C, typename S>
Status Rot(Handle* handle, int64_t n, T* x, int64_t incx, T* y, int64_t incy, const C* c, const S* s) {
  BLAS_CHECK_HANDLE(handle);
  if (n <= 0) return kSuccess;
  BLAS_CHECK(x != nullptr && y != nullptr && c != nullptr && s != nullptr);
  VectorTask task = Vectors<T>(n, x, incx, y, incy);
  task.alpha = ScalarOf(*handle, c);
  task.beta = ScalarOf(*handle, s);
  return Elementwise<T>(handle, Name::rot, task);
}

template <typename T>
Status Rotm(Handle* handle, int64_t n, T* x, int64_t incx, T* y, int64_t incy, const T* parameters) {
  BLAS_CHECK_HANDLE(handle);
  if (n <= 0) return kSuccess;
  BLAS_CHECK(x != nullptr && y != nullptr && parameters != nullptr);
  VectorTask task = Vectors<T>(n, x, incx, y, incy);
  const bool host = handle->pointer_mode == kHost;
  T p[5] = {};
  if (host) {
    for (int i = 0; i < 5; ++i) p[i] = parameters[i];
  } else {
    task.parameters = parameters;
  }
  return Launch(handle->stream, Name::rotm, kTypeOf<T>, {BlocksOf(n)}, kThreads, task, p[0], p[1], p[2], p[3], p[4]);
}

// Launches a reduction whose result goes to `place`, memory of the device.
Status ReduceInto(Handle* handle, Name name, Type type, VectorTask task, void* place) {
  task.result = place;
  const int64_t blocks = BlocksFor(task.n, kThreads * kEach);
  if (blocks <= 4) return Launch(handle->stream, name, type, {1}, kThreads, task);
  const auto count = static_cast<uint32_t>(blocks < kMostReducing ? blocks : kMostReducing);
  constexpr size_t kLargestPart = 24;  // of a block
  libraries::StreamMemory partial(handle->stream);
  BLAS_TRY(StatusOf(partial.Allocate(count * kLargestPart)));
  task.partial = reinterpret_cast<void*>(partial.address());
  BLAS_TRY(Launch(handle->stream, name, type, {count}, kThreads, task));
  task.n = count;
  return Launch(handle->stream, static_cast<Name>(static_cast<int>(name) + 1), type, {1}, kThreads, task);
}

// The same, to where the program wants it: with a host pointer this waits.
template <typename V>
Status Reduce(Handle* handle, Name name, Type type, const VectorTask& task, V* result) {
  if (handle->pointer_mode != kHost) return ReduceInto(handle, name, type, task, result);
  const std::lock_guard lock(handle->result_lock());
  BLAS_TRY(ReduceInto(handle, name, type, task, handle->result()));
  BLAS_TRY(StatusOf(cuda::cuStreamSynchronize(handle->stream)));
  *result = *static_cast<const V*>(handle->result());
  return kSuccess;
}
template <typename V>
Status Put(Handle* handle, V* result, V value) {
  if (handle->pointer_mode != kHost) {
    return StatusOf(cuda::cuMemsetD8Async(reinterpret_cast<cuda::CUdeviceptr>(result), 0, sizeof value,
                                          handle->stream));  // zero alone
  }
  *result = value;
  return kSuccess;
}

template <typename T>
Status Dot(Handle* handle, int64_t n, const T* x, int64_t incx, const T* y, int64_t incy, T* result, bool conjugated) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(result != nullptr);
  if (n <= 0) return Put(handle, result, T{});
  BLAS_CHECK(x != nullptr && y != nullptr);
  VectorTask task = Vectors<T>(n, x, incx, y, incy);
  task.conjugated = conjugated;
  return Reduce(handle, Name::dot, kTypeOf<T>, task, result);
}

template <typename T, typename R>
Status Norm(Handle* handle, Name name, int64_t n, const T* x, int64_t incx, R* result) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(result != nullptr);
  if (n <= 0 || incx <= 0) return Put(handle, result, R{});
  BLAS_CHECK(x != nullptr);
  return Reduce(handle, name, kTypeOf<T>, Vectors<T>(n, x, incx, x, incx), result);
}

template <typename T, typename Int>
Status Extreme(Handle* handle, Name name, int64_t n, const T* x, int64_t incx, Int* result) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(result != nullptr);
  if (n <= 0 || incx <= 0) return Put(handle, result, Int{});
  BLAS_CHECK(x != nullptr);
  const VectorTask task = Vectors<T>(n, x, incx, x, incx);
  if (handle->pointer_mode == kHost) {
    int64_t index = 0;
    BLAS_TRY(Reduce(handle, name, kTypeOf<T>, task, &index));
    *result = static_cast<Int>(index);
    return kSuccess;
  }
  if constexpr (sizeof(Int) == 8) {
    return ReduceInto(handle, name, kTypeOf<T>, task, result);
  } else {
    libraries::StreamMemory index(handle->stream);
    BLAS_TRY(StatusOf(index.Allocate(sizeof(int64_t))));
    BLAS_TRY(ReduceInto(handle, name, kTypeOf<T>, task, reinterpret_cast<void*>(index.address())));
    return Launch(handle->stream, Name::narrow_index, Type::kF32, {1}, 1, index.address(), result);
  }
}

}  // namespace

#define BOTH(ROUTINE, symbol, ...)       \
  ROUTINE(symbol##_v2, int, __VA_ARGS__) \
  ROUTINE(symbol##_v2_64, int64_t, __VA_ARGS__)

#define AXPY(symbol, Int, T)                                                                        \
  BLAS_EXPORT symbol(Handle* handle, Int n, const T* alpha, const T* x, Int incx, T* y, Int incy) { \
    return Axpy(handle, n, alpha, x, incx, y, incy);                                                \
  }
#define COPY(symbol, Int, T)                                                        \
  BLAS_EXPORT symbol(Handle* handle, Int n, const T* x, Int incx, T* y, Int incy) { \
    return CopyOrSwap(handle, Name::copy, n, x, incx, y, incy);                     \
  }
#define SWAP(symbol, Int, T)                                                  \
  BLAS_EXPORT symbol(Handle* handle, Int n, T* x, Int incx, T* y, Int incy) { \
    return CopyOrSwap(handle, Name::swap, n, x, incx, y, incy);               \
  }
#define SCAL(symbol, Int, T, A) \
  BLAS_EXPORT symbol(Handle* handle, Int n, const A* alpha, T* x, Int incx) { return Scal(handle, n, alpha, x, incx); }
#define ROT(symbol, Int, T, C, S)                                                                     \
  BLAS_EXPORT symbol(Handle* handle, Int n, T* x, Int incx, T* y, Int incy, const C* c, const S* s) { \
    return Rot(handle, n, x, incx, y, incy, c, s);                                                    \
  }
#define ROTM(symbol, Int, T)                                                                       \
  BLAS_EXPORT symbol(Handle* handle, Int n, T* x, Int incx, T* y, Int incy, const T* parameters) { \
    return Rotm(handle, n, x, incx, y, incy, parameters);                                          \
  }
#define DOT(symbol, Int, T, conjugated)                                                              \
  BLAS_EXPORT symbol(Handle* handle, Int n, const T* x, Int incx, const T* y, Int incy, T* result) { \
    return Dot(handle, n, x, incx, y, incy, result, conjugated);                                     \
  }
#define NORM(symbol, Int, T, R, name)                                          \
  BLAS_EXPORT symbol(Handle* handle, Int n, const T* x, Int incx, R* result) { \
    return Norm(handle, Name::name, n, x, incx, result);                       \
  }
#define EXTREME(symbol, Int, T, name)                                            \
  BLAS_EXPORT symbol(Handle* handle, Int n, const T* x, Int incx, Int* result) { \
    return Extreme(handle, Name::name, n, x, incx, result);                      \
  }

#define FOR_EACH_TYPE(ROUTINE, before, after)   \
  BOTH(ROUTINE, before##S##after, float)        \
  BOTH(ROUTINE, before##D##after, double)       \
  BOTH(ROUTINE, before##C##after, ComplexFloat) \
  BOTH(ROUTINE, before##Z##after, ComplexDouble)
FOR_EACH_TYPE(AXPY, cublas, axpy)
FOR_EACH_TYPE(COPY, cublas, copy)
FOR_EACH_TYPE(SWAP, cublas, swap)
BOTH(SCAL, cublasSscal, float, float)
BOTH(SCAL, cublasDscal, double, double)
BOTH(SCAL, cublasCscal, ComplexFloat, ComplexFloat)
BOTH(SCAL, cublasZscal, ComplexDouble, ComplexDouble)
BOTH(SCAL, cublasCsscal, ComplexFloat, float)
BOTH(SCAL, cublasZdscal, ComplexDouble, double)
BOTH(ROT, cublasSrot, float, float, float)
BOTH(ROT, cublasDrot, double, double, double)
BOTH(ROT, cublasCrot, ComplexFloat, float, ComplexFloat)
BOTH(ROT, cublasZrot, ComplexDouble, double, ComplexDouble)
BOTH(ROT, cublasCsrot, ComplexFloat, float, float)
BOTH(ROT, cublasZdrot, ComplexDouble, double, double)
BOTH(ROTM, cublasSrotm, float)
BOTH(ROTM, cublasDrotm, double)
BOTH(DOT, cublasSdot, float, false)
BOTH(DOT, cublasDdot, double, false)
BOTH(DOT, cublasCdotu, ComplexFloat, false)
BOTH(DOT, cublasZdotu, ComplexDouble, false)
BOTH(DOT, cublasCdotc, ComplexFloat, true)
BOTH(DOT, cublasZdotc, ComplexDouble, true)
BOTH(NORM, cublasSnrm2, float, float, nrm2)
BOTH(NORM, cublasDnrm2, double, double, nrm2)
BOTH(NORM, cublasScnrm2, ComplexFloat, float, nrm2)
BOTH(NORM, cublasDznrm2, ComplexDouble, double, nrm2)
BOTH(NORM, cublasSasum, float, float, asum)
BOTH(NORM, cublasDasum, double, double, asum)
BOTH(NORM, cublasScasum, ComplexFloat, float, asum)
BOTH(NORM, cublasDzasum, ComplexDouble, double, asum)
BOTH(EXTREME, cublasIsamax, float, amax)
BOTH(EXTREME, cublasIdamax, double, amax)
BOTH(EXTREME, cublasIcamax, ComplexFloat, amax)
BOTH(EXTREME, cublasIzamax, ComplexDouble, amax)
BOTH(EXTREME, cublasIsamin, float, amin)
BOTH(EXTREME, cublasIdamin, double, amin)
BOTH(EXTREME, cublasIcamin, ComplexFloat, amin)
BOTH(EXTREME, cublasIzamin, ComplexDouble, amin)

}  // namespace tutti::blas
