// Rows of a neural network: softmax, layer norm, attention.

#define kWidth 1024u  // of a row

// OpenCL 1.2 has no shuffles: trees in local memory.
inline float Sum(float value, __local float* tile) {
  const uint t = get_local_id(0);
  tile[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint count = 128; count > 0; count /= 2) {
    if (t < count) tile[t] += tile[t + count];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float sum = tile[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

inline float Maximum(float value, __local float* tile) {
  const uint t = get_local_id(0);
  tile[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint count = 128; count > 0; count /= 2) {
    if (t < count) tile[t] = fmax(tile[t], tile[t + count]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float highest = tile[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return highest;
}

__kernel void softmax(__global const float* from, __global float* to) {
  __local float warps[256];
  __global const float* row = from + get_group_id(0) * kWidth;
  float v[4];
  for (uint i = 0; i < 4; ++i) v[i] = row[i * 256 + get_local_id(0)];
  const float highest = Maximum(fmax(fmax(v[0], v[1]), fmax(v[2], v[3])), warps);
  for (uint i = 0; i < 4; ++i) v[i] = native_exp(v[i] - highest);
  const float scale = native_divide(1.0f, Sum(v[0] + v[1] + v[2] + v[3], warps));
  for (uint i = 0; i < 4; ++i) to[get_group_id(0) * kWidth + i * 256 + get_local_id(0)] = v[i] * scale;
}

__kernel void layer_norm(__global const float* from, __global const float* gain, __global const float* bias, __global float* to) {
  __local float warps[256];
  __global const float* row = from + get_group_id(0) * kWidth;
  float v[4];
  for (uint i = 0; i < 4; ++i) v[i] = row[i * 256 + get_local_id(0)];
  const float mean = Sum(v[0] + v[1] + v[2] + v[3], warps) * (1.0f / kWidth);
  for (uint i = 0; i < 4; ++i) v[i] -= mean;
  const float variance = Sum(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3], warps) * (1.0f / kWidth);
  const float scale = rsqrt(variance + 1e-5f);
  for (uint i = 0; i < 4; ++i) {
    const uint column = i * 256 + get_local_id(0);
    to[get_group_id(0) * kWidth + column] = fma(v[i] * scale, gain[column], bias[column]);
  }
}

// A thread per query, keys and values of 64 in tiles of 32, with a running maximum and sum.
__kernel void attention(__global const float* queries, __global const float* keys, __global const float* values, __global float* to, uint length) {
  __local float tile_k[32][64];
  __local float tile_v[32][64];
  const uint head = get_group_id(1) * length * 64, query = head + (get_group_id(0) * 64 + get_local_id(0)) * 64;
  float q[64], sums[64], highest = -1e30f, total = 0;
#pragma unroll
  for (uint i = 0; i < 64; ++i) q[i] = queries[query + i] * 0.125f;
#pragma unroll
  for (uint i = 0; i < 64; ++i) sums[i] = 0;
  for (uint start = 0; start < length; start += 32) {
    for (uint row = 0; row < 32; ++row) {
      tile_k[row][get_local_id(0)] = keys[head + (start + row) * 64 + get_local_id(0)];
      tile_v[row][get_local_id(0)] = values[head + (start + row) * 64 + get_local_id(0)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (uint row = 0; row < 32; ++row) {
      float score = 0;
#pragma unroll
      for (uint i = 0; i < 64; ++i) score = fma(q[i], tile_k[row][i], score);
      const float higher = fmax(highest, score), keep = native_exp(highest - higher), weight = native_exp(score - higher);
      highest = higher;
      total = fma(total, keep, weight);
#pragma unroll
      for (uint i = 0; i < 64; ++i) sums[i] = fma(weight, tile_v[row][i], sums[i] * keep);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = native_divide(1.0f, total);
#pragma unroll
  for (uint i = 0; i < 64; ++i) to[query + i] = sums[i] * scale;
}
