// Level 2: matrices and vectors.
#include "libraries/blas/gemm.h"
#include "libraries/blas/handle.h"
#include "libraries/common/stream_memory.h"

namespace tutti::blas {
namespace {

constexpr uint32_t kThreads = 128;

bool IsFill(int fill) { return fill == kLower || fill == kUpper; }
Part PartOf(int fill) { return fill == kLower ? Part::kLower : Part::kUpper; }
bool IsDiagonal(int diagonal) { return diagonal == kNonUnit || diagonal == kUnit; }

MatrixView View(Storage storage, Shape shape, int fill, int op, int diagonal, int64_t rows, int64_t columns,
                const void* data, int64_t ld, int64_t below, int64_t above) {
  MatrixView view{};
  view.data = data;
  view.ld = ld;
  view.rows = rows;
  view.columns = columns;
  view.below = below;
  view.above = above;
  view.storage = storage;
  view.shape = shape;
  view.part = shape == Shape::kGeneral ? Part::kFull : PartOf(fill);
  view.transposed = op == kT || op == kC;
  view.conjugated = op == kC || op == kConjugated;
  view.unit_diagonal = diagonal == kUnit;
  return view;
}

// A square matrix of which half is stored; `wide`: its band, or 0.
MatrixView Half(Storage storage, Shape shape, int fill, int op, int diagonal, int64_t n, const void* data, int64_t ld,
                int64_t band) {
  return View(storage, shape, fill, op, diagonal, n, n, data, ld, fill == kLower ? band : 0, fill == kUpper ? band : 0);
}

template <typename T>
Status Multiply(Handle* handle, const MatrixVectorTask& task) {
  const MatrixView& a = task.a;
  const int64_t outputs = a.transposed ? a.columns : a.rows;
  const bool dense = a.storage == Storage::kDense && a.shape == Shape::kGeneral;
  const int64_t each = dense && a.transposed ? kThreads / 32 : kThreads;
  const int64_t blocks = BlocksFor(outputs, each);
  if (blocks > libraries::kMostBlocksX) return kNotSupported;
  const Name name = !dense ? Name::any_matrix_vector : a.transposed ? Name::gemv_columns : Name::gemv_rows;
  const int64_t batches = task.batches < libraries::kMostBlocks ? task.batches : libraries::kMostBlocks;
  return Launch(handle->stream, name, kTypeOf<T>, {static_cast<uint32_t>(blocks), 1, static_cast<uint32_t>(batches)},
                kThreads, task);
}

uint32_t BlocksOfCopy(int64_t n) {
  const int64_t blocks = BlocksFor(n, kThreads * 16);
  return static_cast<uint32_t>(blocks < libraries::kMostBlocks ? blocks : libraries::kMostBlocks);
}

template <typename T>
MatrixVectorTask Task(Handle* handle, const MatrixView& a, const T* alpha, const T* x, int64_t incx, const T* beta,
                      T* y, int64_t incy) {
  MatrixVectorTask task{};
  task.a = a;
  task.x = x;
  task.y = y;
  task.x_step = incx;
  task.y_step = incy;
  task.batches = 1;
  task.alpha = ScalarOf(*handle, alpha);
  task.beta = ScalarOf(*handle, beta);
  return task;
}

template <typename T>
Status Gemv(Handle* handle, int op, int64_t m, int64_t n, const T* alpha, const T* a, int64_t lda, const T* x,
            int64_t incx, const T* beta, T* y, int64_t incy) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsOp(op) && m >= 0 && n >= 0 && Spans(lda, m) && incx != 0 && incy != 0);
  if (m == 0 || n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  return Multiply<T>(
      handle, Task(handle, View(Storage::kDense, Shape::kGeneral, kFull, op, kNonUnit, m, n, a, lda, 0, 0), alpha, x,
                   incx, beta, y, incy));
}

template <typename T>
Status GemvBatched(Handle* handle, int op, int64_t m, int64_t n, const T* alpha, const T* const* a, int64_t lda,
                   const T* const* x, int64_t incx, const T* beta, T* const* y, int64_t incy, int64_t batches) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsOp(op) && m >= 0 && n >= 0 && Spans(lda, m) && incx != 0 && incy != 0 && batches >= 0);
  if (m == 0 || n == 0 || batches == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr && a != nullptr && x != nullptr && y != nullptr);
  MatrixVectorTask task =
      Task<T>(handle, View(Storage::kDense, Shape::kGeneral, kFull, op, kNonUnit, m, n, nullptr, lda, 0, 0), alpha,
              nullptr, incx, beta, nullptr, incy);
  task.a.array = reinterpret_cast<const void* const*>(a);
  task.x_array = reinterpret_cast<const void* const*>(x);
  task.y_array = reinterpret_cast<void* const*>(y);
  task.batches = batches;
  return Multiply<T>(handle, task);
}

template <typename T>
Status GemvStrided(Handle* handle, int op, int64_t m, int64_t n, const T* alpha, const T* a, int64_t lda,
                   int64_t a_stride, const T* x, int64_t incx, int64_t x_stride, const T* beta, T* y, int64_t incy,
                   int64_t y_stride, int64_t batches) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsOp(op) && m >= 0 && n >= 0 && Spans(lda, m) && incx != 0 && incy != 0 && batches >= 0);
  if (m == 0 || n == 0 || batches == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  MatrixVectorTask task =
      Task<T>(handle, View(Storage::kDense, Shape::kGeneral, kFull, op, kNonUnit, m, n, a, lda, 0, 0), alpha, x, incx,
              beta, y, incy);
  task.a.stride = a_stride;
  task.x_stride = x_stride;
  task.y_stride = y_stride;
  task.batches = batches;
  return Multiply<T>(handle, task);
}

template <typename T>
Status Gbmv(Handle* handle, int op, int64_t m, int64_t n, int64_t below, int64_t above, const T* alpha, const T* a,
            int64_t lda, const T* x, int64_t incx, const T* beta, T* y, int64_t incy) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsOp(op) && m >= 0 && n >= 0 && below >= 0 && above >= 0 && lda > below + above && incx != 0 && incy != 0);
  if (m == 0 || n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  return Multiply<T>(
      handle, Task(handle, View(Storage::kBand, Shape::kGeneral, kFull, op, kNonUnit, m, n, a, lda, below, above),
                   alpha, x, incx, beta, y, incy));
}

// symv, hemv, sbmv, hbmv, spmv, hpmv
template <typename T>
Status Symmetric(Handle* handle, Storage storage, Shape shape, int fill, int64_t n, int64_t band, const T* alpha,
                 const T* a, int64_t lda, const T* x, int64_t incx, const T* beta, T* y, int64_t incy) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsFill(fill) && n >= 0 && band >= 0 && incx != 0 && incy != 0);
  BLAS_CHECK(storage == Storage::kPacked || (storage == Storage::kBand ? lda > band : Spans(lda, n)));
  if (n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  return Multiply<T>(
      handle, Task(handle, Half(storage, shape, fill, kN, kNonUnit, n, a, lda, band), alpha, x, incx, beta, y, incy));
}

// trmv, tbmv, tpmv: x is copied first, since each element of the result needs all of it.
template <typename T>
Status Triangular(Handle* handle, Storage storage, int fill, int op, int diagonal, int64_t n, int64_t band, const T* a,
                  int64_t lda, T* x, int64_t incx, bool solve) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsFill(fill) && IsOp(op) && IsDiagonal(diagonal) && n >= 0 && band >= 0 && incx != 0);
  BLAS_CHECK(storage == Storage::kPacked || (storage == Storage::kBand ? lda > band : Spans(lda, n)));
  if (n == 0) return kSuccess;
  BLAS_CHECK(a != nullptr && x != nullptr);
  MatrixVectorTask task{};
  task.a = Half(storage, Shape::kTriangular, fill, op, diagonal, n, a, lda, band);
  task.y = x;
  task.y_step = incx;
  task.batches = 1;
  if (solve) return Launch(handle->stream, Name::solve_vector, kTypeOf<T>, {1}, kThreads, task);
  libraries::StreamMemory copied(handle->stream);
  if (n > static_cast<int64_t>(SIZE_MAX / 2 / sizeof(T))) return kAllocFailed;
  BLAS_TRY(StatusOf(copied.Allocate(static_cast<size_t>(n) * sizeof(T))));
  VectorTask copy{};
  copy.n = n;
  copy.x = incx < 0 ? x + (1 - n) * incx : x;
  copy.x_step = incx;
  copy.y = reinterpret_cast<void*>(copied.address());
  copy.y_step = 1;
  BLAS_TRY(Launch(handle->stream, Name::copy, kTypeOf<T>, {BlocksOfCopy(n)}, kThreads, copy));
  task.x = copy.y;
  task.x_step = 1;
  task.alpha = kOne;
  task.beta = kZero;
  return Multiply<T>(handle, task);
}

// ger, syr, her, spr, hpr, and those of two vectors
template <typename T>
Status RankUpdate(Handle* handle, RankTask task) {
  const int64_t blocks = BlocksFor(task.rows, kThreads);
  if (blocks > libraries::kMostBlocksX) return kNotSupported;
  const int64_t across = task.columns < libraries::kMostBlocks ? task.columns : libraries::kMostBlocks;
  return Launch(handle->stream, Name::rank_update, kTypeOf<T>,
                {static_cast<uint32_t>(blocks), static_cast<uint32_t>(across < 64 ? across : BlocksFor(across, 16))},
                kThreads, task);
}

template <typename T>
Status Ger(Handle* handle, int64_t m, int64_t n, const T* alpha, const T* x, int64_t incx, const T* y, int64_t incy,
           T* a, int64_t lda, bool conjugated) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(m >= 0 && n >= 0 && incx != 0 && incy != 0 && Spans(lda, m));
  if (m == 0 || n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr);
  const RankTask task{a,           lda,        m,    n, x, y, incx, incy, ScalarOf(*handle, alpha), Storage::kDense,
                      Part::kFull, conjugated, false};
  return IsZero(task.alpha) ? kSuccess : RankUpdate<T>(handle, task);
}

template <typename T, typename A>
Status Rank(Handle* handle, Storage storage, int fill, int64_t n, const A* alpha, const T* x, int64_t incx, const T* y,
            int64_t incy, T* a, int64_t lda, bool conjugated, bool two) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsFill(fill) && n >= 0 && incx != 0 && incy != 0 && (storage == Storage::kPacked || Spans(lda, n)));
  if (n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr);
  const RankTask task{a, lda, n, n, x, y, incx, incy, ScalarOf(*handle, alpha), storage, PartOf(fill), conjugated, two};
  return IsZero(task.alpha) ? kSuccess : RankUpdate<T>(handle, task);
}

}  // namespace

#define BOTH(ROUTINE, symbol, ...)       \
  ROUTINE(symbol##_v2, int, __VA_ARGS__) \
  ROUTINE(symbol##_v2_64, int64_t, __VA_ARGS__)
#define FOR_EACH_TYPE(ROUTINE, name)         \
  BOTH(ROUTINE, cublasS##name, float)        \
  BOTH(ROUTINE, cublasD##name, double)       \
  BOTH(ROUTINE, cublasC##name, ComplexFloat) \
  BOTH(ROUTINE, cublasZ##name, ComplexDouble)
#define WITHOUT_V2(ROUTINE, symbol, T) ROUTINE(symbol, int, T) ROUTINE(symbol##_64, int64_t, T)
#define FOR_EACH_TYPE_WITHOUT_V2(ROUTINE, name)    \
  WITHOUT_V2(ROUTINE, cublasS##name, float)        \
  WITHOUT_V2(ROUTINE, cublasD##name, double)       \
  WITHOUT_V2(ROUTINE, cublasC##name, ComplexFloat) \
  WITHOUT_V2(ROUTINE, cublasZ##name, ComplexDouble)

#define GEMV(symbol, Int, T)                                                                                          \
  BLAS_EXPORT symbol(Handle* handle, int op, Int m, Int n, const T* alpha, const T* a, Int lda, const T* x, Int incx, \
                     const T* beta, T* y, Int incy) {                                                                 \
    return Gemv<T>(handle, op, m, n, alpha, a, lda, x, incx, beta, y, incy);                                          \
  }
FOR_EACH_TYPE(GEMV, gemv)
#define GEMV_BATCHED(symbol, Int, T)                                                                   \
  BLAS_EXPORT symbol(Handle* handle, int op, Int m, Int n, const T* alpha, const T* const* a, Int lda, \
                     const T* const* x, Int incx, const T* beta, T* const* y, Int incy, Int batches) { \
    return GemvBatched<T>(handle, op, m, n, alpha, a, lda, x, incx, beta, y, incy, batches);           \
  }
FOR_EACH_TYPE_WITHOUT_V2(GEMV_BATCHED, gemvBatched)
#define GEMV_STRIDED(symbol, Int, T)                                                                                \
  BLAS_EXPORT symbol(Handle* handle, int op, Int m, Int n, const T* alpha, const T* a, Int lda, long long a_stride, \
                     const T* x, Int incx, long long x_stride, const T* beta, T* y, Int incy, long long y_stride,   \
                     Int batches) {                                                                                 \
    return GemvStrided<T>(handle, op, m, n, alpha, a, lda, a_stride, x, incx, x_stride, beta, y, incy, y_stride,    \
                          batches);                                                                                 \
  }
FOR_EACH_TYPE_WITHOUT_V2(GEMV_STRIDED, gemvStridedBatched)
#define GBMV(symbol, Int, T)                                                                                          \
  BLAS_EXPORT symbol(Handle* handle, int op, Int m, Int n, Int below, Int above, const T* alpha, const T* a, Int lda, \
                     const T* x, Int incx, const T* beta, T* y, Int incy) {                                           \
    return Gbmv<T>(handle, op, m, n, below, above, alpha, a, lda, x, incx, beta, y, incy);                            \
  }
FOR_EACH_TYPE(GBMV, gbmv)
#define SYMV(symbol, Int, T, shape)                                                                                \
  BLAS_EXPORT symbol(Handle* handle, int fill, Int n, const T* alpha, const T* a, Int lda, const T* x, Int incx,   \
                     const T* beta, T* y, Int incy) {                                                              \
    return Symmetric<T>(handle, Storage::kDense, Shape::shape, fill, n, 0, alpha, a, lda, x, incx, beta, y, incy); \
  }
BOTH(SYMV, cublasSsymv, float, kSymmetric)
BOTH(SYMV, cublasDsymv, double, kSymmetric)
BOTH(SYMV, cublasCsymv, ComplexFloat, kSymmetric)
BOTH(SYMV, cublasZsymv, ComplexDouble, kSymmetric)
BOTH(SYMV, cublasChemv, ComplexFloat, kHermitian)
BOTH(SYMV, cublasZhemv, ComplexDouble, kHermitian)
#define SBMV(symbol, Int, T, shape)                                                                                  \
  BLAS_EXPORT symbol(Handle* handle, int fill, Int n, Int band, const T* alpha, const T* a, Int lda, const T* x,     \
                     Int incx, const T* beta, T* y, Int incy) {                                                      \
    return Symmetric<T>(handle, Storage::kBand, Shape::shape, fill, n, band, alpha, a, lda, x, incx, beta, y, incy); \
  }
BOTH(SBMV, cublasSsbmv, float, kSymmetric)
BOTH(SBMV, cublasDsbmv, double, kSymmetric)
BOTH(SBMV, cublasChbmv, ComplexFloat, kHermitian)
BOTH(SBMV, cublasZhbmv, ComplexDouble, kHermitian)
#define SPMV(symbol, Int, T, shape)                                                                                    \
  BLAS_EXPORT symbol(Handle* handle, int fill, Int n, const T* alpha, const T* a, const T* x, Int incx, const T* beta, \
                     T* y, Int incy) {                                                                                 \
    return Symmetric<T>(handle, Storage::kPacked, Shape::shape, fill, n, 0, alpha, a, 0, x, incx, beta, y, incy);      \
  }
BOTH(SPMV, cublasSspmv, float, kSymmetric)
BOTH(SPMV, cublasDspmv, double, kSymmetric)
BOTH(SPMV, cublasChpmv, ComplexFloat, kHermitian)
BOTH(SPMV, cublasZhpmv, ComplexDouble, kHermitian)

#define TR_V(symbol, Int, T, solve)                                                                                \
  BLAS_EXPORT symbol(Handle* handle, int fill, int op, int diagonal, Int n, const T* a, Int lda, T* x, Int incx) { \
    return Triangular<T>(handle, Storage::kDense, fill, op, diagonal, n, 0, a, lda, x, incx, solve);               \
  }
#define TB_V(symbol, Int, T, solve)                                                                              \
  BLAS_EXPORT symbol(Handle* handle, int fill, int op, int diagonal, Int n, Int band, const T* a, Int lda, T* x, \
                     Int incx) {                                                                                 \
    return Triangular<T>(handle, Storage::kBand, fill, op, diagonal, n, band, a, lda, x, incx, solve);           \
  }
#define TP_V(symbol, Int, T, solve)                                                                       \
  BLAS_EXPORT symbol(Handle* handle, int fill, int op, int diagonal, Int n, const T* a, T* x, Int incx) { \
    return Triangular<T>(handle, Storage::kPacked, fill, op, diagonal, n, 0, a, 0, x, incx, solve);       \
  }
#define TRIANGULAR(ROUTINE, name)                        \
  BOTH(ROUTINE, cublasS##name##mv, float, false)         \
  BOTH(ROUTINE, cublasD##name##mv, double, false)        \
  BOTH(ROUTINE, cublasC##name##mv, ComplexFloat, false)  \
  BOTH(ROUTINE, cublasZ##name##mv, ComplexDouble, false) \
  BOTH(ROUTINE, cublasS##name##sv, float, true)          \
  BOTH(ROUTINE, cublasD##name##sv, double, true)         \
  BOTH(ROUTINE, cublasC##name##sv, ComplexFloat, true)   \
  BOTH(ROUTINE, cublasZ##name##sv, ComplexDouble, true)
TRIANGULAR(TR_V, tr)
TRIANGULAR(TB_V, tb)
TRIANGULAR(TP_V, tp)

#define GER(symbol, Int, T, conjugated)                                                                              \
  BLAS_EXPORT symbol(Handle* handle, Int m, Int n, const T* alpha, const T* x, Int incx, const T* y, Int incy, T* a, \
                     Int lda) {                                                                                      \
    return Ger<T>(handle, m, n, alpha, x, incx, y, incy, a, lda, conjugated);                                        \
  }
BOTH(GER, cublasSger, float, false)
BOTH(GER, cublasDger, double, false)
BOTH(GER, cublasCgeru, ComplexFloat, false)
BOTH(GER, cublasCgerc, ComplexFloat, true)
BOTH(GER, cublasZgeru, ComplexDouble, false)
BOTH(GER, cublasZgerc, ComplexDouble, true)
#define SYR(symbol, Int, T, A, conjugated)                                                                   \
  BLAS_EXPORT symbol(Handle* handle, int fill, Int n, const A* alpha, const T* x, Int incx, T* a, Int lda) { \
    return Rank<T, A>(handle, Storage::kDense, fill, n, alpha, x, incx, x, incx, a, lda, conjugated, false); \
  }
BOTH(SYR, cublasSsyr, float, float, false)
BOTH(SYR, cublasDsyr, double, double, false)
BOTH(SYR, cublasCsyr, ComplexFloat, ComplexFloat, false)
BOTH(SYR, cublasZsyr, ComplexDouble, ComplexDouble, false)
BOTH(SYR, cublasCher, ComplexFloat, float, true)
BOTH(SYR, cublasZher, ComplexDouble, double, true)
#define SPR(symbol, Int, T, A, conjugated)                                                                  \
  BLAS_EXPORT symbol(Handle* handle, int fill, Int n, const A* alpha, const T* x, Int incx, T* a) {         \
    return Rank<T, A>(handle, Storage::kPacked, fill, n, alpha, x, incx, x, incx, a, 0, conjugated, false); \
  }
BOTH(SPR, cublasSspr, float, float, false)
BOTH(SPR, cublasDspr, double, double, false)
BOTH(SPR, cublasChpr, ComplexFloat, float, true)
BOTH(SPR, cublasZhpr, ComplexDouble, double, true)
#define SYR2(symbol, Int, T, conjugated)                                                                          \
  BLAS_EXPORT symbol(Handle* handle, int fill, Int n, const T* alpha, const T* x, Int incx, const T* y, Int incy, \
                     T* a, Int lda) {                                                                             \
    return Rank<T, T>(handle, Storage::kDense, fill, n, alpha, x, incx, y, incy, a, lda, conjugated, true);       \
  }
BOTH(SYR2, cublasSsyr2, float, false)
BOTH(SYR2, cublasDsyr2, double, false)
BOTH(SYR2, cublasCsyr2, ComplexFloat, false)
BOTH(SYR2, cublasZsyr2, ComplexDouble, false)
BOTH(SYR2, cublasCher2, ComplexFloat, true)
BOTH(SYR2, cublasZher2, ComplexDouble, true)
#define SPR2(symbol, Int, T, conjugated)                                                                          \
  BLAS_EXPORT symbol(Handle* handle, int fill, Int n, const T* alpha, const T* x, Int incx, const T* y, Int incy, \
                     T* a) {                                                                                      \
    return Rank<T, T>(handle, Storage::kPacked, fill, n, alpha, x, incx, y, incy, a, 0, conjugated, true);        \
  }
BOTH(SPR2, cublasSspr2, float, false)
BOTH(SPR2, cublasDspr2, double, false)
BOTH(SPR2, cublasChpr2, ComplexFloat, true)
BOTH(SPR2, cublasZhpr2, ComplexDouble, true)

}  // namespace tutti::blas
