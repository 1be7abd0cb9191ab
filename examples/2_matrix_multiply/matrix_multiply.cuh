// C = A B for square matrices of `size` (a multiple of the tile), row-major. A block computes one 16 x 16 tile of C after
// the other; the tiles of A and B that it needs pass through shared memory.
constexpr uint32_t kTile = 16;

extern "C" __global__ void matrix_multiply_kernel(const float* a, const float* b, float* c, uint32_t size) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const uint32_t tiles = size / kTile;
  const uint32_t x = threadIdx.x, y = threadIdx.y;
  for (uint32_t tile = blockIdx.x; tile < tiles * tiles; tile += gridDim.x) {
    const uint32_t row = tile / tiles * kTile + y;
    const uint32_t column = tile % tiles * kTile + x;
    float sum = 0;
    for (uint32_t k = 0; k < size; k += kTile) {
      tile_a[y][x] = a[row * size + k + x];
      tile_b[y][x] = b[(k + y) * size + column];
      __syncthreads();
      for (uint32_t i = 0; i < kTile; ++i) sum = __fmaf_rn(tile_a[y][i], tile_b[i][x], sum);
      __syncthreads();
    }
    c[row * size + column] = sum;
  }
}
