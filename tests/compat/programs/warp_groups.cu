// A product of matrices of halves as programs for compute capability 9.0 make it: one warp loads tiles by tensor maps
// into a ring of buffers, two groups of four warps multiply them by wgmma, and one thread of each group says that a
// buffer may be overwritten.
#include <vector>

#include "hopper.h"

constexpr int kM = 256, kN = 128, kK = 320, kTileM = 128, kTileN = 64, kTileK = 64, kStages = 2, kConsumers = 256;
constexpr uint32_t kTileBytes = (kTileM + kTileN) * kTileK * sizeof(half);

// Of a tile whose rows are 128 bytes, under the swizzle of 128 bytes.
__device__ uint64_t DescriptorOf(const half* tile) {
  return (SharedAddress(tile) & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

__device__ void MultiplyTiles(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, add, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

__global__ void __launch_bounds__(kConsumers + 128)
    Multiply(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
  extern __shared__ __align__(1024) half memory[];
  __shared__ uint64_t full[kStages], empty[kStages];
  half* const left = memory;
  half* const right = memory + kStages * kTileM * kTileK;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      InitBarrier(&full[stage], 1);
      InitBarrier(&empty[stage], 2);
    }
  }
  __syncthreads();
  const int group = threadIdx.x / 128;
  if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x != kConsumers) return;
    for (int i = 0; i < kK / kTileK; ++i) {
      const int stage = i % kStages, round = i / kStages;
      if (round > 0) WaitFor(&empty[stage], (round - 1) % 2);
      ArriveAndExpect(&full[stage], kTileBytes);
      LoadBox(left + stage * kTileM * kTileK, &a, &full[stage], i * kTileK, blockIdx.y * kTileM);
      LoadBox(right + stage * kTileN * kTileK, &b, &full[stage], i * kTileK, blockIdx.x * kTileN);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[32] = {};
  for (int i = 0; i < kK / kTileK; ++i) {
    const int stage = i % kStages;
    WaitFor(&full[stage], i / kStages % 2);
    const uint64_t rows = DescriptorOf(left + (stage * kTileM + group * 64) * kTileK),
                   columns = DescriptorOf(right + stage * kTileN * kTileK);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kTileK / 16; ++k) MultiplyTiles(d, rows + 2 * k, columns + 2 * k);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 128 == 0) Arrive(&empty[stage]);
  }
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i) {
    const int row = blockIdx.y * kTileM + group * 64 + warp * 16 + lane / 4 + 8 * (i / 2 % 2),
              column = blockIdx.x * kTileN + i / 4 * 8 + lane % 4 * 2 + i % 2;
    c[row * kN + column] = d[i];
  }
}

int LeftAt(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
int RightAt(int k, int column) { return (k * 5 + column * 2) % 7 - 3; }

int main() {
  std::vector<half> a(kM * kK), b(kN * kK);
  for (int k = 0; k < kK; ++k) {
    for (int row = 0; row < kM; ++row) a[row * kK + k] = __float2half(static_cast<float>(LeftAt(row, k)));
    for (int column = 0; column < kN; ++column)
      b[column * kK + k] = __float2half(static_cast<float>(RightAt(k, column)));
  }
  half *left, *right;
  float* product;
  CUDA(cudaMalloc(&left, a.size() * sizeof(half)));
  CUDA(cudaMalloc(&right, b.size() * sizeof(half)));
  CUDA(cudaMalloc(&product, kM * kN * sizeof(float)));
  CUDA(cudaMemcpy(left, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(right, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice));
  const CUtensorMap map_a = MapOfMatrix(left, kK, kM, kTileK, kTileM, CU_TENSOR_MAP_SWIZZLE_128B),
                    map_b = MapOfMatrix(right, kK, kN, kTileK, kTileN, CU_TENSOR_MAP_SWIZZLE_128B);
  const int bytes = kStages * kTileBytes;
  CUDA(cudaFuncSetAttribute(Multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  Multiply<<<dim3(kN / kTileN, kM / kTileM), kConsumers + 128, bytes>>>(map_a, map_b, product);
  CUDA(cudaDeviceSynchronize());
  std::vector<float> c(kM * kN);
  CUDA(cudaMemcpy(c.data(), product, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column) {
      int sum = 0;
      for (int k = 0; k < kK; ++k) sum += LeftAt(row, k) * RightAt(k, column);
      wrong += c[row * kN + column] != static_cast<float>(sum);
    }
  }
  CHECK_EQ(wrong, 0);
  return Verdict();
}
