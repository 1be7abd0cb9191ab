// Level 3 with one matrix of each kind: all of it is products of matrices of which the shape, or the part that is
// written, differs.
#include "libraries/blas/gemm.h"
#include "libraries/blas/handle.h"
#include "libraries/common/stream_memory.h"

namespace tutti::blas {
namespace {

bool IsFill(int fill) { return fill == kLower || fill == kUpper; }
Part PartOf(int fill) { return fill == kLower ? Part::kLower : Part::kUpper; }
bool IsSide(int side) { return side == kLeft || side == kRight; }

template <typename T>
Status Gemm(Handle* handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const T* alpha, const T* a,
            int64_t lda, const T* b, int64_t ldb, const T* beta, T* c, int64_t ldc) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsOp(op_a) && IsOp(op_b) && m >= 0 && n >= 0 && k >= 0);
  BLAS_CHECK(Spans(lda, Rows(op_a, m, k)) && Spans(ldb, Rows(op_b, k, n)) && Spans(ldc, m));
  if (m == 0 || n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  constexpr Type kType = kTypeOf<T>;
  return Run(handle->stream, kType,
             Product(m, n, k, ScalarOf(*handle, alpha), Dense(kType, op_a, a, lda), Dense(kType, op_b, b, ldb),
                     ScalarOf(*handle, beta), Into(kType, c, ldc)));
}

template <typename T>
Status Symm(Handle* handle, int side, int fill, int64_t m, int64_t n, const T* alpha, const T* a, int64_t lda,
            const T* b, int64_t ldb, const T* beta, T* c, int64_t ldc, Shape shape) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsSide(side) && IsFill(fill) && m >= 0 && n >= 0);
  BLAS_CHECK(Spans(lda, side == kLeft ? m : n) && Spans(ldb, m) && Spans(ldc, m));
  if (m == 0 || n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  constexpr Type kType = kTypeOf<T>;
  Operand half = Dense(kType, kN, a, lda);
  half.shape = shape;
  half.part = PartOf(fill);
  const Operand other = Dense(kType, kN, b, ldb);
  return Run(handle->stream, kType,
             Product(m, n, side == kLeft ? m : n, ScalarOf(*handle, alpha), side == kLeft ? half : other,
                     side == kLeft ? other : half, ScalarOf(*handle, beta), Into(kType, c, ldc)));
}

// What syrk and its kin have in common: C = alpha op(A) op(B)' + beta C, of which a triangle is written. `adjoint`: the
// transposed factor is conjugated, and the diagonal is real.
template <typename T>
struct Square {
  int fill, op;
  int64_t n, k;
  const T *a, *b;
  int64_t lda, ldb;
  T* c;
  int64_t ldc;
  bool adjoint;

  bool valid() const {
    const bool op_is_one =
        op == kN || (adjoint ? op == kC || (!kComplex && op == kT) : op == kT || (!kComplex && op == kC));
    const int64_t rows = op == kN ? n : k;
    return IsFill(fill) && op_is_one && n >= 0 && k >= 0 && Spans(lda, rows) && Spans(ldb, rows) && Spans(ldc, n);
  }
  static constexpr bool kComplex = kTypeOf<T> == Type::kC32 || kTypeOf<T> == Type::kC64;

  GemmTask Task(const Scalar& alpha, const T* left, int64_t left_ld, const T* right, int64_t right_ld,
                const Scalar& beta) const {
    constexpr Type kType = kTypeOf<T>;
    const int turned = adjoint ? kC : kT;
    GemmTask task = Product(n, n, k, alpha, Dense(kType, op == kN ? kN : turned, left, left_ld),
                            Dense(kType, op == kN ? turned : kN, right, right_ld), beta, Into(kType, c, ldc));
    task.d.part = PartOf(fill);
    task.real_diagonal = adjoint;
    return task;
  }
};

template <typename T, typename A, typename B>
Status Syrk(Handle* handle, const Square<T>& square, const A* alpha, const B* beta) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(square.valid());
  if (square.n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  return Run(
      handle->stream, kTypeOf<T>,
      square.Task(ScalarOf(*handle, alpha), square.a, square.lda, square.b, square.ldb, ScalarOf(*handle, beta)));
}

template <typename T, typename B>
Status Syr2k(Handle* handle, const Square<T>& square, const T* alpha, const B* beta) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(square.valid());
  if (square.n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr);
  Scalar factor = ScalarOf(*handle, alpha);
  GemmTask first = square.Task(factor, square.a, square.lda, square.b, square.ldb, ScalarOf(*handle, beta));
  first.real_diagonal = false;  // the sum of both is real
  BLAS_TRY(Run(handle->stream, kTypeOf<T>, first));
  factor.conjugated = square.adjoint;
  return Run(handle->stream, kTypeOf<T>, square.Task(factor, square.b, square.ldb, square.a, square.lda, kOne));
}

template <typename T>
Status Trmm(Handle* handle, int side, int fill, int op, int diagonal, int64_t m, int64_t n, const T* alpha, const T* a,
            int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(IsSide(side) && IsFill(fill) && IsOp(op) && (diagonal == kNonUnit || diagonal == kUnit));
  BLAS_CHECK(m >= 0 && n >= 0 && Spans(lda, side == kLeft ? m : n) && Spans(ldb, m) && Spans(ldc, m));
  if (m == 0 || n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr);
  constexpr Type kType = kTypeOf<T>;
  Operand triangle = Dense(kType, op, a, lda);
  triangle.shape = Shape::kTriangular;
  triangle.part = PartOf(fill);
  triangle.unit_diagonal = diagonal == kUnit;
  Operand other = Dense(kType, kN, b, ldb);
  libraries::StreamMemory copied(handle->stream);
  if (b == c) {  // each element of the result needs many of B
    if (m > static_cast<int64_t>(PTRDIFF_MAX / sizeof(T)) / n) return kAllocFailed;
    BLAS_TRY(StatusOf(copied.Allocate(static_cast<size_t>(m) * static_cast<size_t>(n) * sizeof(T))));
    ElementwiseTask copy{};
    copy.m = m;
    copy.n = n;
    copy.a = other;
    copy.c = Into(kType, reinterpret_cast<void*>(copied.address()), m);
    copy.alpha = kOne;
    copy.beta = kZero;
    BLAS_TRY(Launch(handle->stream, Name::geam, kType,
                    {static_cast<uint32_t>(BlocksFor(m, 128)), static_cast<uint32_t>(n < 1024 ? n : 1024)}, 128, copy));
    other = Dense(kType, kN, copy.c.data, m);
  }
  return Run(handle->stream, kType,
             Product(m, n, side == kLeft ? m : n, ScalarOf(*handle, alpha), side == kLeft ? triangle : other,
                     side == kLeft ? other : triangle, kZero, Into(kType, c, ldc)));
}

}  // namespace

#define BOTH(ROUTINE, symbol, ...)       \
  ROUTINE(symbol##_v2, int, __VA_ARGS__) \
  ROUTINE(symbol##_v2_64, int64_t, __VA_ARGS__)
#define WITHOUT_V2(ROUTINE, symbol, ...) \
  ROUTINE(symbol, int, __VA_ARGS__)      \
  ROUTINE(symbol##_64, int64_t, __VA_ARGS__)
#define FOR_EACH_TYPE(ROUTINE, name)         \
  BOTH(ROUTINE, cublasS##name, float)        \
  BOTH(ROUTINE, cublasD##name, double)       \
  BOTH(ROUTINE, cublasC##name, ComplexFloat) \
  BOTH(ROUTINE, cublasZ##name, ComplexDouble)

#define GEMM(symbol, Int, T)                                                                                       \
  BLAS_EXPORT symbol(Handle* handle, int op_a, int op_b, Int m, Int n, Int k, const T* alpha, const T* a, Int lda, \
                     const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                          \
    return Gemm<T>(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                              \
  }
FOR_EACH_TYPE(GEMM, gemm)
WITHOUT_V2(GEMM, cublasCgemm3m, ComplexFloat)
WITHOUT_V2(GEMM, cublasZgemm3m, ComplexDouble)
#define SYMM(symbol, Int, T, shape)                                                                         \
  BLAS_EXPORT symbol(Handle* handle, int side, int fill, Int m, Int n, const T* alpha, const T* a, Int lda, \
                     const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                   \
    return Symm<T>(handle, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc, Shape::shape);            \
  }
BOTH(SYMM, cublasSsymm, float, kSymmetric)
BOTH(SYMM, cublasDsymm, double, kSymmetric)
BOTH(SYMM, cublasCsymm, ComplexFloat, kSymmetric)
BOTH(SYMM, cublasZsymm, ComplexDouble, kSymmetric)
BOTH(SYMM, cublasChemm, ComplexFloat, kHermitian)
BOTH(SYMM, cublasZhemm, ComplexDouble, kHermitian)
#define SYRK(symbol, Int, T, A, adjoint)                                                                  \
  BLAS_EXPORT symbol(Handle* handle, int fill, int op, Int n, Int k, const A* alpha, const T* a, Int lda, \
                     const A* beta, T* c, Int ldc) {                                                      \
    return Syrk(handle, Square<T>{fill, op, n, k, a, a, lda, lda, c, ldc, adjoint}, alpha, beta);         \
  }
BOTH(SYRK, cublasSsyrk, float, float, false)
BOTH(SYRK, cublasDsyrk, double, double, false)
BOTH(SYRK, cublasCsyrk, ComplexFloat, ComplexFloat, false)
BOTH(SYRK, cublasZsyrk, ComplexDouble, ComplexDouble, false)
BOTH(SYRK, cublasCherk, ComplexFloat, float, true)
BOTH(SYRK, cublasZherk, ComplexDouble, double, true)
#define SYRKX(symbol, Int, T, B, adjoint, function)                                                                   \
  BLAS_EXPORT symbol(Handle* handle, int fill, int op, Int n, Int k, const T* alpha, const T* a, Int lda, const T* b, \
                     Int ldb, const B* beta, T* c, Int ldc) {                                                         \
    return function(handle, Square<T>{fill, op, n, k, a, b, lda, ldb, c, ldc, adjoint}, alpha, beta);                 \
  }
BOTH(SYRKX, cublasSsyr2k, float, float, false, Syr2k)
BOTH(SYRKX, cublasDsyr2k, double, double, false, Syr2k)
BOTH(SYRKX, cublasCsyr2k, ComplexFloat, ComplexFloat, false, Syr2k)
BOTH(SYRKX, cublasZsyr2k, ComplexDouble, ComplexDouble, false, Syr2k)
BOTH(SYRKX, cublasCher2k, ComplexFloat, float, true, Syr2k)
BOTH(SYRKX, cublasZher2k, ComplexDouble, double, true, Syr2k)
WITHOUT_V2(SYRKX, cublasSsyrkx, float, float, false, Syrk)
WITHOUT_V2(SYRKX, cublasDsyrkx, double, double, false, Syrk)
WITHOUT_V2(SYRKX, cublasCsyrkx, ComplexFloat, ComplexFloat, false, Syrk)
WITHOUT_V2(SYRKX, cublasZsyrkx, ComplexDouble, ComplexDouble, false, Syrk)
WITHOUT_V2(SYRKX, cublasCherkx, ComplexFloat, float, true, Syrk)
WITHOUT_V2(SYRKX, cublasZherkx, ComplexDouble, double, true, Syrk)
#define TRMM(symbol, Int, T)                                                                                 \
  BLAS_EXPORT symbol(Handle* handle, int side, int fill, int op, int diagonal, Int m, Int n, const T* alpha, \
                     const T* a, Int lda, const T* b, Int ldb, T* c, Int ldc) {                              \
    return Trmm<T>(handle, side, fill, op, diagonal, m, n, alpha, a, lda, b, ldb, c, ldc);                   \
  }
FOR_EACH_TYPE(TRMM, trmm)

}  // namespace tutti::blas
