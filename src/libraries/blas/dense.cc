// geam, dgmm, and the LU factors of many small matrices.
#include "libraries/blas/gemm.h"
#include "libraries/blas/handle.h"

namespace tutti::blas {
namespace {

Status LaunchOver(Handle* handle, Name name, Type type, const ElementwiseTask& task) {
  const int64_t blocks = BlocksFor(task.m, 128);
  if (blocks > libraries::kMostBlocksX) return kNotSupported;
  return Launch(handle->stream, name, type,
                {static_cast<uint32_t>(blocks), static_cast<uint32_t>(task.n < 1024 ? task.n : 1024)}, 128, task);
}

template <typename T>
Status Geam(Handle* handle, int op_a, int op_b, int64_t m, int64_t n, const T* alpha, const T* a, int64_t lda,
            const T* beta, const T* b, int64_t ldb, T* c, int64_t ldc) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsOp(op_a) && IsOp(op_b) && m >= 0 && n >= 0);
  BLAS_CHECK(Spans(lda, Rows(op_a, m, n)) && Spans(ldb, Rows(op_b, m, n)) && Spans(ldc, m));
  BLAS_CHECK((c != a || (op_a == kN && lda == ldc)) && (c != b || (op_b == kN && ldb == ldc)));
  if (m == 0 || n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  constexpr Type kType = kTypeOf<T>;
  ElementwiseTask task{};
  task.m = m;
  task.n = n;
  task.a = Dense(kType, op_a, a, lda);
  task.b = Dense(kType, op_b, b, ldb);
  task.c = Into(kType, c, ldc);
  task.alpha = ScalarOf(*handle, alpha);
  task.beta = ScalarOf(*handle, beta);
  return LaunchOver(handle, Name::geam, kType, task);
}

template <typename T>
Status Dgmm(Handle* handle, int side, int64_t m, int64_t n, const T* a, int64_t lda, const T* x, int64_t incx, T* c,
            int64_t ldc) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK((side == kLeft || side == kRight) && m >= 0 && n >= 0 && Spans(lda, m) && Spans(ldc, m));
  if (m == 0 || n == 0) return kSuccess;
  constexpr Type kType = kTypeOf<T>;
  ElementwiseTask task{};
  task.m = m;
  task.n = n;
  task.a = Dense(kType, kN, a, lda);
  task.c = Into(kType, c, ldc);
  task.x = x;
  task.x_step = incx;
  task.left = side == kLeft;
  return LaunchOver(handle, Name::dgmm, kType, task);
}

template <typename T>
Status Factor(Handle* handle, Name name, const FactorTask& task) {
  if (task.n == 0 || task.batches == 0) return kSuccess;
  const int64_t blocks = task.batches < libraries::kMostBlocksX ? task.batches : libraries::kMostBlocksX;
  return Launch(handle->stream, name, kTypeOf<T>, {static_cast<uint32_t>(blocks)}, 64, task);
}

template <typename T>
Status Getrf(Handle* handle, int n, T* const* a, int lda, int* pivots, int* info, int batches) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(n >= 0 && Spans(lda, n) && batches >= 0);
  FactorTask task{};
  task.n = n;
  task.batches = batches;
  task.ld = lda;
  task.a = reinterpret_cast<void* const*>(a);
  task.pivots = pivots;
  task.info = info;
  return Factor<T>(handle, Name::getrf, task);
}

template <typename T>
Status Getri(Handle* handle, int n, const T* const* a, int lda, const int* pivots, T* const* c, int ldc, int* info,
             int batches) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(n >= 0 && Spans(lda, n) && Spans(ldc, n) && batches >= 0);
  FactorTask task{};
  task.n = n;
  task.batches = batches;
  task.ld = lda;
  task.a = reinterpret_cast<void* const*>(const_cast<T* const*>(a));
  task.pivots = const_cast<int*>(pivots);
  task.info = info;
  task.out = reinterpret_cast<void* const*>(c);
  task.out_ld = ldc;
  task.columns = n;
  return Factor<T>(handle, Name::getri, task);
}

// `info` is the host's: what is wrong with the arguments.
template <typename T>
Status Getrs(Handle* handle, int op, int n, int columns, const T* const* a, int lda, const int* pivots, T* const* b,
             int ldb, int* info, int batches) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(info != nullptr);
  *info = !IsOp(op)        ? -1
          : n < 0          ? -2
          : columns < 0    ? -3
          : !Spans(lda, n) ? -5
          : !Spans(ldb, n) ? -8
          : batches < 0    ? -10
                           : 0;
  BLAS_CHECK(*info == 0);
  if (columns == 0) return kSuccess;
  FactorTask task{};
  task.n = n;
  task.batches = batches;
  task.ld = lda;
  task.a = reinterpret_cast<void* const*>(const_cast<T* const*>(a));
  task.pivots = const_cast<int*>(pivots);
  task.out = reinterpret_cast<void* const*>(b);
  task.out_ld = ldb;
  task.columns = columns;
  task.transposed = op == kT || op == kC;
  task.conjugated = op == kC || op == kConjugated;
  return Factor<T>(handle, Name::getrs, task);
}

}  // namespace

#define GEAM(symbol, Int, T)                                                                                \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, const T* alpha, const T* a, Int lda, \
                     const T* beta, const T* b, Int ldb, T* c, Int ldc) {                                   \
    return Geam<T>(handle, op_a, op_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                          \
  }
#define DGMM(symbol, Int, T)                                                                                  \
  BLAS_EXPORT symbol(Handle* handle, int side, Int m, Int n, const T* a, Int lda, const T* x, Int incx, T* c, \
                     Int ldc) {                                                                               \
    return Dgmm<T>(handle, side, m, n, a, lda, x, incx, c, ldc);                                              \
  }
#define FACTORS(letter, T)                                                                                         \
  BLAS_EXPORT cublas##letter##getrfBatched(Handle* handle, int n, T* const* a, int lda, int* pivots, int* info,    \
                                           int batches) {                                                          \
    return Getrf<T>(handle, n, a, lda, pivots, info, batches);                                                     \
  }                                                                                                                \
  BLAS_EXPORT cublas##letter##getriBatched(Handle* handle, int n, const T* const* a, int lda, const int* pivots,   \
                                           T* const* c, int ldc, int* info, int batches) {                         \
    return Getri<T>(handle, n, a, lda, pivots, c, ldc, info, batches);                                             \
  }                                                                                                                \
  BLAS_EXPORT cublas##letter##getrsBatched(Handle* handle, int op, int n, int columns, const T* const* a, int lda, \
                                           const int* pivots, T* const* b, int ldb, int* info, int batches) {      \
    return Getrs<T>(handle, op, n, columns, a, lda, pivots, b, ldb, info, batches);                                \
  }
#define FOR_TYPE(letter, T)                 \
  GEAM(cublas##letter##geam, int, T)        \
  GEAM(cublas##letter##geam_64, int64_t, T) \
  DGMM(cublas##letter##dgmm, int, T)        \
  DGMM(cublas##letter##dgmm_64, int64_t, T) \
  FACTORS(letter, T)
FOR_TYPE(S, float)
FOR_TYPE(D, double)
FOR_TYPE(C, ComplexFloat)
FOR_TYPE(Z, ComplexDouble)

}  // namespace tutti::blas
