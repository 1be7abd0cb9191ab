// Level 1: vectors. Where both are contiguous, lanes read and write them so.
#include "libraries/blas/element.cuh"

namespace tutti::blas {
namespace {

using T = ELEMENT;
using R = Traits<T>::Real;

__device__ __forceinline__ int64_t First() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int64_t Threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// Calls work(x element, y element) for each, contiguous or not.
template <typename Work>
__device__ __forceinline__ void ForEach(const VectorTask& task, Work work) {
  T *const x = static_cast<T*>(task.x), *const y = static_cast<T*>(task.y);
  if (task.x_step == 1 && task.y_step == 1) {
    for (int64_t i = First(); i < task.n; i += Threads()) work(i, x + i, y + i);
  } else {
    for (int64_t i = First(); i < task.n; i += Threads()) work(i, x + i * task.x_step, y + i * task.y_step);
  }
}

// What a reduction adds up. Large and small numbers apart, so that squares neither overflow nor vanish (Blue 1978).
struct Squares {
  double middle, large, small;
};
constexpr double kLarge = 1e140, kSmall = 1e-140;  // what is beyond them is scaled before it is squared
constexpr double kDown = 1e-200, kUp = 1e180;

__device__ __forceinline__ void AddSquare(Squares& sum, R value) {
  const double v = __builtin_fabs(static_cast<double>(value));
  if (sizeof(R) == 4) {
    sum.middle = fma(v, v, sum.middle);
    return;
  }
  const bool large = v > kLarge, small = v < kSmall;
  const double down = large ? v * kDown : 0, up = small ? v * kUp : 0;
  const double plain = large || small ? 0 : v;
  sum.middle = fma(plain, plain, sum.middle);
  sum.large = fma(down, down, sum.large);
  sum.small = fma(up, up, sum.small);
}
__device__ __forceinline__ double Norm(const Squares& sum) {
  if (sum.large > 0) return __builtin_sqrt(sum.large + sum.middle * kDown * kDown) / kDown;
  if (sum.middle > 0 || sum.middle != sum.middle) return __builtin_sqrt(sum.middle + sum.small / kUp / kUp);
  return __builtin_sqrt(sum.small) / kUp;
}

struct Extreme {
  R value;
  int64_t index;  // from 1; 0: none
};

template <typename V>
__device__ __forceinline__ V Combine(V a, V b) {
  return Add(a, b);
}
__device__ __forceinline__ Squares Combine(Squares a, Squares b) {
  return {a.middle + b.middle, a.large + b.large, a.small + b.small};
}
template <bool kMost>
struct ExtremeOf : Extreme {};
template <bool kMost>
__device__ __forceinline__ ExtremeOf<kMost> Combine(ExtremeOf<kMost> a, ExtremeOf<kMost> b) {
  if (a.index == 0) return b;
  if (b.index == 0) return a;
  const bool better = kMost ? b.value > a.value : b.value < a.value;
  return better || (b.value == a.value && b.index < a.index) ? b : a;
}

constexpr int kMostThreads = 256;

// Over a block; the result is thread 0's.
template <typename V>
__device__ __forceinline__ V Reduce(V mine) {
  __shared__ __attribute__((aligned(16))) unsigned char room[kMostThreads * sizeof(V)];
  V* const values = reinterpret_cast<V*>(room);
  const int t = threadIdx.x;
  values[t] = mine;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) values[t] = Combine(values[t], values[t + half]);
  }
  return values[0];
}

// Each block leaves its part in `partial`; with one block, and in the second step, the whole goes to `finish`.
template <typename V, typename Take, typename Finish>
__device__ __forceinline__ void ReduceAll(const VectorTask& task, V zero, Take take, Finish finish) {
  V sum = zero;
  ForEach(task, [&](int64_t i, const T* x, const T* y) { take(sum, i, x, y); });
  sum = Reduce(sum);
  if (threadIdx.x != 0) return;
  if (task.partial != nullptr)
    static_cast<V*>(task.partial)[blockIdx.x] = sum;
  else
    finish(sum);
}
template <typename V, typename Finish>
__device__ __forceinline__ void ReducePartial(const VectorTask& task, V zero, Finish finish) {
  V sum = zero;
  for (int64_t i = threadIdx.x; i < task.n; i += blockDim.x) sum = Combine(sum, static_cast<V*>(task.partial)[i]);
  sum = Reduce(sum);
  if (threadIdx.x == 0) finish(sum);
}

template <bool kMost>
__device__ __forceinline__ void TakeExtreme(ExtremeOf<kMost>& best, int64_t i, const T* x, const T*) {
  ExtremeOf<kMost> mine;
  mine.value = Magnitude(*x);
  mine.index = i + 1;
  best = Combine(best, mine);
}
__device__ __forceinline__ void TakeDot(bool conjugated, T& sum, const T* x, const T* y) {
  sum = MultiplyAdd(conjugated ? Conjugate(*x) : *x, *y, sum);
}
template <typename U>
__device__ __forceinline__ void TakeSquare(Squares& sum, const U* x) {
  if constexpr (Traits<U>::kComplex) {
    AddSquare(sum, x->re);
    AddSquare(sum, x->im);
  } else {
    AddSquare(sum, *x);
  }
}

}  // namespace

#define FINISH(type, value) [&](auto sum) { *static_cast<type*>(task.result) = (value); }
#define REDUCTION(name, V, zero, take, type, value)                                                                 \
  extern "C" __global__ void name(VectorTask task) {                                                                \
    ReduceAll<V>(task, zero, [&](V & sum, int64_t i, const T* x, const T* y) { (void)i, (void)y, take; },           \
                 FINISH(type, value));                                                                              \
  }                                                                                                                 \
  extern "C" __global__ void name##_rest(VectorTask task) { ReducePartial<V>(task, zero, FINISH(type, value)); }
REDUCTION(dot, T, Zero<T>(), TakeDot(task.conjugated, sum, x, y), T, sum)
REDUCTION(asum, double, 0.0, sum += static_cast<double>(Magnitude(*x)), R, static_cast<R>(sum))
REDUCTION(nrm2, Squares, (Squares{0, 0, 0}), TakeSquare(sum, x), R, static_cast<R>(Norm(sum)))
REDUCTION(amax, ExtremeOf<true>, ExtremeOf<true>{}, TakeExtreme(sum, i, x, y), int64_t, sum.index)
REDUCTION(amin, ExtremeOf<false>, ExtremeOf<false>{}, TakeExtreme(sum, i, x, y), int64_t, sum.index)
// The index as programs with 32 bits take it.
extern "C" __global__ void narrow_index(const int64_t* from, int32_t* to) { *to = static_cast<int32_t>(*from); }

extern "C" __global__ void axpy(VectorTask task) {
  const T alpha = Value<T>(task.alpha);
  if (IsZero(alpha)) return;  // the function sees it only in memory of the host
  ForEach(task, [&](int64_t, const T* x, T* y) { *y = MultiplyAdd(alpha, *x, *y); });
}
extern "C" __global__ void copy(VectorTask task) {
  ForEach(task, [&](int64_t, const T* x, T* y) { *y = *x; });
}
extern "C" __global__ void swap(VectorTask task) {
  ForEach(task, [&](int64_t, T* x, T* y) {
    const T other = *x;
    *x = *y;
    *y = other;
  });
}
extern "C" __global__ void scal(VectorTask task) {
  const T alpha = Value<T>(task.alpha);
  ForEach(task, [&](int64_t, T* x, T*) { *x = Multiply(alpha, *x); });
}
// x, y = c x + s y, c y - conj(s) x, with a real c.
extern "C" __global__ void rot(VectorTask task) {
  const T c = Value<T>(task.alpha), s = Value<T>(task.beta), minus = Negate(Conjugate(s));
  ForEach(task, [&](int64_t, T* x, T* y) {
    const T a = *x, b = *y;
    *x = MultiplyAdd(s, b, Multiply(c, a));
    *y = MultiplyAdd(minus, a, Multiply(c, b));
  });
}
// A modified rotation: the flag, and the matrix by columns.
extern "C" __global__ void rotm(VectorTask task, R flag, R h11, R h21, R h12, R h22) {
  if (const R* const p = static_cast<const R*>(task.parameters); p != nullptr)
    flag = p[0], h11 = p[1], h21 = p[2], h12 = p[3], h22 = p[4];
  if (flag == -2) return;
  if (flag == 0) h11 = 1, h22 = 1;
  if (flag == 1) h12 = 1, h21 = -1;
  const T a = Make<T>(h11, 0), b = Make<T>(h21, 0), c = Make<T>(h12, 0), d = Make<T>(h22, 0);
  ForEach(task, [&](int64_t, T* x, T* y) {
    const T u = *x, v = *y;
    *x = MultiplyAdd(c, v, Multiply(a, u));
    *y = MultiplyAdd(d, v, Multiply(b, u));
  });
}

}  // namespace tutti::blas
