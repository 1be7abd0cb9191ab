// The first six kernels of the `kernels` benchmark, as CUDA C++ (made into kernels.ptx by examples/make_ptx).

extern "C" __global__ void saxpy(float a, const float* x, float* y, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = __fmaf_rn(a, x[i], y[i]);
}

// One sum per block of 256, as a tree in shared memory.
extern "C" __global__ void tree_reduction(const float* values, float* sums) {
  __shared__ float tile[256];
  const uint32_t t = threadIdx.x;
  tile[t] = values[blockIdx.x * 256 + t];
  __syncthreads();
  for (uint32_t half = 128; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = tile[0];
}

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, uint32_t size) {
  __shared__ float tile_a[16][16];
  __shared__ float tile_b[16][16];
  const uint32_t x = threadIdx.x, y = threadIdx.y;
  const uint32_t row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (uint32_t k = 0; k < size; k += 16) {
    tile_a[y][x] = a[row * size + k + x];
    tile_b[y][x] = b[(k + y) * size + column];
    __syncthreads();
    for (uint32_t i = 0; i < 16; ++i) sum = __fmaf_rn(tile_a[y][i], tile_b[i][x], sum);
    __syncthreads();
  }
  c[row * size + column] = sum;
}

extern "C" __global__ void mandelbrot(uint32_t* counts, uint32_t width) {
  const uint32_t px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
  const float c_re = __fmaf_rn(static_cast<float>(px), 3.0f / 1024.0f, -2.25f);
  const float c_im = __fmaf_rn(static_cast<float>(py), 2.5f / 1024.0f, -1.25f);
  float re = 0, im = 0;
  uint32_t n = 0;
  while (n < 256) {
    const float square = im * im;
    if (__fmaf_rn(re, re, square) > 4.0f) break;
    const float next = __fmaf_rn(re, re, -square) + c_re;
    im = __fmaf_rn(re + re, im, c_im);
    re = next;
    ++n;
  }
  counts[py * width + px] = n;
}

extern "C" __global__ void n_body(const float4* bodies, float4* accelerations, uint32_t count) {
  __shared__ float4 tile[256];
  const uint32_t self_index = blockIdx.x * 256 + threadIdx.x;
  const float4 self = bodies[self_index];
  float ax = 0, ay = 0, az = 0;
  for (uint32_t start = 0; start < count; start += 256) {
    tile[threadIdx.x] = bodies[start + threadIdx.x];
    __syncthreads();
    for (uint32_t i = 0; i < 256; ++i) {
      const float4 other = tile[i];
      const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      const float distance = __fmaf_rn(dx, dx, __fmaf_rn(dy, dy, __fmaf_rn(dz, dz, 1e-4f)));
      const float inverse = rsqrtf(distance);
      const float pull = other.w * inverse * inverse * inverse;
      ax = __fmaf_rn(dx, pull, ax);
      ay = __fmaf_rn(dy, pull, ay);
      az = __fmaf_rn(dz, pull, az);
    }
    __syncthreads();
  }
  accelerations[self_index] = float4{ax, ay, az, 0.0f};
}

// Sparse matrix (CSR) times vector, one thread per row.
extern "C" __global__ void spmv(const uint32_t* starts, const uint32_t* columns, const float* values, const float* x, float* y, uint32_t rows) {
  const uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (uint32_t i = starts[row]; i < starts[row + 1]; ++i) sum = __fmaf_rn(values[i], x[columns[i]], sum);
  y[row] = sum;
}
