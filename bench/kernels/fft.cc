// Transforms of 1,024 complex numbers.
#include "problem.h"
#include "problems.h"

EMBED_TEXT(fft_ptx, "kernels/fft.ptx");
EMBED_TEXT(fft_cl, "kernels/fft.cl");

namespace bench {
namespace {

class Fft final : public Problem {
 public:
  explicit Fft(OpenCl* opencl)
      : Problem({fft_ptx, fft_cl}),
        from_(opencl, problem::Floats(2 * kLength * kBatch)),
        roots_(opencl, Roots()),
        to_(opencl, problem::Floats(2 * kLength * kBatch)) {
    work = {.bytes = 16.0 * kLength * kBatch, .operations = 5.0 * kLength * 10 * kBatch};
    Returns(to_, 1e-3);
  }
  void Kernels(Runner& on) override { on.Launch("fft", {.x = kBatch}, from_, roots_, to_); }

  // The same steps, real and imaginary parts apart, so that each is a loop over vectors.
  void Native() override {
#pragma omp parallel for schedule(static)
    for (uint32_t row = 0; row < kBatch; ++row) {
      float re[2][kLength], im[2][kLength];
      const float* from = from_.data() + size_t{row} * 2 * kLength;
      for (uint32_t i = 0; i < kLength; ++i) re[0][i] = from[2 * i], im[0][i] = from[2 * i + 1];
      uint32_t now = 0;
      for (uint32_t span = 1; span <= 256; span *= 4, now ^= 1) Step(span, re[now], im[now], re[now ^ 1], im[now ^ 1]);
      float* to = to_.data() + size_t{row} * 2 * kLength;
      for (uint32_t i = 0; i < kLength; ++i) to[2 * i] = re[now][i], to[2 * i + 1] = im[now][i];
    }
  }

 private:
  static constexpr uint32_t kLength = 1024, kBatch = 512;
  static std::vector<float> Roots() {
    std::vector<float> roots;
    for (uint32_t k = 0; k < kLength; ++k) {
      const double angle = -2 * 3.14159265358979323846 * k / kLength;
      roots.push_back(static_cast<float>(std::cos(angle)));
      roots.push_back(static_cast<float>(std::sin(angle)));
    }
    return roots;
  }
  void Step(uint32_t span, const float* __restrict re, const float* __restrict im, float* __restrict out_re,
            float* __restrict out_im) const {
    const float* roots = roots_.host.data();
    for (uint32_t start = 0; start < 256; start += span) {
#pragma omp simd
      for (uint32_t k = 0; k < span; ++k) {
        const uint32_t t = start + k, out = start * 4 + k;
        float x[4], y[4];
        x[0] = re[t], y[0] = im[t];
        for (uint32_t r = 1; r < 4; ++r) {
          const uint32_t root = 2 * k * r * (256 / span);
          const float a = re[t + r * 256], b = im[t + r * 256], c = roots[root], d = roots[root + 1];
          x[r] = a * c - b * d;
          y[r] = a * d + b * c;
        }
        const float ax = x[0] + x[2], ay = y[0] + y[2], bx = x[0] - x[2], by = y[0] - y[2];
        const float cx = x[1] + x[3], cy = y[1] + y[3], dx = y[1] - y[3], dy = x[3] - x[1];
        out_re[out] = ax + cx, out_im[out] = ay + cy;
        out_re[out + span] = bx + dx, out_im[out + span] = by + dy;
        out_re[out + 2 * span] = ax - cx, out_im[out + 2 * span] = ay - cy;
        out_re[out + 3 * span] = bx - dx, out_im[out + 3 * span] = by - dy;
      }
    }
  }
  Array<float> from_, roots_, to_;
};

}  // namespace

std::vector<Entry> Transforms() { return {Named<Fft>("FFT 512x1024")}; }

}  // namespace bench
