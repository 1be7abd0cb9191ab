// Counts how often each of 256 byte values occurs: first per block with atomics in shared memory, then the blocks add
// their counts up in global memory.
extern "C" __global__ void histogram_kernel(const uint32_t* words, uint32_t count, uint32_t* bins) {
  __shared__ uint32_t block_bins[256];
  for (uint32_t bin = threadIdx.x; bin < 256; bin += blockDim.x) block_bins[bin] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const uint32_t word = words[i];
    for (uint32_t shift = 0; shift < 32; shift += 8) atomicAdd(&block_bins[(word >> shift) & 255], 1u);
  }
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&bins[bin], block_bins[bin]);
}
