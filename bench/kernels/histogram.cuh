// Counts of bytes in shared memory, and of 16-bit numbers in global memory.

extern "C" __global__ void histogram_shared(const uint32_t* words, uint32_t* bins, uint32_t count) {
  __shared__ uint32_t tile[256];
  tile[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
    const uint32_t word = words[i];
    atomicAdd(&tile[word & 255], 1u);
    atomicAdd(&tile[word >> 8 & 255], 1u);
    atomicAdd(&tile[word >> 16 & 255], 1u);
    atomicAdd(&tile[word >> 24], 1u);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], tile[threadIdx.x]);
}

extern "C" __global__ void histogram_global(const uint32_t* words, uint32_t* bins) {
  atomicAdd(&bins[words[blockIdx.x * blockDim.x + threadIdx.x] & 65535], 1u);
}
