// Products of matrices, and all that is made of them: GEMM, SYMM, HEMM, SYRK, HERK, SYR2K, TRMM, updates in TRSM.
//
// One warp is 32 lanes of a vector. A block makes a tile of kGemmColumns columns and as many rows as it has threads, each
// thread one row. A piece of both operands, kDepth deep, is copied to shared memory first: there its elements have the type
// that is computed with, and what lies outside is zero. How an operand is stored concerns the copying, and the way in which
// B lies in its piece: by its columns where it is stored so, and by rows where it is transposed. Either way copying moves
// whole vectors, and an element of B, which all lanes use, costs the same wherever it lies. A is used by vectors, so a
// transposed one is gathered, 16 bytes of a line at a time.
//
// In the inner loop a thread holds kTogether sums: an element of A, which is one load for all lanes, is used for each of
// them. More sums than that, and the compiler keeps them in memory; a deeper piece does not fit into the first-level cache.
// Between the groups sums are in local memory, which is interleaved: vectors.
#include "libraries/blas/element.cuh"

namespace tutti::blas {
namespace {

template <typename T>
constexpr int kDepth = 128 / sizeof(T);
template <typename T>
constexpr int kAtATime = 16 / sizeof(T);
template <typename T>
constexpr int kTogether = 32 / sizeof(T);

template <Type kType>
struct TypeConstant {
  static constexpr Type value = kType;
};

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

__device__ __forceinline__ void LoadGlobal16(const float* from, float (&to)[4]) {
  asm("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(from));
}
__device__ __forceinline__ void LoadGlobal16(const double* from, double (&to)[2]) {
  asm("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(to[0]), "=d"(to[1]) : "l"(from));
}

// A field of the task. Without this the compiler makes one load of `field or what is elsewhere`, for which the task must
// have an address: a copy of it in local memory, where no array is interleaved then.
template <typename T>
__device__ __forceinline__ T* Field(T* field) {
  asm("" : "+l"(field));
  return field;
}
__device__ __forceinline__ const void* DataOf(const Operand& operand, int64_t batch) {
  const void* data = Field(operand.data);
  return operand.array != nullptr ? operand.array[batch] : data;
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

// Copies a rectangle of what is stored, kHeight of a column by kWidth columns, from (down, across), so that lanes write
// neighbours: down the columns where these stay columns, and across them where they become rows, since to gather costs
// less than to scatter. Which element a thread takes in each round is a constant and the thread's own number: then lanes
// are seen to be neighbours.
template <typename T, Type kType, int kThreads, int kHeight, int kWidth, int kToDown, int kToAcross>
__device__ __forceinline__ void CopyRectangle(const Operand& x, const void* data, int64_t start, int64_t down,
                                              int64_t down_end, int64_t across, int64_t across_end, T* to) {
  const int t = threadIdx.x;
  constexpr bool kLanesDown = kToDown == 1;
  constexpr int kLine = kLanesDown ? kHeight : kWidth;  // that lanes go along
  constexpr int kTall = kLine % kThreads == 0 ? kLine / kThreads : 0;  // rounds of a line, if it takes some
  constexpr int kFlat = kThreads / kLine;  // else lines of a round
  static_assert(kTall > 0 || kThreads % kLine == 0);
  // Lines that lanes go across, as they are stored: 16 bytes of each at a time.
  if constexpr (!kLanesDown && kWidth == kThreads && (kType == Type::kF32 || kType == Type::kF64) &&
                !Traits<T>::kComplex) {
    const T* lines = static_cast<const T*>(data) + start + down + across * x.ld;
    if (down + kHeight <= down_end && across + kWidth <= across_end && x.ld % kAtATime<T> == 0 &&
        reinterpret_cast<uintptr_t>(lines) % 16 == 0) {
#pragma unroll
      for (int d = 0; d < kHeight; d += kAtATime<T>) {
        T values[kAtATime<T>];
        LoadGlobal16(lines + t * x.ld + d, values);
#pragma unroll
        for (int i = 0; i < kAtATime<T>; ++i) to[(d + i) * kToDown + t * kToAcross] = values[i];
      }
      return;
    }
  }
#pragma unroll 4
  for (int round = 0; round < (kHeight * kWidth + kThreads - 1) / kThreads; ++round) {
    int along, line;
    if constexpr (kTall > 0) {
      along = t + round % kTall * kThreads;
      line = round / kTall;
    } else {
      along = t % kLine;
      line = t / kLine + round * kFlat;
    }
    const int d = kLanesDown ? along : line, c = kLanesDown ? line : along;
    if (kHeight * kWidth % kThreads != 0 && line >= kHeight * kWidth / kLine) continue;
    T value = Zero<T>();
    if (down + d < down_end && across + c < across_end)
      value = LoadAs<T>(data, start + down + d + (across + c) * x.ld, kType);
    to[d * kToDown + c * kToAcross] = x.conjugated ? Conjugate(value) : value;
  }
}

// Calls copy(constant of the type) for the type that elements of a general operand are stored with.
template <typename T, typename F>
__device__ __forceinline__ void ForType(Type type, F copy) {
  if constexpr (sizeof(T) > 4) {
    copy(TypeConstant<Type::kF64>());
  } else if constexpr (Traits<T>::kFraction) {
    switch (type) {
      case Type::kF16: copy(TypeConstant<Type::kF16>()); return;
      case Type::kBF16: copy(TypeConstant<Type::kBF16>()); return;
      case Type::kS8: copy(TypeConstant<Type::kS8>()); return;
      default: copy(TypeConstant<Type::kF32>()); return;
    }
  } else {
    copy(TypeConstant<Type::kS8>());
  }
}

// Copies kHeight x kWidth elements of `x` as it is used, from (row, column); outside of rows x columns they are zero.
// Element (i, j) goes to to[i * kToRow + j * kToColumn], or where it is stored across, to[i * kAcrossRow + j * kAcrossColumn].
template <typename T, int kThreads, int kHeight, int kWidth, int kToRow, int kToColumn, int kAcrossRow,
          int kAcrossColumn>
__device__ __forceinline__ void Copy(const Operand& x, const void* data, int64_t start, int64_t row, int64_t rows,
                                     int64_t column, int64_t columns, T* to) {
  if (x.shape != Shape::kGeneral) {
    for (int i = threadIdx.x; i < kHeight * kWidth; i += blockDim.x) {
      const int r = i % kHeight, c = i / kHeight;
      const bool inside = row + r < rows && column + c < columns;
      const int place = x.transposed ? r * kAcrossRow + c * kAcrossColumn : r * kToRow + c * kToColumn;
      to[place] = inside ? Shaped<T>(x, data, start, row + r, column + c) : Zero<T>();
    }
    return;
  }
  ForType<T>(x.type, [&](auto type) {
    if (x.transposed)
      CopyRectangle<T, decltype(type)::value, kThreads, kWidth, kHeight, kAcrossColumn, kAcrossRow>(
          x, data, start, column, columns, row, rows, to);
    else
      CopyRectangle<T, decltype(type)::value, kThreads, kHeight, kWidth, kToRow, kToColumn>(x, data, start, row, rows,
                                                                                            column, columns, to);
  });
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
    value = MultiplyAdd(
        beta, LoadAs<T>(DataOf(task.c, batch), StartOf(task.c, batch) + row + column * task.c.ld, task.c.type), value);
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
  void* data = Field(task.d.data);
  StoreAs<T>(task.d.array != nullptr ? task.d.array[batch] : data,
             task.d.offset + (task.d.array != nullptr ? 0 : batch * task.d.stride) + row + column * task.d.ld,
             task.d.type, value);
}

// Adds the products of both pieces to the thread's sums, of which the first `columns` are of use.
template <typename T, int kRows, bool kByColumn>
__device__ __forceinline__ void AddProducts(const T (&a_piece)[kDepth<T> * kRows],
                                            const T (&b_piece)[kDepth<T> * kGemmColumns], int columns,
                                            T (&sums)[kGemmColumns]) {
#pragma unroll
  for (int first = 0; first < kGemmColumns; first += kTogether<T>) {
    if (first >= columns) break;
    T sum[kTogether<T>];
#pragma unroll
    for (int j = 0; j < kTogether<T>; ++j) sum[j] = sums[first + j];
#pragma unroll 1  // of two steps all would be loaded before the first is used: more than there are registers
    for (int p = 0; p < kDepth<T>; ++p) {
      const T x = a_piece[p * kRows + threadIdx.x];
      if constexpr (kByColumn) {
#pragma unroll
        for (int j = 0; j < kTogether<T>; ++j) sum[j] = MultiplyAdd(x, b_piece[(first + j) * kDepth<T> + p], sum[j]);
      } else {
#pragma unroll
        for (int j = 0; j < kTogether<T>; j += kAtATime<T>) {
          T y[kAtATime<T>];
          Load16(&b_piece[p * kGemmColumns + first + j], y);
#pragma unroll
          for (int i = 0; i < kAtATime<T>; ++i) sum[j + i] = MultiplyAdd(x, y[i], sum[j + i]);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kTogether<T>; ++j) sums[first + j] = sum[j];
  }
}

template <typename T, int kRows>
__device__ __forceinline__ void Product(const GemmTask& task, int64_t batch, int64_t row0, int64_t column0,
                                        T (&a_piece)[kDepth<T> * kRows], T (&b_piece)[kDepth<T> * kGemmColumns]) {
  const int t = threadIdx.x;
  const int columns =
      task.n - column0 < kGemmColumns ? static_cast<int>(task.n - column0) : static_cast<int>(kGemmColumns);
  const void *const a = DataOf(task.a, batch), *const b = DataOf(task.b, batch);
  const int64_t a_start = StartOf(task.a, batch), b_start = StartOf(task.b, batch);
  T alpha = Value<T>(task.alpha), beta = Value<T>(task.beta);
  T sums[kGemmColumns];
  int nothing;
  asm("mov.b32 %0, 0;" : "=r"(nothing));  // a constant would make a memset, which clang writes as a loop over bytes
  for (int j = 0; j < kGemmColumns; ++j) sums[j] = Make<T>(nothing, 0);
  // If alpha is zero, BLAS reads neither A nor B.
  const int64_t k = IsZero(alpha) || IsZero(Value<T>(task.whole)) ? 0 : task.k;
  for (int64_t depth = 0; depth < k; depth += kDepth<T>) {
    Copy<T, kRows, kRows, kDepth<T>, 1, kRows, 1, kRows>(task.a, a, a_start, row0, task.m, depth, task.k, a_piece);
    Copy<T, kRows, kDepth<T>, kGemmColumns, 1, kDepth<T>, kGemmColumns, 1>(task.b, b, b_start, depth, task.k, column0,
                                                                           task.n, b_piece);
    __syncthreads();
    if (task.b.transposed)
      AddProducts<T, kRows, false>(a_piece, b_piece, columns, sums);
    else
      AddProducts<T, kRows, true>(a_piece, b_piece, columns, sums);
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
