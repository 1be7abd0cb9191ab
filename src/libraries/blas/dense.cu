// What is done to matrices by their elements, and triangular systems of few rows.
#include "libraries/blas/element.cuh"

namespace tutti::blas {
namespace {

using T = ELEMENT;
using R = Traits<T>::Real;

__device__ __forceinline__ T Used(const Operand& x, int64_t row, int64_t column) {
  const T value = static_cast<const T*>(x.data)[x.transposed ? column + row * x.ld : row + column * x.ld];
  return x.conjugated ? Conjugate(value) : value;
}

__device__ __forceinline__ T InTriangle(const Operand& x, const T* data, int row, int column) {
  const int r = x.transposed ? column : row, c = x.transposed ? row : column;
  if (r == c ? x.unit_diagonal : (r > c) != (x.part == Part::kLower)) return r == c ? Make<T>(1, 0) : Zero<T>();
  const T value = data[r + c * x.ld];
  return x.conjugated ? Conjugate(value) : value;
}

}  // namespace

extern "C" __global__ void geam(ElementwiseTask task) {
  const T alpha = Value<T>(task.alpha), beta = Value<T>(task.beta);
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= task.m) return;
  for (int64_t column = blockIdx.y; column < task.n; column += gridDim.y) {
    T sum = Zero<T>();
    if (!IsZero(alpha)) sum = Multiply(alpha, Used(task.a, row, column));
    if (!IsZero(beta)) sum = MultiplyAdd(beta, Used(task.b, row, column), sum);
    static_cast<T*>(task.c.data)[row + column * task.c.ld] = sum;
  }
}

extern "C" __global__ void dgmm(ElementwiseTask task) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= task.m) return;
  const int64_t length = task.left ? task.m : task.n;
  const T* const x = static_cast<const T*>(task.x) + (task.x_step < 0 ? (1 - length) * task.x_step : 0);
  for (int64_t column = blockIdx.y; column < task.n; column += gridDim.y) {
    static_cast<T*>(task.c.data)[row + column * task.c.ld] =
        Multiply(Used(task.a, row, column), x[(task.left ? row : column) * task.x_step]);
  }
}

// B = alpha B.
extern "C" __global__ void scale_matrix(ElementwiseTask task, int64_t batches) {
  const T alpha = Value<T>(task.alpha);
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= task.m) return;
  for (int64_t batch = blockIdx.z; batch < batches; batch += gridDim.z) {
    T* const c = task.c.array != nullptr ? static_cast<T*>(task.c.array[batch]) : static_cast<T*>(task.c.data);
    for (int64_t column = blockIdx.y; column < task.n; column += gridDim.y) {
      T& place = c[row + column * task.c.ld];
      place = IsZero(alpha) ? Zero<T>() : Multiply(alpha, place);
    }
  }
}

// A thread solves for one right side, whose elements it holds; the triangle is shared.
extern "C" __global__ void solve_block(SolveTask task) {
  if (IsZero(Value<T>(task.whole))) return;
  __shared__ __attribute__((aligned(16))) unsigned char room[kSolveRows * kSolveRows * sizeof(T)];
  T* const triangle = reinterpret_cast<T*>(room);
  const int n = static_cast<int>(task.rows);
  const bool downwards = (task.a.part == Part::kLower) != task.a.transposed;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t batch = blockIdx.z; batch < task.batches; batch += gridDim.z) {
    const T* const a = (task.a.array != nullptr ? static_cast<const T*>(task.a.array[batch])
                                                : static_cast<const T*>(task.a.data)) + task.a.offset;
    T* const b = (task.b.array != nullptr ? static_cast<T*>(task.b.array[batch]) : static_cast<T*>(task.b.data)) +
                 task.b.offset;
    for (int i = threadIdx.x; i < kSolveRows * kSolveRows; i += blockDim.x) {
      const int row = i % kSolveRows, c = i / kSolveRows;
      if (row < n && c < n) triangle[i] = InTriangle(task.a, a, row, c);
    }
    __syncthreads();
    if (column < task.columns) {
      T x[kSolveRows];
      T* const mine = b + column * task.column_step;
      for (int i = 0; i < n; ++i) x[i] = mine[i * task.row_step];
      for (int k = 0; k < n; ++k) {
        const int i = downwards ? k : n - 1 - k;
        if (!task.a.unit_diagonal) x[i] = Divide(x[i], triangle[i * (kSolveRows + 1)]);
        const T minus = Negate(x[i]);
        const int first = downwards ? i + 1 : 0, end = downwards ? n : i;
        for (int j = first; j < end; ++j) x[j] = MultiplyAdd(triangle[j + i * kSolveRows], minus, x[j]);
      }
      for (int i = 0; i < n; ++i) mine[i * task.row_step] = x[i];
    }
    __syncthreads();
  }
}

}  // namespace tutti::blas
