// Matrix products without matrix instructions, as tiles of 16 x 16 in shared memory (in float: kernels.cuh).

extern "C" __global__ void dgemm(const double* a, const double* b, double* c, uint32_t size) {
  __shared__ double tile_a[16][16];
  __shared__ double tile_b[16][16];
  const uint32_t x = threadIdx.x, y = threadIdx.y;
  const uint32_t row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  double sum = 0;
  for (uint32_t k = 0; k < size; k += 16) {
    tile_a[y][x] = a[row * size + k + x];
    tile_b[y][x] = b[(k + y) * size + column];
    __syncthreads();
    for (uint32_t i = 0; i < 16; ++i) sum = fma(tile_a[y][i], tile_b[i][x], sum);
    __syncthreads();
  }
  c[row * size + column] = sum;
}

// Two columns a thread, in packed f16; the sums of sixteen products are added up in f32.
using Halves = _Float16 __attribute__((ext_vector_type(2)));

extern "C" __global__ void hgemm(const _Float16* a, const Halves* b, float2* c, uint32_t size) {
  __shared__ _Float16 tile_a[16][16];
  __shared__ Halves tile_b[16][16];
  const uint32_t x = threadIdx.x, y = threadIdx.y;
  const uint32_t row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x, pairs = size / 2;
  float2 sum = {0, 0};
  for (uint32_t k = 0; k < size; k += 16) {
    tile_a[y][x] = a[row * size + k + x];
    tile_b[y][x] = b[(k + y) * pairs + column];
    __syncthreads();
    Halves part = {0, 0};
    for (uint32_t i = 0; i < 16; ++i) part = __builtin_elementwise_fma(Halves{tile_a[y][i], tile_a[y][i]}, tile_b[i][x], part);
    sum.x += static_cast<float>(part.x);
    sum.y += static_cast<float>(part.y);
    __syncthreads();
  }
  c[row * pairs + column] = sum;
}
