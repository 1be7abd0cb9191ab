// Five points in two dimensions and seven in three; the border is left alone. The sizes are powers of two.

__kernel void stencil_2d(__global const float* from, __global float* to, uint size) {
  const uint x = get_group_id(0) * get_local_size(0) + get_local_id(0), y = get_group_id(1) * get_local_size(1) + get_local_id(1);
  if (x == 0 || y == 0 || x >= size - 1 || y >= size - 1) return;
  const uint i = y * size + x;
  to[i] = fma(0.125f, from[i - 1] + from[i + 1] + from[i - size] + from[i + size], 0.5f * from[i]);
}

__kernel void stencil_3d(__global const float* from, __global float* to, uint size) {
  const uint x = get_group_id(0) * get_local_size(0) + get_local_id(0), y = get_group_id(1) * get_local_size(1) + get_local_id(1);
  if (x == 0 || y == 0 || x >= size - 1 || y >= size - 1) return;
  const uint plane = size * size;
  uint i = plane + y * size + x;
  float below = from[i - plane], here = from[i];
  for (uint z = 1; z < size - 1; ++z) {
    const float above = from[i + plane];
    to[i] = fma(0.1f, from[i - 1] + from[i + 1] + from[i - size] + from[i + size] + below + above, 0.4f * here);
    below = here;
    here = above;
    i += plane;
  }
}

// Seven by seven weights, from a tile with its border in shared memory. `from` has a border of three on each side.
__kernel void convolution(__global const float* from, __global const float* weights, __global float* to, uint size) {
  __local float tile[22][22];
  __local float factors[49];
  const uint x = get_local_id(0), y = get_local_id(1), thread = y * 16 + x, stride = size + 6;
  const uint corner = get_group_id(1) * 16 * stride + get_group_id(0) * 16;
  for (uint i = thread; i < 22 * 22; i += 256) tile[i / 22][i % 22] = from[corner + i / 22 * stride + i % 22];
  if (thread < 49) factors[thread] = weights[thread];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (uint j = 0; j < 7; ++j) {
    for (uint i = 0; i < 7; ++i) sum = fma(tile[y + j][x + i], factors[j * 7 + i], sum);
  }
  to[(get_group_id(1) * 16 + y) * size + get_group_id(0) * 16 + x] = sum;
}
