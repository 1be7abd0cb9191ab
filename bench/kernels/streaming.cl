// Kernels that read and write arrays once.

__kernel void stream_triad(float a, __global const float* x, __global const float* y, __global float* z) {
  const uint i = get_group_id(0) * get_local_size(0) + get_local_id(0);
  z[i] = fma(a, y[i], x[i]);
}

// Prices of European calls and puts.
inline float NormalDistribution(float d) {
  const float k = native_divide(1.0f, fma(0.2316419f, d < 0 ? -d : d, 1.0f));
  float sum = fma(k, 1.330274429f, -1.821255978f);
  sum = fma(k, sum, 1.781477937f);
  sum = fma(k, sum, -0.356563782f);
  sum = fma(k, sum, 0.31938153f) * k;
  const float tail = 0.39894228f * native_exp(-0.5f * d * d) * sum;
  return d > 0 ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float* price, __global const float* strike, __global const float* years, __global float* call, __global float* put) {
  const uint i = get_group_id(0) * get_local_size(0) + get_local_id(0);
  const float kRate = 0.02f, kVolatility = 0.3f;
  const float root = sqrt(years[i]);
  const float d1 = native_divide(native_log(native_divide(price[i], strike[i])) + (kRate + 0.5f * kVolatility * kVolatility) * years[i], kVolatility * root);
  const float d2 = d1 - kVolatility * root;
  const float n1 = NormalDistribution(d1), n2 = NormalDistribution(d2);
  const float discounted = strike[i] * native_exp(-kRate * years[i]);
  call[i] = price[i] * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - price[i] * (1.0f - n1);
}
