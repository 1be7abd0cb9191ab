// Points of a square in a quarter of a circle, with numbers of the Philox generator as cuRAND's device code makes them.

inline __device__ void Philox(uint32_t* counter, uint32_t key0, uint32_t key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(0xD2511F53u, counter[0]), low0 = 0xD2511F53u * counter[0];
    const uint32_t high1 = __umulhi(0xCD9E8D57u, counter[2]), low1 = 0xCD9E8D57u * counter[2];
    counter[0] = high1 ^ counter[1] ^ key0;
    counter[1] = low1;
    counter[2] = high0 ^ counter[3] ^ key1;
    counter[3] = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

inline __device__ float Uniform(uint32_t bits) { return __fmaf_rn(static_cast<float>(bits), 0x1p-32f, 0x1p-33f); }

extern "C" __global__ void monte_carlo(uint32_t* counts, uint32_t draws) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t inside = 0;
  for (uint32_t draw = 0; draw < draws; ++draw) {
    uint32_t bits[4] = {draw, 0, i, 0};
    Philox(bits, 1234, 0);
    const float x0 = Uniform(bits[0]), y0 = Uniform(bits[1]), x1 = Uniform(bits[2]), y1 = Uniform(bits[3]);
    inside += __fmaf_rn(x0, x0, y0 * y0) <= 1.0f;
    inside += __fmaf_rn(x1, x1, y1 * y1) <= 1.0f;
  }
  counts[i] = inside;
}
