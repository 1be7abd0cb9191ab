// Five points in two dimensions and seven in three; the border is left alone. The sizes are powers of two.

extern "C" __global__ void stencil_2d(const float* from, float* to, uint32_t size) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x == 0 || y == 0 || x >= size - 1 || y >= size - 1) return;
  const uint32_t i = y * size + x;
  to[i] = __fmaf_rn(0.125f, from[i - 1] + from[i + 1] + from[i - size] + from[i + size], 0.5f * from[i]);
}

extern "C" __global__ void stencil_3d(const float* from, float* to, uint32_t size) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x == 0 || y == 0 || x >= size - 1 || y >= size - 1) return;
  const uint32_t plane = size * size;
  uint32_t i = plane + y * size + x;
  float below = from[i - plane], here = from[i];
  for (uint32_t z = 1; z < size - 1; ++z) {
    const float above = from[i + plane];
    to[i] = __fmaf_rn(0.1f, from[i - 1] + from[i + 1] + from[i - size] + from[i + size] + below + above, 0.4f * here);
    below = here;
    here = above;
    i += plane;
  }
}

// Seven by seven weights, from a tile with its border in shared memory. `from` has a border of three on each side.
extern "C" __global__ void convolution(const float* from, const float* weights, float* to, uint32_t size) {
  __shared__ float tile[22][22];
  __shared__ float factors[49];
  const uint32_t x = threadIdx.x, y = threadIdx.y, thread = y * 16 + x, stride = size + 6;
  const uint32_t corner = blockIdx.y * 16 * stride + blockIdx.x * 16;
  for (uint32_t i = thread; i < 22 * 22; i += 256) tile[i / 22][i % 22] = from[corner + i / 22 * stride + i % 22];
  if (thread < 49) factors[thread] = weights[thread];
  __syncthreads();
  float sum = 0;
  for (uint32_t j = 0; j < 7; ++j) {
    for (uint32_t i = 0; i < 7; ++i) sum = __fmaf_rn(tile[y + j][x + i], factors[j * 7 + i], sum);
  }
  to[(blockIdx.y * 16 + y) * size + blockIdx.x * 16 + x] = sum;
}
