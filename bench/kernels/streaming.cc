// Kernels that read and write arrays once.
#include "problem.h"
#include "problems.h"

EMBED_TEXT(streaming_ptx, "kernels/streaming.ptx");
EMBED_TEXT(streaming_cl, "kernels/streaming.cl");

namespace bench {
namespace {

using problem::Floats;

class Triad final : public Problem {
 public:
  explicit Triad(OpenCl* opencl)
      : Problem({streaming_ptx, streaming_cl}),
        x_(opencl, Floats(kCount)),
        y_(opencl, Floats(kCount, 7)),
        z_(opencl, Floats(kCount, 9)) {
    work = {.bytes = 12.0 * kCount, .operations = 2.0 * kCount};
    Returns(z_, 1e-6);
  }
  void Kernels(Runner& on) override { on.Launch("stream_triad", {.x = kCount / 256}, kFactor, x_, y_, z_); }
  void Native() override {
    const float *x = x_.data(), *y = y_.data();
    float* z = z_.data();
#pragma omp parallel for simd schedule(static)
    for (uint32_t i = 0; i < kCount; ++i) z[i] = x[i] + kFactor * y[i];
  }

 private:
  static constexpr uint32_t kCount = 1 << 22;
  static constexpr float kFactor = 3;
  Array<float> x_, y_, z_;
};

class BlackScholes final : public Problem {
 public:
  explicit BlackScholes(OpenCl* opencl)
      : Problem({streaming_ptx, streaming_cl}),
        price_(opencl, Between(5, 30, 0)),
        strike_(opencl, Between(1, 100, 1)),
        years_(opencl, Between(0.25f, 10, 2)),
        call_(opencl, Floats(kCount)),
        put_(opencl, Floats(kCount)) {
    work = {.bytes = 20.0 * kCount, .operations = 80.0 * kCount};
    Returns(call_, 1e-3);
    Returns(put_, 1e-3);
  }
  void Kernels(Runner& on) override {
    on.Launch("black_scholes", {.x = kCount / 256}, price_, strike_, years_, call_, put_);
  }
  void Native() override {
    const float *price = price_.data(), *strike = strike_.data(), *years = years_.data();
    float *call = call_.data(), *put = put_.data();
#pragma omp parallel for simd schedule(static)
    for (uint32_t i = 0; i < kCount; ++i) {
      const float root = std::sqrt(years[i]);
      const float d1 = (std::log(price[i] / strike[i]) + (0.02f + 0.5f * 0.09f) * years[i]) / (0.3f * root);
      const float d2 = d1 - 0.3f * root, n1 = Distribution(d1), n2 = Distribution(d2);
      const float discounted = strike[i] * std::exp(-0.02f * years[i]);
      call[i] = price[i] * n1 - discounted * n2;
      put[i] = discounted * (1 - n2) - price[i] * (1 - n1);
    }
  }

 private:
  static constexpr uint32_t kCount = 1 << 20;
  static std::vector<float> Between(float low, float high, uint32_t salt) {
    std::vector<float> values(kCount);
    for (uint32_t i = 0; i < kCount; ++i) values[i] = low + (high - low) * problem::Unit(i * 3 + salt);
    return values;
  }
  static float Distribution(float d) {
    const float k = 1 / (0.2316419f * std::fabs(d) + 1);
    const float sum =
        ((((k * 1.330274429f - 1.821255978f) * k + 1.781477937f) * k - 0.356563782f) * k + 0.31938153f) * k;
    const float tail = 0.39894228f * std::exp(-0.5f * d * d) * sum;
    return d > 0 ? 1 - tail : tail;
  }
  Array<float> price_, strike_, years_, call_, put_;
};

}  // namespace

std::vector<Entry> Streaming() { return {Named<Triad>("triad 4M"), Named<BlackScholes>("Black-Scholes 1M")}; }

}  // namespace bench
