// Sums `count` numbers modulo 2^32. Each thread adds its share, each warp adds up with shuffles, the first warp adds up
// the warps, and thread 0 adds the block's sum to the result.
extern "C" __global__ void reduction_kernel(const uint32_t* values, uint32_t count, uint32_t* result) {
  __shared__ uint32_t warp_sums[32];
  uint32_t sum = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += values[i];
  for (uint32_t delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0;
    for (uint32_t delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta);
    if (threadIdx.x == 0) atomicAdd(result, sum);
  }
}
