// Products of matrices, and all that is made of them: GEMM, SYMM, HEMM, SYRK, HERK, SYR2K, TRMM, updates in TRSM.
//
// One warp is 32 lanes of a vector. A block makes a tile of kGemmColumns columns and as many rows as it has threads, each
// thread one row. A piece of both operands, kDepth deep, is copied to shared memory first: there its elements have the type
// that is computed with, operands are as if they had not been transposed, and what lies outside is zero. So how an operand
// is stored concerns the copying alone.
//
// In the inner loop a thread holds kTogether sums: an element of A, which is one load for all lanes, is used for each of
// them. Those of B are the same for all lanes, and read 16 bytes at a time since each read has a check of its own. More
// sums than that, and the compiler keeps them in memory; a deeper piece does not fit into the first-level cache.
#include "libraries/blas/element.cuh"

namespace tutti::blas {
namespace {

template <typename T>
constexpr int kDepth = 128 / sizeof(T);
template <typename T>
constexpr int kAtATime = 16 / sizeof(T);
template <typename T>
constexpr int kTogether = 32 / sizeof(T);
// How the piece of B lies in shared memory: 16 bytes that are read together are of a row, and of one element of A; or of a
// column, for types of which fewer fit into them.
template <typename T>
constexpr bool kByRows = sizeof(T) == 4;

#define SHARED_ADDRESS(pointer) \
  static_cast<unsigned>(reinterpret_cast<uintptr_t>((__attribute__((address_space(3))) void*)(pointer)))

__device__ __forceinline__ void Load16(const float* from, float (&to)[4]) {
  asm("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
      : "r"(SHARED_ADDRESS(from))
      : "memory");
}
__device__ __forceinline__ void Load16(const double* from, double (&to)[2]) {
  asm("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(to[0]), "=d"(to[1]) : "r"(SHARED_ADDRESS(from)) : "memory");
}
__device__ __forceinline__ void Load16(const int32_t* from, int32_t (&to)[4]) {
  asm("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
      : "r"(SHARED_ADDRESS(from))
      : "memory");
}
__device__ __forceinline__ void Load16(const Complex<float>* from, Complex<float> (&to)[2]) {
  asm("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(to[0].re), "=f"(to[0].im), "=f"(to[1].re), "=f"(to[1].im)
      : "r"(SHARED_ADDRESS(from))
      : "memory");
}
__device__ __forceinline__ void Load16(const Complex<double>* from, Complex<double> (&to)[1]) {
  asm("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(to[0].re), "=d"(to[0].im) : "r"(SHARED_ADDRESS(from)) : "memory");
}

__device__ __forceinline__ const void* DataOf(const Operand& operand, int64_t batch) {
  return operand.array != nullptr ? operand.array[batch] : operand.data;
}
__device__ __forceinline__ int64_t StartOf(const Operand& operand, int64_t batch) {
  return operand.offset + (operand.array != nullptr ? 0 : batch * operand.stride);
}

// Element (row, column) of a matrix of which only a part is stored.
template <typename T>
__device__ T Shaped(const Operand& x, const void* data, int64_t start, int64_t row, int64_t column) {
  if (x.transposed) {
    const int64_t other = row;
    row = column;
    column = other;
  }
  const bool stored = x.part == Part::kFull || row == column || (row > column) == (x.part == Part::kLower);
  if (x.shape == Shape::kTriangular) {
    if (!stored) return Zero<T>();
    if (row == column && x.unit_diagonal) return Make<T>(1, 0);
  }
  T value = LoadAs<T>(data, start + (stored ? row + column * x.ld : column + row * x.ld), x.type);
  if (x.shape == Shape::kHermitian) {
    if (!stored) value = Conjugate(value);
    if (row == column) value = RealPart(value);
  }
  return x.conjugated ? Conjugate(value) : value;
}

// Copies a rectangle of what is stored, from (down, across). Columns of it are contiguous, so lanes go down.
// Which element a thread takes in each round is a constant and the thread's own number: then lanes are seen to be neighbours.
template <typename T, Type kType, int kThreads, int kHeight, int kWidth>
__device__ __forceinline__ void CopyRectangle(const Operand& x, const void* data, int64_t start, int64_t down,
                                              int64_t down_end, int64_t across, int64_t across_end, T* to, int to_down,
                                              int to_across) {
  const int t = threadIdx.x;
  constexpr int kTall = kHeight % kThreads == 0 ? kHeight / kThreads : 0;  // rounds of a column, if it takes some
  constexpr int kFlat = kThreads % kHeight == 0 ? kThreads / kHeight : 0;  // columns of a round
#pragma unroll 4
  for (int round = 0; round < (kHeight * kWidth + kThreads - 1) / kThreads; ++round) {
    int d, c;
    if constexpr (kTall > 0) {
      d = t + round % kTall * kThreads;
      c = round / kTall;
    } else if constexpr (kFlat > 0) {
      d = t % kHeight;
      c = t / kHeight + round * kFlat;
    } else {
      d = (t + round * kThreads) % kHeight;
      c = (t + round * kThreads) / kHeight;
    }
    if (kHeight * kWidth % kThreads != 0 && c >= kWidth) continue;
    T value = Zero<T>();
    if (down + d < down_end && across + c < across_end)
      value = LoadAs<T>(data, start + down + d + (across + c) * x.ld, kType);
    to[d * to_down + c * to_across] = x.conjugated ? Conjugate(value) : value;
  }
}

template <typename T, Type kType, int kThreads, int kHeight, int kWidth>
__device__ __forceinline__ void CopyGeneral(const Operand& x, const void* data, int64_t start, int64_t row,
                                            int64_t rows, int64_t column, int64_t columns, T* to, int to_row,
                                            int to_column) {
  if (x.transposed)
    CopyRectangle<T, kType, kThreads, kWidth, kHeight>(x, data, start, column, columns, row, rows, to, to_column, to_row);
  else
    CopyRectangle<T, kType, kThreads, kHeight, kWidth>(x, data, start, row, rows, column, columns, to, to_row, to_column);
}

// Copies kHeight x kWidth elements of `x` as it is used, from (row, column); outside of rows x columns they are zero.
// Element (i, j) goes to to[i * to_row + j * to_column].
template <typename T, int kThreads, int kHeight, int kWidth>
__device__ __forceinline__ void Copy(const Operand& x, const void* data, int64_t start, int64_t row, int64_t rows,
                                     int64_t column, int64_t columns, T* to, int to_row, int to_column) {
  if (x.shape != Shape::kGeneral) {
    for (int i = threadIdx.x; i < kHeight * kWidth; i += blockDim.x) {
      const int r = i % kHeight, c = i / kHeight;
      const bool inside = row + r < rows && column + c < columns;
      to[r * to_row + c * to_column] = inside ? Shaped<T>(x, data, start, row + r, column + c) : Zero<T>();
    }
    return;
  }
#define COPY(type) \
  CopyGeneral<T, type, kThreads, kHeight, kWidth>(x, data, start, row, rows, column, columns, to, to_row, to_column)
  if constexpr (sizeof(T) > 4) {
    COPY(Type::kF64);
  } else if constexpr (Traits<T>::kFraction) {
    switch (x.type) {
      case Type::kF16: COPY(Type::kF16); return;
      case Type::kBF16: COPY(Type::kBF16); return;
      case Type::kS8: COPY(Type::kS8); return;
      default: COPY(Type::kF32); return;
    }
  } else {
    COPY(Type::kS8);
  }
#undef COPY
}

__device__ __forceinline__ float Gelu(float x) {
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), and tanh by one exponential.
  const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  const float power = __builtin_fabsf(inner) < 10 ? __nvvm_ex2_approx_f(2.885390082f * inner) : 0;
  const float tanh = inner >= 10 ? 1 : inner <= -10 ? -1 : 1 - 2 / (power + 1);
  return 0.5f * x * (1 + tanh);
}

// One element of the result.
template <typename T>
__device__ __forceinline__ void Finish(const GemmTask& task, int64_t batch, T alpha, T beta, T sum, int64_t row,
                                       int64_t column) {
  if (task.d.part != Part::kFull && row != column && (row > column) != (task.d.part == Part::kLower)) return;
  T value = Multiply(alpha, sum);
  if (!IsZero(beta))
    value = MultiplyAdd(beta,
                        LoadAs<T>(DataOf(task.c, batch), StartOf(task.c, batch) + row + column * task.c.ld, task.c.type),
                        value);
  if (task.real_diagonal && row == column) value = RealPart(value);
  if constexpr (!Traits<T>::kComplex && Traits<T>::kFraction) {
    if (task.bias != nullptr)
      value += LoadAs<T>(task.bias, batch * task.bias_stride + (task.bias_by_column ? column : row), task.bias_type);
    if (task.activation == Activation::kGelu) {
      if (task.aux != nullptr)
        StoreAs<T>(task.aux, batch * task.aux_stride + row + column * task.aux_ld, task.aux_type, value);
      value = static_cast<T>(Gelu(static_cast<float>(value)));
    } else if (task.activation == Activation::kRelu) {
      value = value > 0 ? value : value == value ? 0 : value;
    }
    if (task.d_scale != nullptr) value *= *task.d_scale;
  }
  StoreAs<T>(task.d.array != nullptr ? task.d.array[batch] : task.d.data,
             task.d.offset + (task.d.array != nullptr ? 0 : batch * task.d.stride) + row + column * task.d.ld,
             task.d.type, value);
}

template <typename T, int kRows>
__device__ __forceinline__ void Product(const GemmTask& task, int64_t batch, int64_t row0, int64_t column0,
                                        T (&a_piece)[kDepth<T> * kRows],
                                        T (&b_piece)[kDepth<T> * kGemmColumns]) {
  const int t = threadIdx.x;
  const int columns =
      task.n - column0 < kGemmColumns ? static_cast<int>(task.n - column0) : static_cast<int>(kGemmColumns);
  const void *const a = DataOf(task.a, batch), *const b = DataOf(task.b, batch);
  const int64_t a_start = StartOf(task.a, batch), b_start = StartOf(task.b, batch);
  T alpha = Value<T>(task.alpha), beta = Value<T>(task.beta);
  T sums[kGemmColumns];
  for (int j = 0; j < kGemmColumns; ++j) sums[j] = Zero<T>();
  const int64_t k = IsZero(alpha) ? 0 : task.k;  // then BLAS reads neither A nor B
  for (int64_t depth = 0; depth < k; depth += kDepth<T>) {
    Copy<T, kRows, kRows, kDepth<T>>(task.a, a, a_start, row0, task.m, depth, task.k, a_piece, 1, kRows);
    Copy<T, kRows, kDepth<T>, kGemmColumns>(task.b, b, b_start, depth, task.k, column0, task.n, b_piece,
                                     kByRows<T> ? kGemmColumns : 1, kByRows<T> ? 1 : kDepth<T>);
    __syncthreads();
#pragma unroll
    for (int first = 0; first < kGemmColumns; first += kTogether<T>) {
      if (first >= columns) break;
      T sum[kTogether<T>];
#pragma unroll
      for (int j = 0; j < kTogether<T>; ++j) sum[j] = sums[first + j];
      if constexpr (kByRows<T>) {
#pragma unroll 2
        for (int p = 0; p < kDepth<T>; ++p) {
          const T x = a_piece[p * kRows + t];
#pragma unroll
          for (int j = 0; j < kTogether<T>; j += kAtATime<T>) {
            T y[kAtATime<T>];
            Load16(&b_piece[p * kGemmColumns + first + j], y);
#pragma unroll
            for (int i = 0; i < kAtATime<T>; ++i) sum[j + i] = MultiplyAdd(x, y[i], sum[j + i]);
          }
        }
      } else {
#pragma unroll 1
        for (int p = 0; p < kDepth<T>; p += kAtATime<T>) {
          T x[kAtATime<T>];
#pragma unroll
          for (int i = 0; i < kAtATime<T>; ++i) x[i] = a_piece[(p + i) * kRows + t];
#pragma unroll
          for (int j = 0; j < kTogether<T>; ++j) {
            T y[kAtATime<T>];
            Load16(&b_piece[(first + j) * kDepth<T> + p], y);
#pragma unroll
            for (int i = 0; i < kAtATime<T>; ++i) sum[j] = MultiplyAdd(x[i], y[i], sum[j]);
          }
        }
      }
#pragma unroll
      for (int j = 0; j < kTogether<T>; ++j) sums[first + j] = sum[j];
    }
    __syncthreads();
  }
  if constexpr (!Traits<T>::kComplex && Traits<T>::kFraction) {
    if (task.a_scale != nullptr) alpha *= *task.a_scale;
    if (task.b_scale != nullptr) alpha *= *task.b_scale;
    if (task.c_scale != nullptr) beta *= *task.c_scale;
  }
  if (row0 + t < task.m) {
    for (int j = 0; j < columns; ++j) Finish<T>(task, batch, alpha, beta, sums[j], row0 + t, column0 + j);
  }
}

template <typename T, int kRows>
__device__ __forceinline__ void Gemm(const GemmTask& task) {
  __shared__ __attribute__((aligned(128))) T a_piece[kDepth<T> * kRows];
  __shared__ __attribute__((aligned(128))) T b_piece[kDepth<T> * kGemmColumns];
  for (int64_t batch = blockIdx.z; batch < task.batches; batch += gridDim.z) {
    for (int64_t column = static_cast<int64_t>(blockIdx.y) * kGemmColumns; column < task.n;
         column += static_cast<int64_t>(gridDim.y) * kGemmColumns)
      Product<T, kRows>(task, batch, static_cast<int64_t>(blockIdx.x) * kRows, column, a_piece, b_piece);
  }
}

}  // namespace

// With blocks of 128 and of 32 threads, for products with few rows.
extern "C" __global__ void gemm_wide(GemmTask task) { Gemm<ELEMENT, kGemmRows>(task); }
extern "C" __global__ void gemm_narrow(GemmTask task) { Gemm<ELEMENT, 32>(task); }

}  // namespace tutti::blas
