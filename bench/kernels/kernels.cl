// The first six kernels of the `kernels` benchmark, as OpenCL C.

__kernel void saxpy(float a, __global const float* x, __global float* y, uint count) {
  const uint i = get_global_id(0);
  if (i < count) y[i] = fma(a, x[i], y[i]);
}

__kernel void tree_reduction(__global const float* values, __global float* sums) {
  __local float tile[256];
  const uint t = get_local_id(0);
  tile[t] = values[get_group_id(0) * 256 + t];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_count = 128; half_count > 0; half_count /= 2) {
    if (t < half_count) tile[t] += tile[t + half_count];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) sums[get_group_id(0)] = tile[0];
}

__kernel void sgemm(__global const float* a, __global const float* b, __global float* c, uint size) {
  __local float tile_a[16][16];
  __local float tile_b[16][16];
  const uint x = get_local_id(0), y = get_local_id(1);
  const uint row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
  float sum = 0;
  for (uint k = 0; k < size; k += 16) {
    tile_a[y][x] = a[row * size + k + x];
    tile_b[y][x] = b[(k + y) * size + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < 16; ++i) sum = fma(tile_a[y][i], tile_b[i][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * size + column] = sum;
}

__kernel void mandelbrot(__global uint* counts, uint width) {
  const uint px = get_global_id(0), py = get_global_id(1);
  const float c_re = fma((float)px, 3.0f / 1024.0f, -2.25f);
  const float c_im = fma((float)py, 2.5f / 1024.0f, -1.25f);
  float re = 0, im = 0;
  uint n = 0;
  while (n < 256) {
    const float square = im * im;
    if (fma(re, re, square) > 4.0f) break;
    const float next = fma(re, re, -square) + c_re;
    im = fma(re + re, im, c_im);
    re = next;
    ++n;
  }
  counts[py * width + px] = n;
}

__kernel void n_body(__global const float4* bodies, __global float4* accelerations, uint count) {
  __local float4 tile[256];
  const uint self_index = get_global_id(0);
  const float4 self = bodies[self_index];
  float ax = 0, ay = 0, az = 0;
  for (uint start = 0; start < count; start += 256) {
    tile[get_local_id(0)] = bodies[start + get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < 256; ++i) {
      const float4 other = tile[i];
      const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      const float distance = fma(dx, dx, fma(dy, dy, fma(dz, dz, 1e-4f)));
      const float inverse = rsqrt(distance);
      const float pull = other.w * inverse * inverse * inverse;
      ax = fma(dx, pull, ax);
      ay = fma(dy, pull, ay);
      az = fma(dz, pull, az);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  accelerations[self_index] = (float4)(ax, ay, az, 0.0f);
}

__kernel void spmv(__global const uint* starts, __global const uint* columns, __global const float* values, __global const float* x, __global float* y, uint rows) {
  const uint row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0;
  for (uint i = starts[row]; i < starts[row + 1]; ++i) sum = fma(values[i], x[columns[i]], sum);
  y[row] = sum;
}
