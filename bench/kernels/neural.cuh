// Rows of a neural network: softmax, layer norm, attention.

constexpr uint32_t kWidth = 1024;  // of a row

inline __device__ float Sum(float value, float* warps) {
  for (uint32_t lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[threadIdx.x % 8];
  for (uint32_t lanes = 4; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  __syncthreads();
  return value;
}

inline __device__ float Maximum(float value, float* warps) {
  for (uint32_t lanes = 16; lanes > 0; lanes /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, lanes));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[threadIdx.x % 8];
  for (uint32_t lanes = 4; lanes > 0; lanes /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, lanes));
  __syncthreads();
  return value;
}

extern "C" __global__ void softmax(const float* from, float* to) {
  __shared__ float warps[8];
  const float* row = from + blockIdx.x * kWidth;
  float v[4];
  for (uint32_t i = 0; i < 4; ++i) v[i] = row[i * 256 + threadIdx.x];
  const float highest = Maximum(fmaxf(fmaxf(v[0], v[1]), fmaxf(v[2], v[3])), warps);
  for (uint32_t i = 0; i < 4; ++i) v[i] = __expf(v[i] - highest);
  const float scale = __fdividef(1.0f, Sum(v[0] + v[1] + v[2] + v[3], warps));
  for (uint32_t i = 0; i < 4; ++i) to[blockIdx.x * kWidth + i * 256 + threadIdx.x] = v[i] * scale;
}

extern "C" __global__ void layer_norm(const float* from, const float* gain, const float* bias, float* to) {
  __shared__ float warps[8];
  const float* row = from + blockIdx.x * kWidth;
  float v[4];
  for (uint32_t i = 0; i < 4; ++i) v[i] = row[i * 256 + threadIdx.x];
  const float mean = Sum(v[0] + v[1] + v[2] + v[3], warps) * (1.0f / kWidth);
  for (uint32_t i = 0; i < 4; ++i) v[i] -= mean;
  const float variance = Sum(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3], warps) * (1.0f / kWidth);
  const float scale = rsqrtf(variance + 1e-5f);
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t column = i * 256 + threadIdx.x;
    to[blockIdx.x * kWidth + column] = __fmaf_rn(v[i] * scale, gain[column], bias[column]);
  }
}

// A thread per query, keys and values of 64 in tiles of 32, with a running maximum and sum.
extern "C" __global__ void attention(const float* queries, const float* keys, const float* values, float* to, uint32_t length) {
  __shared__ float tile_k[32][64];
  __shared__ float tile_v[32][64];
  const uint32_t head = blockIdx.y * length * 64, query = head + (blockIdx.x * 64 + threadIdx.x) * 64;
  float q[64], sums[64], highest = -1e30f, total = 0;
#pragma unroll
  for (uint32_t i = 0; i < 64; ++i) q[i] = queries[query + i] * 0.125f;
#pragma unroll
  for (uint32_t i = 0; i < 64; ++i) sums[i] = 0;
  for (uint32_t start = 0; start < length; start += 32) {
    for (uint32_t row = 0; row < 32; ++row) {
      tile_k[row][threadIdx.x] = keys[head + (start + row) * 64 + threadIdx.x];
      tile_v[row][threadIdx.x] = values[head + (start + row) * 64 + threadIdx.x];
    }
    __syncthreads();
#pragma unroll 1
    for (uint32_t row = 0; row < 32; ++row) {
      float score = 0;
#pragma unroll
      for (uint32_t i = 0; i < 64; ++i) score = __fmaf_rn(q[i], tile_k[row][i], score);
      const float higher = fmaxf(highest, score), keep = __expf(highest - higher), weight = __expf(score - higher);
      highest = higher;
      total = __fmaf_rn(total, keep, weight);
#pragma unroll
      for (uint32_t i = 0; i < 64; ++i) sums[i] = __fmaf_rn(weight, tile_v[row][i], sums[i] * keep);
    }
    __syncthreads();
  }
  const float scale = __fdividef(1.0f, total);
#pragma unroll
  for (uint32_t i = 0; i < 64; ++i) to[query + i] = sums[i] * scale;
}
