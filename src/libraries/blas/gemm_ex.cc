// Products with other types of elements than their own, and of many matrices at once.
#include "libraries/blas/data_types.h"
#include "libraries/blas/gemm.h"
#include "libraries/blas/handle.h"

namespace tutti::blas {
namespace {

constexpr bool kHostOrNot(const Handle& handle) { return handle.pointer_mode != kHost; }

struct Many {
  int64_t count = 1;
  bool arrays = false;  // else strides
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
};

struct Shape3 {
  int op_a, op_b;
  int64_t m, n, k, lda, ldb, ldc;
};

Status Multiply(Handle* handle, const Shape3& s, const ProductTypes& types, const void* alpha, const void* a,
                const void* b, const void* beta, void* c, const Many& many) {
  BLAS_CHECK(IsOp(s.op_a) && IsOp(s.op_b) && s.m >= 0 && s.n >= 0 && s.k >= 0 && many.count >= 0);
  BLAS_CHECK(Spans(s.lda, Rows(s.op_a, s.m, s.k)) && Spans(s.ldb, Rows(s.op_b, s.k, s.n)) && Spans(s.ldc, s.m));
  if (s.m == 0 || s.n == 0 || many.count == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr && c != nullptr);
  const bool on_device = kHostOrNot(*handle);
  GemmTask task =
      Product(s.m, s.n, s.k, ScalarOfType(on_device, alpha, types.scale), Dense(types.a, s.op_a, a, s.lda),
              Dense(types.b, s.op_b, b, s.ldb), ScalarOfType(on_device, beta, types.scale), Into(types.d, c, s.ldc));
  task.batches = many.count;
  if (many.arrays) {
    BLAS_CHECK(s.k == 0 || (a != nullptr && b != nullptr));
    task.a.array = static_cast<const void* const*>(a);
    task.b.array = static_cast<const void* const*>(b);
    task.d.array = static_cast<void* const*>(c);
    task.c.array = const_cast<const void* const*>(task.d.array);
  } else {
    task.a.stride = many.a_stride;
    task.b.stride = many.b_stride;
    task.c.stride = task.d.stride = many.c_stride;
  }
  return Run(handle->stream, types.compute, task);
}

Status GemmEx(Handle* handle, const Shape3& shape, const void* alpha, const void* a, int a_type, const void* b,
              int b_type, const void* beta, void* c, int c_type, int compute, const Many& many) {
  BLAS_CHECK_HANDLE(handle);
  ProductTypes types{};
  if (!TypesOf(a_type, b_type, c_type, c_type, compute, -1, &types)) return kNotSupported;
  return Multiply(handle, shape, types, alpha, a, b, beta, c, many);
}

// One type throughout.
template <typename T>
Status GemmOf(Handle* handle, const Shape3& shape, const void* alpha, const void* a, const void* b, const void* beta,
              void* c, const Many& many) {
  BLAS_CHECK_HANDLE(handle);
  constexpr Type kType = kTypeOf<T>;
  return Multiply(handle, shape, {kType, kType, kType, kType, kType, kType}, alpha, a, b, beta, c, many);
}
struct Half;
template <>
Status GemmOf<Half>(Handle* handle, const Shape3& shape, const void* alpha, const void* a, const void* b,
                    const void* beta, void* c, const Many& many) {
  BLAS_CHECK_HANDLE(handle);
  constexpr Type kType = Type::kF16;
  return Multiply(handle, shape, {kType, kType, kType, kType, Type::kF32, kType}, alpha, a, b, beta, c, many);
}

}  // namespace

#define BOTH(ROUTINE, symbol, ...)  \
  ROUTINE(symbol, int, __VA_ARGS__) \
  ROUTINE(symbol##_64, int64_t, __VA_ARGS__)
#define SHAPE {op_a, op_b, m, n, k, lda, ldb, ldc}

#define GEMM_EX(symbol, Int, unused)                                                                                 \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const void* alpha, const void* a,      \
                     int a_type, Int lda, const void* b, int b_type, Int ldb, const void* beta, void* c, int c_type, \
                     Int ldc, int compute, int) {                                                                    \
    return GemmEx(handle, SHAPE, alpha, a, a_type, b, b_type, beta, c, c_type, compute, {});                         \
  }
BOTH(GEMM_EX, cublasGemmEx, )
#define GEMM_BATCHED_EX(symbol, Int, unused)                                                                           \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const void* alpha, const void* const* a, \
                     int a_type, Int lda, const void* const* b, int b_type, Int ldb, const void* beta, void* const* c, \
                     int c_type, Int ldc, Int count, int compute, int) {                                               \
    return GemmEx(handle, SHAPE, alpha, a, a_type, b, b_type, beta, const_cast<void**>(c), c_type, compute,            \
                  {count, true});                                                                                      \
  }
BOTH(GEMM_BATCHED_EX, cublasGemmBatchedEx, )
#define GEMM_STRIDED_EX(symbol, Int, unused)                                                                          \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const void* alpha, const void* a,       \
                     int a_type, Int lda, long long a_stride, const void* b, int b_type, Int ldb, long long b_stride, \
                     const void* beta, void* c, int c_type, Int ldc, long long c_stride, Int count, int compute,      \
                     int) {                                                                                           \
    return GemmEx(handle, SHAPE, alpha, a, a_type, b, b_type, beta, c, c_type, compute,                               \
                  {count, false, a_stride, b_stride, c_stride});                                                      \
  }
BOTH(GEMM_STRIDED_EX, cublasGemmStridedBatchedEx, )
#define SGEMM_EX(symbol, Int, T, compute)                                                                         \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const T* alpha, const void* a,      \
                     int a_type, Int lda, const void* b, int b_type, Int ldb, const T* beta, void* c, int c_type, \
                     Int ldc) {                                                                                   \
    return GemmEx(handle, SHAPE, alpha, a, a_type, b, b_type, beta, c, c_type, compute, {});                      \
  }
BOTH(SGEMM_EX, cublasSgemmEx, float, kCompute32F)
BOTH(SGEMM_EX, cublasCgemmEx, ComplexFloat, kCompute32F)
BOTH(SGEMM_EX, cublasCgemm3mEx, ComplexFloat, kCompute32F)

#define GEMM_BATCHED(symbol, Int, T)                                                                             \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const T* alpha, const T* const* a, \
                     Int lda, const T* const* b, Int ldb, const T* beta, T* const* c, Int ldc, Int count) {      \
    return GemmOf<T>(handle, SHAPE, alpha, a, b, beta, const_cast<T**>(c), {count, true});                       \
  }
#define GEMM_STRIDED(symbol, Int, T)                                                                               \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const T* alpha, const T* a, Int lda, \
                     long long a_stride, const T* b, Int ldb, long long b_stride, const T* beta, T* c, Int ldc,    \
                     long long c_stride, Int count) {                                                              \
    return GemmOf<T>(handle, SHAPE, alpha, a, b, beta, c, {count, false, a_stride, b_stride, c_stride});           \
  }
#define GEMM(symbol, Int, T)                                                                                       \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const T* alpha, const T* a, Int lda, \
                     const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                          \
    return GemmOf<T>(handle, SHAPE, alpha, a, b, beta, c, {});                                                     \
  }
BOTH(GEMM, cublasHgemm, Half)
#define MANY(letter, T)                              \
  BOTH(GEMM_BATCHED, cublas##letter##gemmBatched, T) \
  BOTH(GEMM_STRIDED, cublas##letter##gemmStridedBatched, T)
MANY(H, Half)
MANY(S, float)
MANY(D, double)
MANY(C, ComplexFloat)
MANY(Z, ComplexDouble)
BOTH(GEMM_BATCHED, cublasCgemm3mBatched, ComplexFloat)
BOTH(GEMM_STRIDED, cublasCgemm3mStridedBatched, ComplexFloat)

}  // namespace tutti::blas
