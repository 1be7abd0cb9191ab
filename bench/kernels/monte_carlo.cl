// Points of a square in a quarter of a circle, with numbers of the Philox generator as cuRAND's device code makes them.

inline void Philox(uint* counter, uint key0, uint key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint high0 = mul_hi(0xD2511F53u, counter[0]), low0 = 0xD2511F53u * counter[0];
    const uint high1 = mul_hi(0xCD9E8D57u, counter[2]), low1 = 0xCD9E8D57u * counter[2];
    counter[0] = high1 ^ counter[1] ^ key0;
    counter[1] = low1;
    counter[2] = high0 ^ counter[3] ^ key1;
    counter[3] = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

inline float Uniform(uint bits) { return fma((float)(bits), 0x1p-32f, 0x1p-33f); }

__kernel void monte_carlo(__global uint* counts, uint draws) {
  const uint i = get_group_id(0) * get_local_size(0) + get_local_id(0);
  uint inside = 0;
  for (uint draw = 0; draw < draws; ++draw) {
    uint bits[4] = {draw, 0, i, 0};
    Philox(bits, 1234, 0);
    const float x0 = Uniform(bits[0]), y0 = Uniform(bits[1]), x1 = Uniform(bits[2]), y1 = Uniform(bits[3]);
    inside += fma(x0, x0, y0 * y0) <= 1.0f;
    inside += fma(x1, x1, y1 * y1) <= 1.0f;
  }
  counts[i] = inside;
}
