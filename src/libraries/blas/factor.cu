// LU factorisation of many small matrices, and what is done with the factors. A block works on one matrix.
#include "libraries/blas/element.cuh"

namespace tutti::blas {
namespace {

using T = ELEMENT;
using R = Traits<T>::Real;

__device__ __forceinline__ T Used(const FactorTask& task, T a) { return task.conjugated ? Conjugate(a) : a; }

// Solves with the lower or the upper factor, or their transposes, for the block's right sides: a thread for each.
__device__ void Solve(const FactorTask& task, const T* a, T* x, bool lower) {
  const int64_t n = task.n;
  const bool downwards = lower != task.transposed;
  for (int64_t column = threadIdx.x; column < task.columns; column += blockDim.x) {
    T* const mine = x + column * task.out_ld;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = downwards ? k : n - 1 - k;
      if (!lower) mine[i] = Divide(mine[i], Used(task, a[i + i * task.ld]));
      const T minus = Negate(mine[i]);
      const int64_t first = downwards ? i + 1 : 0, end = downwards ? n : i;
      for (int64_t j = first; j < end; ++j)
        mine[j] = MultiplyAdd(Used(task, task.transposed ? a[i + j * task.ld] : a[j + i * task.ld]), minus, mine[j]);
    }
  }
}

// A pivot as getrf wrote it, which counts from 1; one that is out of range would lead out of the column.
__device__ __forceinline__ int64_t Pivot(const int32_t* pivots, int64_t i, int64_t n) {
  const int64_t pivot = pivots[i] - 1;
  return pivot >= 0 && pivot < n ? pivot : i;
}

__device__ void Permute(const FactorTask& task, const int32_t* pivots, T* x, bool backwards) {
  for (int64_t column = threadIdx.x; column < task.columns; column += blockDim.x) {
    T* const mine = x + column * task.out_ld;
    for (int64_t k = 0; k < task.n; ++k) {
      const int64_t i = backwards ? task.n - 1 - k : k, pivot = Pivot(pivots, i, task.n);
      const T other = mine[i];
      mine[i] = mine[pivot];
      mine[pivot] = other;
    }
  }
}

}  // namespace

extern "C" __global__ void getrf(FactorTask task) {
  __shared__ int64_t chosen;
  __shared__ int failed;
  const int64_t n = task.n;
  for (int64_t batch = blockIdx.x; batch < task.batches; batch += gridDim.x) {
    T* const a = static_cast<T*>(task.a[batch]);
    if (threadIdx.x == 0) failed = 0;
    for (int64_t k = 0; k < n; ++k) {
      T* const column = a + k * task.ld;
      if (threadIdx.x == 0) {
        int64_t pivot = k;
        if (task.pivots != nullptr) {
          for (int64_t i = k + 1; i < n; ++i) {
            if (Magnitude(column[i]) > Magnitude(column[pivot])) pivot = i;
          }
          task.pivots[batch * n + k] = static_cast<int32_t>(pivot + 1);
        }
        chosen = pivot;
        if (IsZero(column[pivot]) && failed == 0) failed = static_cast<int>(k + 1);
      }
      __syncthreads();
      const int64_t pivot = chosen;
      if (pivot != k) {
        for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
          const T other = a[k + j * task.ld];
          a[k + j * task.ld] = a[pivot + j * task.ld];
          a[pivot + j * task.ld] = other;
        }
      }
      __syncthreads();
      const T diagonal = column[k];
      if (!IsZero(diagonal)) {
        for (int64_t i = k + 1 + threadIdx.x; i < n; i += blockDim.x) column[i] = Divide(column[i], diagonal);
      }
      __syncthreads();
      for (int64_t i = k + 1 + threadIdx.x; i < n; i += blockDim.x) {
        const T minus = Negate(column[i]);
        for (int64_t j = k + 1; j < n; ++j) a[i + j * task.ld] = MultiplyAdd(minus, a[k + j * task.ld], a[i + j * task.ld]);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0 && task.info != nullptr) task.info[batch] = failed;
    __syncthreads();
  }
}

extern "C" __global__ void getrs(FactorTask task) {
  for (int64_t batch = blockIdx.x; batch < task.batches; batch += gridDim.x) {
    const T* const a = static_cast<const T*>(task.a[batch]);
    T* const x = static_cast<T*>(task.out[batch]);
    const int32_t* const pivots = task.pivots != nullptr ? task.pivots + batch * task.n : nullptr;
    if (!task.transposed && pivots != nullptr) Permute(task, pivots, x, false);
    Solve(task, a, x, !task.transposed);
    Solve(task, a, x, task.transposed);
    if (task.transposed && pivots != nullptr) Permute(task, pivots, x, true);
  }
}

extern "C" __global__ void getri(FactorTask task) {
  const int64_t n = task.n;
  for (int64_t batch = blockIdx.x; batch < task.batches; batch += gridDim.x) {
    const T* const a = static_cast<const T*>(task.a[batch]);
    T* const x = static_cast<T*>(task.out[batch]);
    int singular = 0;
    for (int64_t i = n - 1; i >= 0; --i) {
      if (IsZero(a[i + i * task.ld])) singular = static_cast<int>(i + 1);
    }
    if (threadIdx.x == 0 && task.info != nullptr) task.info[batch] = singular;
    if (singular != 0) continue;
    for (int64_t column = threadIdx.x; column < n; column += blockDim.x) {
      for (int64_t i = 0; i < n; ++i) x[i + column * task.out_ld] = Make<T>(i == column ? 1 : 0, 0);
    }
    if (task.pivots != nullptr) Permute(task, task.pivots + batch * n, x, false);
    Solve(task, a, x, true);
    Solve(task, a, x, false);
  }
}

}  // namespace tutti::blas
