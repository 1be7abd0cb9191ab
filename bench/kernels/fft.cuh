// Transforms of 1,024 complex numbers, one a block: five steps of four points in shared memory (Stockham's order).

inline __device__ float2 Times(float2 a, float2 b) {
  return float2{__fmaf_rn(a.x, b.x, -(a.y * b.y)), __fmaf_rn(a.x, b.y, a.y * b.x)};
}

// `roots` are exp(-2 pi i k / 1024).
extern "C" __global__ void fft(const float2* from, const float2* roots, float2* to) {
  __shared__ float re[1024];
  __shared__ float im[1024];
  const uint32_t t = threadIdx.x, start = blockIdx.x * 1024;
  float2 v[4];
#pragma unroll
  for (uint32_t r = 0; r < 4; ++r) v[r] = from[start + t + r * 256];
#pragma unroll
  for (uint32_t span = 1; span <= 256; span *= 4) {
    const uint32_t k = t & (span - 1);
#pragma unroll
    for (uint32_t r = 1; r < 4; ++r) v[r] = span > 1 ? Times(v[r], roots[k * r * (256 / span)]) : v[r];
    const float2 a = {v[0].x + v[2].x, v[0].y + v[2].y}, b = {v[0].x - v[2].x, v[0].y - v[2].y};
    const float2 c = {v[1].x + v[3].x, v[1].y + v[3].y}, d = {v[1].y - v[3].y, v[3].x - v[1].x};
    v[0] = float2{a.x + c.x, a.y + c.y};
    v[1] = float2{b.x + d.x, b.y + d.y};
    v[2] = float2{a.x - c.x, a.y - c.y};
    v[3] = float2{b.x - d.x, b.y - d.y};
    const uint32_t out = (t - k) * 4 + k;
    if (span == 256) {
#pragma unroll
      for (uint32_t r = 0; r < 4; ++r) to[start + out + r * span] = v[r];
    } else {
#pragma unroll
      for (uint32_t r = 0; r < 4; ++r) re[out + r * span] = v[r].x;
#pragma unroll
      for (uint32_t r = 0; r < 4; ++r) im[out + r * span] = v[r].y;
      __syncthreads();
#pragma unroll
      for (uint32_t r = 0; r < 4; ++r) v[r] = float2{re[t + r * 256], im[t + r * 256]};
      __syncthreads();
    }
  }
}
