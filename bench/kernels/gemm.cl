// Matrix products without matrix instructions, as tiles of 16 x 16 in shared memory (in float: kernels.cuh).

__kernel void dgemm(__global const double* a, __global const double* b, __global double* c, uint size) {
  __local double tile_a[16][16];
  __local double tile_b[16][16];
  const uint x = get_local_id(0), y = get_local_id(1);
  const uint row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
  double sum = 0;
  for (uint k = 0; k < size; k += 16) {
    tile_a[y][x] = a[row * size + k + x];
    tile_b[y][x] = b[(k + y) * size + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < 16; ++i) sum = fma(tile_a[y][i], tile_b[i][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * size + column] = sum;
}

// A column a thread: PoCL has no arithmetic in f16 on processors.
__kernel void hgemm(__global const half* a, __global const half* b, __global float* c, uint size) {
  __local float tile_a[16][16];
  __local float tile_b[16][16];
  const uint x = get_local_id(0), y = get_local_id(1);
  const uint row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
  float sum = 0;
  for (uint k = 0; k < size; k += 16) {
    tile_a[y][x] = vload_half(row * size + k + x, a);
    tile_b[y][x] = vload_half((k + y) * size + column, b);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < 16; ++i) sum = fma(tile_a[y][i], tile_b[i][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * size + column] = sum;
}
