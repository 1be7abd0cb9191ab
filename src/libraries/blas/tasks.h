// What kernels of libcublas get: one structure each, by value. Shared by the device code (*.cu) and the functions that
// launch it. Addresses in them come from the program, as they would in a kernel of its own: the device checks each
// access.
#pragma once

#include <cstdint>

namespace tutti::blas {

// Types of elements in memory, as kernels tell them apart.
enum class Type : int32_t { kF32, kF64, kC32, kC64, kF16, kBF16, kS8, kS32, kU8, kE4M3, kE5M2 };

// A factor: a value from the host, or the place in device memory where it will be when the kernel runs.
struct Scalar {
  double re, im;
  const void* place;  // null: the value
  Type type;  // of what is at the place
  bool conjugated = false;
};

// The part of a matrix that is stored, or written.
enum class Part : int32_t { kFull, kLower, kUpper };
// What the rest of it is taken to be.
enum class Shape : int32_t { kGeneral, kSymmetric, kHermitian, kTriangular };
enum class Storage : int32_t { kDense, kBand, kPacked };

// A matrix of each batch, read as it is, transposed, or conjugated.
struct Operand {
  const void* data;  // of the first batch; null if there is an array
  const void* const* array;  // of each batch, in device memory
  int64_t offset;  // elements into each
  int64_t stride;  // elements from one batch to the next
  int64_t ld;
  Type type;
  Shape shape;
  Part part;
  bool transposed, conjugated, unit_diagonal;
};

struct Result {
  void* data;
  void* const* array;
  int64_t offset, stride, ld;
  Type type;
  Part part;
};

enum class Activation : int32_t { kNone, kRelu, kGelu };

// D = activation(alpha A B + beta C + bias), of m x n, for each batch.
struct GemmTask {
  int64_t m, n, k, batches;
  Operand a, b, c;
  Result d;
  Scalar alpha, beta;
  Scalar whole = {1, 0, nullptr, Type::kF64};  // 0: as if alpha were; of the solution that this is a part of
  const float *a_scale, *b_scale, *c_scale, *d_scale;  // further factors in device memory, or null
  const void* bias;  // one for each row, or column; null: none
  int64_t bias_stride;
  void* aux;  // what goes into the activation (GELU), or one bit of where it was positive (ReLU); null: not wanted
  int64_t aux_ld, aux_stride;
  Type bias_type, aux_type;
  Activation activation;
  bool bias_by_column, real_diagonal;
};
inline constexpr int kGemmRows = 128, kGemmColumns = 64;  // of a block's tile; blocks of 32 threads have 32 rows

// Level 1: n elements of x and y.
struct VectorTask {
  int64_t n;
  void *x, *y;
  int64_t x_step, y_step;
  Scalar alpha, beta;
  const void* parameters;  // rotm: five
  void* result;  // of reductions
  void* partial;  // of reductions by several blocks: one for each
  bool conjugated;
};

// A matrix of level 2, in any way of storing it.
struct MatrixView {
  const void* data;
  const void* const* array;  // of each batch, or null
  int64_t stride, ld, rows, columns, below, above;  // rows and columns as stored; diagonals of a band
  Storage storage;
  Shape shape;
  Part part;
  bool transposed, conjugated, unit_diagonal;
};

// y = alpha op(A) x + beta y; with a triangular shape in trmv x is a copy.
struct MatrixVectorTask {
  MatrixView a;
  const void* x;
  const void* const* x_array;
  void* y;
  void* const* y_array;
  int64_t x_step, y_step, x_stride, y_stride, batches;
  Scalar alpha, beta;
};

// A += alpha x y' (+ alpha' y x'): ger, syr, her, syr2, her2, dense or packed.
struct RankTask {
  void* a;
  int64_t ld, rows, columns;
  const void *x, *y;
  int64_t x_step, y_step;
  Scalar alpha;
  Storage storage;
  Part part;
  bool conjugated, two;  // the second vector is conjugated; the sum of both products
};

// X of op(A) X = B, in place; A of at most kSolveRows rows, of which `columns` right sides are solved at once. Elements
// of B are at row * row_step + column * column_step.
struct SolveTask {
  Operand a;
  Result b;
  int64_t rows, columns, batches, row_step, column_step;
  Scalar whole;  // 0: A is not read, B is zero already
};
inline constexpr int kSolveRows = 32;

// C = alpha op(A) + beta op(B), or A times a diagonal matrix.
struct ElementwiseTask {
  int64_t m, n;
  Operand a, b;
  Result c;
  Scalar alpha, beta;
  const void* x;
  int64_t x_step;
  bool left;
};

// LU of batches of n x n matrices, in place; pivots may be null. inverse and right sides: getri, getrs.
struct FactorTask {
  int64_t n, batches, ld;
  void* const* a;
  int32_t* pivots;
  int32_t* info;
  void* const* out;
  int64_t out_ld, columns;
  bool transposed, conjugated;
};

}  // namespace tutti::blas
