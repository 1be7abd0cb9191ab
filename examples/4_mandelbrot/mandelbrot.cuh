// How often z = z^2 + c can be applied before |z| > 2, for each pixel of a picture: threads of a warp leave the loop at
// different times. Fused exactly where written, so that a host can repeat it to the bit.
constexpr uint32_t kMaxIterations = 256;

extern "C" __global__ void mandelbrot_kernel(uint32_t* counts, uint32_t width, uint32_t height) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += gridDim.x * blockDim.x) {
    const float c_re = __fmaf_rn(static_cast<float>(i % width), 3.0f / 512.0f, -2.25f);
    const float c_im = __fmaf_rn(static_cast<float>(i / width), 2.5f / 512.0f, -1.25f);
    float re = 0, im = 0;
    uint32_t n = 0;
    while (n < kMaxIterations) {
      const float square = im * im;
      if (__fmaf_rn(re, re, square) > 4.0f) break;
      const float next = __fmaf_rn(re, re, -square) + c_re;
      im = __fmaf_rn(re + re, im, c_im);
      re = next;
      ++n;
    }
    counts[i] = n;
  }
}
