// What the programs for compute capability 9.0 share: tensor maps, barriers in shared memory, and their instructions.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "program.h"

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// Of a matrix of halves, row by row, in boxes of `box_columns` by `box_rows`.
inline CUtensorMap MapOfMatrix(void* matrix, uint64_t columns, uint64_t rows, uint32_t box_columns, uint32_t box_rows,
                               CUtensorMapSwizzle swizzle) {
  static EncodeTiled encode = nullptr;
  if (encode == nullptr) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
    CHECK_EQ(result, cudaDriverEntryPointSuccess);
    encode = reinterpret_cast<EncodeTiled>(found);
  }
  CUtensorMap map;
  const cuuint64_t sizes[] = {columns, rows}, strides[] = {columns * sizeof(half)};
  const cuuint32_t box[] = {box_columns, box_rows}, steps[] = {1, 1};
  const CUresult status = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, sizes, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  CHECK_EQ(status, CUDA_SUCCESS);
  return map;
}

__device__ inline uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ inline void InitBarrier(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(arrivals) : "memory");
}
__device__ inline void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}
__device__ inline void ArriveAndExpect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(bytes)
               : "memory");
}
__device__ inline void WaitFor(uint64_t* barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred done;\nmbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\nselp.u32 %0, 1, 0, done;\n}"
        : "=r"(done)
        : "r"(SharedAddress(barrier)), "r"(parity)
        : "memory");
  }
}
__device__ inline void LoadBox(void* to, const CUtensorMap* map, uint64_t* barrier, int column, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(column), "r"(row)
      : "memory");
}
__device__ inline void StoreBox(const CUtensorMap* map, const void* from, int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(SharedAddress(from)), "r"(column), "r"(row)
               : "memory");
}
