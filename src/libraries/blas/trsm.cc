// Triangular systems: halved until a block solves one, with products of matrices between the halves.
#include "libraries/blas/gemm.h"
#include "libraries/blas/handle.h"

namespace tutti::blas {
namespace {

struct System {
  Handle* handle;
  Type type;
  Operand a;
  Result b;
  int64_t right_sides, batches;
  bool left;
  Scalar alpha;  // the right sides have been scaled by it
};

// A part of op(A) as a matrix of its own.
Operand PartOfA(const System& system, int64_t row, int64_t column) {
  Operand part = system.a;
  part.shape = Shape::kGeneral;
  part.offset += part.transposed ? column + row * part.ld : row + column * part.ld;
  return part;
}
int64_t PlaceInB(const System& system, int64_t first) { return system.left ? first : first * system.b.ld; }

// Whether op(A), or with A on the right its transpose, is lower: then what comes first does not need the rest.
bool Downwards(const System& system) { return (system.a.part == Part::kLower) != (system.a.transposed == system.left); }

Status SolveBlock(const System& system, int64_t first, int64_t n) {
  SolveTask task{};
  task.a = system.a;
  task.a.offset += first * (system.a.ld + 1);
  if (!system.left) task.a.transposed = !task.a.transposed;
  task.b = system.b;
  task.b.offset += PlaceInB(system, first);
  task.rows = n;
  task.columns = system.right_sides;
  task.batches = system.batches;
  task.row_step = system.left ? 1 : system.b.ld;
  task.column_step = system.left ? system.b.ld : 1;
  task.whole = system.alpha;
  constexpr uint32_t kThreads = 64;
  const int64_t blocks = BlocksFor(task.columns, kThreads);
  if (blocks > libraries::kMostBlocksX) return kNotSupported;
  return Launch(system.handle->stream, Name::solve_block, system.type,
                {static_cast<uint32_t>(blocks), 1,
                 static_cast<uint32_t>(task.batches < libraries::kMostBlocks ? task.batches : libraries::kMostBlocks)},
                kThreads, task);
}

// B of [to, to + n) -= what the solution of [from, from + k) contributes.
Status Subtract(const System& system, int64_t to, int64_t n, int64_t from, int64_t k) {
  Operand x{};
  x.data = system.b.data;
  x.array = const_cast<const void* const*>(system.b.array);
  x.offset = system.b.offset + PlaceInB(system, from);
  x.ld = system.b.ld;
  x.type = system.type;
  Result rest = system.b;
  rest.offset += PlaceInB(system, to);
  GemmTask task = system.left ? Product(n, system.right_sides, k, kMinusOne, PartOfA(system, to, from), x, kOne, rest)
                              : Product(system.right_sides, n, k, kMinusOne, x, PartOfA(system, from, to), kOne, rest);
  task.batches = system.batches;
  task.whole = system.alpha;
  return Run(system.handle->stream, system.type, task);
}

Status Solve(const System& system, int64_t first, int64_t n) {  // NOLINT(misc-no-recursion): as deep as log2(n)
  if (n <= kSolveRows) return SolveBlock(system, first, n);
  const int64_t half = BlocksFor(n / 2, kSolveRows) * kSolveRows;
  if (Downwards(system)) {
    BLAS_TRY(Solve(system, first, half));
    BLAS_TRY(Subtract(system, first + half, n - half, first, half));
    return Solve(system, first + half, n - half);
  }
  BLAS_TRY(Solve(system, first + half, n - half));
  BLAS_TRY(Subtract(system, first, half, first + half, n - half));
  return Solve(system, first, half);
}

template <typename T>
Status Trsm(Handle* handle, int side, int fill, int op, int diagonal, int64_t m, int64_t n, const T* alpha, const T* a,
            const T* const* a_array, int64_t lda, T* b, T* const* b_array, int64_t ldb, int64_t batches) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK((side == kLeft || side == kRight) && (fill == kLower || fill == kUpper) && IsOp(op));
  BLAS_CHECK((diagonal == kNonUnit || diagonal == kUnit) && m >= 0 && n >= 0 && batches >= 0);
  BLAS_CHECK(Spans(lda, side == kLeft ? m : n) && Spans(ldb, m));
  if (m == 0 || n == 0 || batches == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr);
  constexpr Type kType = kTypeOf<T>;
  System system{handle,  kType,         Dense(kType, op, a, lda), Into(kType, b, ldb), side == kLeft ? n : m,
                batches, side == kLeft, ScalarOf(*handle, alpha)};
  system.a.array = reinterpret_cast<const void* const*>(a_array);
  system.a.shape = Shape::kTriangular;
  system.a.part = fill == kLower ? Part::kLower : Part::kUpper;
  system.a.unit_diagonal = diagonal == kUnit;
  system.b.array = reinterpret_cast<void* const*>(b_array);
  ElementwiseTask scale{};
  scale.m = m;
  scale.n = n;
  scale.c = system.b;
  scale.alpha = system.alpha;
  if (scale.alpha.place != nullptr || scale.alpha.re != 1 || scale.alpha.im != 0) {
    BLAS_TRY(Launch(handle->stream, Name::scale_matrix, kType,
                    {static_cast<uint32_t>(BlocksFor(m, 128)), static_cast<uint32_t>(n < 1024 ? n : 1024),
                     static_cast<uint32_t>(batches < libraries::kMostBlocks ? batches : libraries::kMostBlocks)},
                    128, scale, batches));
    if (IsZero(scale.alpha)) return kSuccess;
  }
  return Solve(system, 0, side == kLeft ? m : n);
}

}  // namespace

#define TRSM(symbol, Int, T)                                                                                 \
  BLAS_EXPORT symbol(Handle* handle, int side, int fill, int op, int diagonal, Int m, Int n, const T* alpha, \
                     const T* a, Int lda, T* b, Int ldb) {                                                   \
    return Trsm<T>(handle, side, fill, op, diagonal, m, n, alpha, a, nullptr, lda, b, nullptr, ldb, 1);      \
  }
#define TRSM_BATCHED(symbol, Int, T)                                                                          \
  BLAS_EXPORT symbol(Handle* handle, int side, int fill, int op, int diagonal, Int m, Int n, const T* alpha,  \
                     const T* const* a, Int lda, T* const* b, Int ldb, Int batches) {                         \
    return Trsm<T>(handle, side, fill, op, diagonal, m, n, alpha, nullptr, a, lda, nullptr, b, ldb, batches); \
  }
#define FOR_TYPE(letter, T)                         \
  TRSM(cublas##letter##trsm_v2, int, T)             \
  TRSM(cublas##letter##trsm_v2_64, int64_t, T)      \
  TRSM_BATCHED(cublas##letter##trsmBatched, int, T) \
  TRSM_BATCHED(cublas##letter##trsmBatched_64, int64_t, T)
FOR_TYPE(S, float)
FOR_TYPE(D, double)
FOR_TYPE(C, ComplexFloat)
FOR_TYPE(Z, ComplexDouble)

}  // namespace tutti::blas
