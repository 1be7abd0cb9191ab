// sm_80
// Matrix products of the `matrix` benchmark by warp matrix instructions, as they are usually written: a block of four
// warps makes 64 x 64 results, along K in steps of 32 that it stages in shared memory; each warp makes 32 x 32.
// A, B and C are row-major and square; C has the accumulator's type.

// One product of fragments: kM x kN x kK.
struct Halves {
  using Element = unsigned short;
  using Sum = float;
  static constexpr int kM = 16, kN = 16, kK = 16;
  struct Factor { int registers[8]; };
  struct Sums { float registers[8]; };
  static __device__ void LoadA(Factor& f, const Element* at, int stride) { __hmma_m16n16k16_ld_a(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void LoadB(Factor& f, const Element* at, int stride) { __hmma_m16n16k16_ld_b(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void Multiply(Sums& d, const Factor& a, const Factor& b) { __hmma_m16n16k16_mma_f32f32(d.registers, a.registers, b.registers, d.registers, 0, 0); }
  static __device__ void Store(Sum* at, const Sums& d, int stride) { __hmma_m16n16k16_st_c_f32(at, d.registers, stride, 0); }
};
struct Brains {
  using Element = unsigned short;
  using Sum = float;
  static constexpr int kM = 16, kN = 16, kK = 16;
  struct Factor { int registers[4]; };
  struct Sums { float registers[8]; };
  static __device__ void LoadA(Factor& f, const Element* at, int stride) { __mma_bf16_m16n16k16_ld_a(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void LoadB(Factor& f, const Element* at, int stride) { __mma_bf16_m16n16k16_ld_b(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void Multiply(Sums& d, const Factor& a, const Factor& b) { __mma_bf16_m16n16k16_mma_f32(d.registers, a.registers, b.registers, d.registers, 0, 0); }
  static __device__ void Store(Sum* at, const Sums& d, int stride) { __hmma_m16n16k16_st_c_f32(at, d.registers, stride, 0); }
};
struct Tf32 {
  using Element = float;
  using Sum = float;
  static constexpr int kM = 16, kN = 16, kK = 8;
  struct Factor { int registers[4]; };
  struct Sums { float registers[8]; };
  static __device__ void LoadA(Factor& f, const Element* at, int stride) { __mma_tf32_m16n16k8_ld_a(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void LoadB(Factor& f, const Element* at, int stride) { __mma_tf32_m16n16k8_ld_b(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void Multiply(Sums& d, const Factor& a, const Factor& b) { __mma_tf32_m16n16k8_mma_f32(d.registers, a.registers, b.registers, d.registers, 0, 0); }
  static __device__ void Store(Sum* at, const Sums& d, int stride) { __mma_m16n16k8_st_c_f32(at, d.registers, stride, 0); }
};
struct Doubles {
  using Element = double;
  using Sum = double;
  static constexpr int kM = 8, kN = 8, kK = 4;
  struct Factor { double registers[1]; };
  struct Sums { double registers[2]; };
  static __device__ void LoadA(Factor& f, const Element* at, int stride) { __dmma_m8n8k4_ld_a(f.registers, at, stride, 0); }
  static __device__ void LoadB(Factor& f, const Element* at, int stride) { __dmma_m8n8k4_ld_b(f.registers, at, stride, 0); }
  static __device__ void Multiply(Sums& d, const Factor& a, const Factor& b) { __dmma_m8n8k4_mma_f64(d.registers, a.registers, b.registers, d.registers, 0, 0); }
  static __device__ void Store(Sum* at, const Sums& d, int stride) { __dmma_m8n8k4_st_c_f64(at, d.registers, stride, 0); }
};
struct Bytes {
  using Element = signed char;
  using Sum = int;
  static constexpr int kM = 16, kN = 16, kK = 16;
  struct Factor { int registers[2]; };
  struct Sums { int registers[8]; };
  static __device__ void LoadA(Factor& f, const Element* at, int stride) { __imma_m16n16k16_ld_a_s8(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void LoadB(Factor& f, const Element* at, int stride) { __imma_m16n16k16_ld_b_s8(f.registers, reinterpret_cast<const int*>(at), stride, 0); }
  static __device__ void Multiply(Sums& d, const Factor& a, const Factor& b) { __imma_m16n16k16_mma_s8(d.registers, a.registers, b.registers, d.registers, 0, 0); }
  static __device__ void Store(Sum* at, const Sums& d, int stride) { __imma_m16n16k16_st_c_i32(at, d.registers, stride, 0); }
};

constexpr int kTile = 64, kStep = 32, kWarpTile = 32;

template <typename M>
__device__ void Product(const typename M::Element* a, const typename M::Element* b, typename M::Sum* c, uint32_t size) {
  using Element = typename M::Element;
  constexpr int kVector = 16 / sizeof(Element);                               // elements that a thread copies at once
  constexpr int kStrideA = kStep + kVector, kStrideB = kTile + kVector;       // rows begin in different banks
  constexpr int kRows = kWarpTile / M::kM, kColumns = kWarpTile / M::kN;      // of fragments, in a warp's results
  __shared__ __attribute__((aligned(32))) Element tile_a[kTile * kStrideA];
  __shared__ __attribute__((aligned(32))) Element tile_b[kStep * kStrideB];
  const int thread = threadIdx.x, warp = thread / 32;
  const int warp_row = warp / 2 * kWarpTile, warp_column = warp % 2 * kWarpTile;
  const uint32_t row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  typename M::Sums sums[kRows][kColumns] = {};
  for (uint32_t k = 0; k < size; k += kStep) {
    for (int i = thread; i < kTile * kStep / kVector; i += 128) {
      const int y = i / (kStep / kVector), x = i % (kStep / kVector) * kVector;
      *reinterpret_cast<float4*>(tile_a + y * kStrideA + x) = *reinterpret_cast<const float4*>(a + (row + y) * size + k + x);
    }
    for (int i = thread; i < kStep * kTile / kVector; i += 128) {
      const int y = i / (kTile / kVector), x = i % (kTile / kVector) * kVector;
      *reinterpret_cast<float4*>(tile_b + y * kStrideB + x) = *reinterpret_cast<const float4*>(b + (k + y) * size + column + x);
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kStep; step += M::kK) {
      typename M::Factor left[kRows], right[kColumns];
#pragma unroll
      for (int i = 0; i < kRows; ++i) M::LoadA(left[i], tile_a + (warp_row + i * M::kM) * kStrideA + step, kStrideA);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) M::LoadB(right[j], tile_b + step * kStrideB + warp_column + j * M::kN, kStrideB);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kColumns; ++j) M::Multiply(sums[i][j], left[i], right[j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      M::Store(c + (row + warp_row + i * M::kM) * size + column + warp_column + j * M::kN, sums[i][j], size);
  }
}

extern "C" __global__ void product_f16(const unsigned short* a, const unsigned short* b, float* c, uint32_t size) { Product<Halves>(a, b, c, size); }
extern "C" __global__ void product_bf16(const unsigned short* a, const unsigned short* b, float* c, uint32_t size) { Product<Brains>(a, b, c, size); }
extern "C" __global__ void product_tf32(const float* a, const float* b, float* c, uint32_t size) { Product<Tf32>(a, b, c, size); }
extern "C" __global__ void product_f64(const double* a, const double* b, double* c, uint32_t size) { Product<Doubles>(a, b, c, size); }
extern "C" __global__ void product_s8(const signed char* a, const signed char* b, int* c, uint32_t size) { Product<Bytes>(a, b, c, size); }
