// Monte Carlo.
#include "problem.h"
#include "problems.h"

EMBED_TEXT(monte_carlo_ptx, "kernels/monte_carlo.ptx");
EMBED_TEXT(monte_carlo_cl, "kernels/monte_carlo.cl");

namespace bench {
namespace {

class MonteCarlo final : public Problem {
 public:
  explicit MonteCarlo(OpenCl* opencl)
      : Problem({monte_carlo_ptx, monte_carlo_cl}), counts_(opencl, std::vector<uint32_t>(kThreads)) {
    work = {.operations = 120.0 * kThreads * kDraws};
    Returns(counts_);
  }
  void Kernels(Runner& on) override { on.Launch("monte_carlo", {.x = kThreads / 256}, counts_, kDraws); }
  void Native() override {
    uint32_t* counts = counts_.data();
#pragma omp parallel for simd schedule(static)
    for (uint32_t i = 0; i < kThreads; ++i) {
      uint32_t inside = 0;
      for (uint32_t draw = 0; draw < kDraws; ++draw) inside += Draw(draw, i);
      counts[i] = inside;
    }
  }

 private:
  static constexpr uint32_t kThreads = 1 << 16, kDraws = 32;
  static float Uniform(uint32_t bits) { return static_cast<float>(bits) * 0x1p-32f + 0x1p-33f; }
  static uint32_t Inside(float x, float y) { return std::fma(x, x, y * y) <= 1.0f ? 1 : 0; }
  [[gnu::always_inline]] static uint32_t Draw(uint32_t draw, uint32_t i) {
    uint32_t a = draw, b = 0, c = i, d = 0, key0 = 1234, key1 = 0;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t first = uint64_t{0xD2511F53u} * a, second = uint64_t{0xCD9E8D57u} * c;
      a = static_cast<uint32_t>(second >> 32) ^ b ^ key0;
      b = static_cast<uint32_t>(second);
      c = static_cast<uint32_t>(first >> 32) ^ d ^ key1;
      d = static_cast<uint32_t>(first);
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    return Inside(Uniform(a), Uniform(b)) + Inside(Uniform(c), Uniform(d));
  }
  Array<uint32_t> counts_;
};

}  // namespace

std::vector<Entry> Simulations() { return {Named<MonteCarlo>("Monte Carlo, Philox 4M")}; }

}  // namespace bench
