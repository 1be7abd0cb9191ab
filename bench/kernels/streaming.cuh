// Kernels that read and write arrays once.

extern "C" __global__ void stream_triad(float a, const float* x, const float* y, float* z) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  z[i] = __fmaf_rn(a, y[i], x[i]);
}

// Prices of European calls and puts.
inline __device__ float NormalDistribution(float d) {
  const float k = __fdividef(1.0f, __fmaf_rn(0.2316419f, d < 0 ? -d : d, 1.0f));
  float sum = __fmaf_rn(k, 1.330274429f, -1.821255978f);
  sum = __fmaf_rn(k, sum, 1.781477937f);
  sum = __fmaf_rn(k, sum, -0.356563782f);
  sum = __fmaf_rn(k, sum, 0.31938153f) * k;
  const float tail = 0.39894228f * __expf(-0.5f * d * d) * sum;
  return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* price, const float* strike, const float* years, float* call, float* put) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  constexpr float kRate = 0.02f, kVolatility = 0.3f;
  const float root = sqrtf(years[i]);
  const float d1 = __fdividef(__logf(__fdividef(price[i], strike[i])) + (kRate + 0.5f * kVolatility * kVolatility) * years[i], kVolatility * root);
  const float d2 = d1 - kVolatility * root;
  const float n1 = NormalDistribution(d1), n2 = NormalDistribution(d2);
  const float discounted = strike[i] * __expf(-kRate * years[i]);
  call[i] = price[i] * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - price[i] * (1.0f - n1);
}
