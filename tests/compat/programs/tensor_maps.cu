// A matrix is copied tile by tile: one thread loads boxes into a ring of buffers by a tensor map, all threads change
// them, one thread stores them by another map. The edges of the matrix are no multiples of the box.
#include <vector>

#include "hopper.h"

constexpr int kColumns = 200, kRows = 77, kBoxColumns = 64, kBoxRows = 16, kStages = 3, kThreads = 128;
constexpr uint32_t kBoxBytes = kBoxColumns * kBoxRows * sizeof(half);

__global__ void AddOne(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(1024) half boxes[kStages][kBoxColumns * kBoxRows];
  __shared__ uint64_t full[kStages], empty[kStages];
  constexpr int kBoxesAcross = (kColumns + kBoxColumns - 1) / kBoxColumns,
                kBoxesDown = (kRows + kBoxRows - 1) / kBoxRows;
  const int count = kBoxesAcross * kBoxesDown;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      InitBarrier(&full[stage], 1);
      InitBarrier(&empty[stage], 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= kThreads) {  // the producer's warp
    if (threadIdx.x != kThreads) return;
    asm volatile("prefetch.tensormap [%0];" ::"l"(&from) : "memory");
    for (int i = 0; i < count; ++i) {
      const int stage = i % kStages, round = i / kStages;
      if (round > 0) WaitFor(&empty[stage], (round - 1) % 2);
      ArriveAndExpect(&full[stage], kBoxBytes);
      LoadBox(boxes[stage], &from, &full[stage], i % kBoxesAcross * kBoxColumns, i / kBoxesAcross * kBoxRows);
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    const int stage = i % kStages;
    WaitFor(&full[stage], i / kStages % 2);
    for (int e = threadIdx.x; e < kBoxColumns * kBoxRows; e += kThreads)
      boxes[stage][e] = __float2half(__half2float(boxes[stage][e]) + 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x != 0) continue;
    StoreBox(&to, boxes[stage], i % kBoxesAcross * kBoxColumns, i / kBoxesAcross * kBoxRows);
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    Arrive(&empty[stage]);
  }
}

int main() {
  std::vector<half> matrix(kColumns * kRows);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = __float2half(static_cast<float>(i % 500));
  half *from, *to;
  CUDA(cudaMalloc(&from, matrix.size() * sizeof(half)));
  CUDA(cudaMalloc(&to, matrix.size() * sizeof(half)));
  CUDA(cudaMemcpy(from, matrix.data(), matrix.size() * sizeof(half), cudaMemcpyHostToDevice));
  // A swizzle both ways is none.
  for (const CUtensorMapSwizzle swizzle : {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B}) {
    CUDA(cudaMemset(to, 0, matrix.size() * sizeof(half)));
    const CUtensorMap source = MapOfMatrix(from, kColumns, kRows, kBoxColumns, kBoxRows, swizzle),
                      target = MapOfMatrix(to, kColumns, kRows, kBoxColumns, kBoxRows, swizzle);
    AddOne<<<1, kThreads + 32>>>(source, target);
    CUDA(cudaDeviceSynchronize());
    std::vector<half> result(matrix.size());
    CUDA(cudaMemcpy(result.data(), to, result.size() * sizeof(half), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < result.size(); ++i) wrong += __half2float(result[i]) != static_cast<float>(i % 500 + 1);
    CHECK_EQ(wrong, 0u);
  }
  return Verdict();
}
