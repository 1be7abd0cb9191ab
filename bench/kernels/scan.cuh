// Inclusive sums in three steps: of each block of 1,024, of the blocks' sums, and their addition.

// The inclusive sum of `value` over the block; *total is the sum of all.
inline __device__ uint32_t ScanBlock(uint32_t value, uint32_t* warps, uint32_t* total) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = blockDim.x / 32;
  for (uint32_t delta = 1; delta < 32; delta *= 2) {
    const uint32_t left = __shfl_up_sync(~0u, value, delta);
    if (lane >= delta) value += left;
  }
  if (lane == 31) warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    uint32_t sum = lane < count ? warps[lane] : 0;
    for (uint32_t delta = 1; delta < 32; delta *= 2) {
      const uint32_t left = __shfl_up_sync(~0u, sum, delta);
      if (lane >= delta) sum += left;
    }
    warps[lane] = sum;
  }
  __syncthreads();
  *total = warps[count - 1];
  return warp > 0 ? value + warps[warp - 1] : value;
}

extern "C" __global__ void scan_blocks(const uint32_t* values, uint32_t* sums, uint32_t* totals) {
  __shared__ uint32_t warps[32];
  const uint32_t at = (blockIdx.x * 256 + threadIdx.x) * 4;
  uint32_t v[4], total;
  for (int i = 0; i < 4; ++i) v[i] = values[at + i] + (i > 0 ? v[i - 1] : 0);
  const uint32_t before = ScanBlock(v[3], warps, &total) - v[3];
  for (int i = 0; i < 4; ++i) sums[at + i] = before + v[i];
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

extern "C" __global__ void scan_totals(uint32_t* totals, uint32_t count) {
  __shared__ uint32_t warps[32];
  uint32_t carry = 0;
  for (uint32_t i = threadIdx.x; i < count; i += 256) {
    uint32_t total;
    const uint32_t sum = ScanBlock(totals[i], warps, &total);
    totals[i] = carry + sum;
    carry += total;
    __syncthreads();
  }
}

extern "C" __global__ void scan_add(uint32_t* sums, const uint32_t* totals) {
  if (blockIdx.x == 0) return;
  const uint32_t before = totals[blockIdx.x - 1];
  for (uint32_t i = 0; i < 4; ++i) sums[blockIdx.x * 1024 + i * 256 + threadIdx.x] += before;
}
