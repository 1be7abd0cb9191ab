// Level 2: matrices and vectors. Dense matrices are read along their columns; all others, which are stored as a band, a
// triangle, or half of what they mean, element by element.
#include "libraries/blas/element.cuh"

namespace tutti::blas {
namespace {

using T = ELEMENT;
using R = Traits<T>::Real;

// Place of a stored element, or -1.
__device__ __forceinline__ int64_t PlaceOf(const MatrixView& a, int64_t row, int64_t column) {
  switch (a.storage) {
    case Storage::kDense: return row + column * a.ld;
    case Storage::kBand:
      if (row - column > a.below || column - row > a.above) return -1;
      return a.above + row - column + column * a.ld;
    case Storage::kPacked:
      return a.part == Part::kLower ? row + column * (2 * a.rows - column - 1) / 2 : row + column * (column + 1) / 2;
  }
  return -1;
}

// Element (row, column) of the matrix as it is used.
__device__ T At(const MatrixView& a, const T* data, int64_t row, int64_t column) {
  if (a.transposed) {
    const int64_t other = row;
    row = column;
    column = other;
  }
  T value = Zero<T>();
  if (a.shape == Shape::kGeneral) {
    const int64_t place = PlaceOf(a, row, column);
    if (place >= 0) value = data[place];
  } else {
    const bool stored = row == column || (row > column) == (a.part == Part::kLower);
    if (a.shape == Shape::kTriangular) {
      if (!stored) return Zero<T>();
      if (row == column && a.unit_diagonal) return Make<T>(1, 0);
    }
    const int64_t place = stored ? PlaceOf(a, row, column) : PlaceOf(a, column, row);
    if (place >= 0) value = data[place];
    if (a.shape == Shape::kHermitian) {
      if (!stored) value = Conjugate(value);
      if (row == column) value = RealPart(value);
    }
  }
  return a.conjugated ? Conjugate(value) : value;
}

struct Batch {
  const T *a, *x;
  T* y;
};
__device__ __forceinline__ Batch BatchOf(const MatrixVectorTask& task, int64_t i) {
  return {task.a.array != nullptr ? static_cast<const T*>(task.a.array[i]) : static_cast<const T*>(task.a.data) + i * task.a.stride,
          task.x_array != nullptr ? static_cast<const T*>(task.x_array[i]) : static_cast<const T*>(task.x) + i * task.x_stride,
          task.y_array != nullptr ? static_cast<T*>(task.y_array[i]) : static_cast<T*>(task.y) + i * task.y_stride};
}

// How much of a row there is to multiply: with a factor of zero BLAS reads neither A nor x.
__device__ __forceinline__ int64_t Length(T alpha, int64_t elements) { return IsZero(alpha) ? 0 : elements; }

__device__ __forceinline__ void Put(const MatrixVectorTask& task, T alpha, T beta, T sum, T* y, int64_t steps, int64_t i) {
  // Vectors with a negative step begin at their end.
  T* const place = y + (task.y_step < 0 ? (1 - steps) * task.y_step : 0) + i * task.y_step;
  const T value = Multiply(alpha, sum);
  *place = IsZero(beta) ? value : MultiplyAdd(beta, *place, value);
}
__device__ __forceinline__ const T* Start(const T* x, int64_t step, int64_t n) {
  return step < 0 ? x + (1 - n) * step : x;
}

}  // namespace

// Dense, as it is: a thread for each row.
extern "C" __global__ void gemv_rows(MatrixVectorTask task) {
  const T alpha = Value<T>(task.alpha), beta = Value<T>(task.beta);
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t i = blockIdx.z; i < task.batches; i += gridDim.z) {
    const Batch batch = BatchOf(task, i);
    const T* const x = Start(batch.x, task.x_step, task.a.columns);
    if (row >= task.a.rows) continue;
    T sum = Zero<T>();
    const T* a = batch.a + row;
    const int64_t columns = Length(alpha, task.a.columns);
#pragma unroll 4
    for (int64_t j = 0; j < columns; ++j) {
      sum = MultiplyAdd(task.a.conjugated ? Conjugate(a[j * task.a.ld]) : a[j * task.a.ld], x[j * task.x_step], sum);
    }
    Put(task, alpha, beta, sum, batch.y, task.a.rows, row);
  }
}

// Dense, transposed: a warp for each column.
extern "C" __global__ void gemv_columns(MatrixVectorTask task) {
  const T alpha = Value<T>(task.alpha), beta = Value<T>(task.beta);
  const int lane = threadIdx.x % 32;
  const int64_t column = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  for (int64_t i = blockIdx.z; i < task.batches; i += gridDim.z) {
    const Batch batch = BatchOf(task, i);
    const T* const x = Start(batch.x, task.x_step, task.a.rows);
    if (column >= task.a.columns) continue;
    const T* const a = batch.a + column * task.a.ld;
    const int64_t rows = Length(alpha, task.a.rows);
    T sum = Zero<T>();
    if (task.x_step == 1) {
      for (int64_t j = lane; j < rows; j += 32)
        sum = MultiplyAdd(task.a.conjugated ? Conjugate(a[j]) : a[j], x[j], sum);
    } else {
      for (int64_t j = lane; j < rows; j += 32)
        sum = MultiplyAdd(task.a.conjugated ? Conjugate(a[j]) : a[j], x[j * task.x_step], sum);
    }
    sum = SumOfLanes(sum);
    if (lane == 0) Put(task, alpha, beta, sum, batch.y, task.a.columns, column);
  }
}

// Any other: a thread for each element of y.
extern "C" __global__ void any_matrix_vector(MatrixVectorTask task) {
  const T alpha = Value<T>(task.alpha), beta = Value<T>(task.beta);
  const MatrixView& a = task.a;
  const int64_t rows = a.transposed ? a.columns : a.rows, columns = a.transposed ? a.rows : a.columns;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const Batch batch = BatchOf(task, 0);
  const T* const x = Start(batch.x, task.x_step, columns);
  int64_t first = 0, end = Length(alpha, columns);
  if (a.storage == Storage::kBand) {
    const bool symmetric = a.shape == Shape::kSymmetric || a.shape == Shape::kHermitian;
    const int64_t widest = a.below > a.above ? a.below : a.above;
    const int64_t left = symmetric ? widest : a.transposed ? a.above : a.below;
    const int64_t right = symmetric ? widest : a.transposed ? a.below : a.above;
    first = row > left ? row - left : 0;
    if (row + right + 1 < end) end = row + right + 1;
  }
  T sum = Zero<T>();
  for (int64_t j = first; j < end; ++j) sum = MultiplyAdd(At(a, batch.a, row, j), x[j * task.x_step], sum);
  Put(task, alpha, beta, sum, batch.y, rows, row);
}

// op(A) x = b, in place, by one block: each element of x once all before it are known.
extern "C" __global__ void solve_vector(MatrixVectorTask task) {
  const MatrixView& a = task.a;
  const T* const data = static_cast<const T*>(a.data);
  const int64_t n = a.rows;
  T* const x = static_cast<T*>(task.y) + (task.y_step < 0 ? (1 - n) * task.y_step : 0);
  const bool downwards = (a.part == Part::kLower) != a.transposed;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = downwards ? k : n - 1 - k;
    if (!a.unit_diagonal && threadIdx.x == 0) x[i * task.y_step] = Divide(x[i * task.y_step], At(a, data, i, i));
    __syncthreads();
    const T minus = Negate(x[i * task.y_step]);
    int64_t rest = n - 1 - k;
    if (a.storage == Storage::kBand) {
      const int64_t band = a.below > a.above ? a.below : a.above;
      if (rest > band) rest = band;
    }
    for (int64_t j = threadIdx.x; j < rest; j += blockDim.x) {
      const int64_t row = downwards ? i + 1 + j : i - 1 - j;
      x[row * task.y_step] = MultiplyAdd(At(a, data, row, i), minus, x[row * task.y_step]);
    }
    __syncthreads();
  }
}

extern "C" __global__ void rank_update(RankTask task) {
  const T alpha = Value<T>(task.alpha);
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= task.rows || IsZero(alpha)) return;
  const T* const x = Start(static_cast<const T*>(task.x), task.x_step, task.rows);
  const T* const y = Start(static_cast<const T*>(task.y), task.y_step, task.columns);
  T* const a = static_cast<T*>(task.a);
  const T mine = Multiply(alpha, x[row * task.x_step]);
  // alpha x y' + conj(alpha) y x', where the second vectors are conjugated.
  T other = Zero<T>();
  if (task.two) other = Multiply(task.conjugated ? Conjugate(alpha) : alpha, y[row * task.y_step]);
  for (int64_t column = blockIdx.y; column < task.columns; column += gridDim.y) {
    if (task.part != Part::kFull && row != column && (row > column) != (task.part == Part::kLower)) continue;
    int64_t place = row + column * task.ld;
    if (task.storage == Storage::kPacked) {
      place = task.part == Part::kLower ? row + column * (2 * task.rows - column - 1) / 2
                                        : row + column * (column + 1) / 2;
    }
    const T second = y[column * task.y_step];
    T sum = MultiplyAdd(mine, task.conjugated ? Conjugate(second) : second, a[place]);
    if (task.two) {
      const T third = x[column * task.x_step];
      sum = MultiplyAdd(other, task.conjugated ? Conjugate(third) : third, sum);
    }
    if (task.part != Part::kFull && task.conjugated && row == column) sum = RealPart(sum);
    a[place] = sum;
  }
}

}  // namespace tutti::blas
