// Rows of a neural network: softmax, layer norm, attention.
#include "problem.h"
#include "problems.h"

EMBED_TEXT(neural_ptx, "kernels/neural.ptx");
EMBED_TEXT(neural_cl, "kernels/neural.cl");

namespace bench {
namespace {

using problem::Floats;
constexpr uint32_t kRows = 2048, kWidth = 1024;

class Softmax final : public Problem {
 public:
  explicit Softmax(OpenCl* opencl)
      : Problem({neural_ptx, neural_cl}), from_(opencl, Floats(kRows * kWidth)), to_(opencl, Floats(kRows * kWidth)) {
    work = {.bytes = 8.0 * kRows * kWidth, .operations = 20.0 * kRows * kWidth};
    Returns(to_, 1e-5);
  }
  void Kernels(Runner& on) override { on.Launch("softmax", {.x = kRows}, from_, to_); }
  void Native() override {
#pragma omp parallel for schedule(static)
    for (uint32_t y = 0; y < kRows; ++y) {
      const float* from = from_.data() + size_t{y} * kWidth;
      float *to = to_.data() + size_t{y} * kWidth, highest = from[0], sum = 0;
#pragma omp simd reduction(max : highest)
      for (uint32_t x = 0; x < kWidth; ++x) highest = std::max(highest, from[x]);
#pragma omp simd reduction(+ : sum)
      for (uint32_t x = 0; x < kWidth; ++x) sum += to[x] = std::exp(from[x] - highest);
      const float scale = 1 / sum;
#pragma omp simd
      for (uint32_t x = 0; x < kWidth; ++x) to[x] *= scale;
    }
  }

 private:
  Array<float> from_, to_;
};

class LayerNorm final : public Problem {
 public:
  explicit LayerNorm(OpenCl* opencl)
      : Problem({neural_ptx, neural_cl}),
        from_(opencl, Floats(kRows * kWidth)),
        gain_(opencl, Floats(kWidth, 3)),
        bias_(opencl, Floats(kWidth, 4)),
        to_(opencl, Floats(kRows * kWidth)) {
    work = {.bytes = 8.0 * kRows * kWidth, .operations = 8.0 * kRows * kWidth};
    Returns(to_, 1e-4);
  }
  void Kernels(Runner& on) override { on.Launch("layer_norm", {.x = kRows}, from_, gain_, bias_, to_); }
  void Native() override {
    const float *gain = gain_.data(), *bias = bias_.data();
#pragma omp parallel for schedule(static)
    for (uint32_t y = 0; y < kRows; ++y) {
      const float* from = from_.data() + size_t{y} * kWidth;
      float *to = to_.data() + size_t{y} * kWidth, sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
      for (uint32_t x = 0; x < kWidth; ++x) sum += from[x];
      const float mean = sum / kWidth;
#pragma omp simd reduction(+ : squares)
      for (uint32_t x = 0; x < kWidth; ++x) squares += (from[x] - mean) * (from[x] - mean);
      const float scale = 1 / std::sqrt(squares / kWidth + 1e-5f);
#pragma omp simd
      for (uint32_t x = 0; x < kWidth; ++x) to[x] = (from[x] - mean) * scale * gain[x] + bias[x];
    }
  }

 private:
  Array<float> from_, gain_, bias_, to_;
};

class Attention final : public Problem {
 public:
  explicit Attention(OpenCl* opencl)
      : Problem({neural_ptx, neural_cl}),
        queries_(opencl, Floats(kCount)),
        keys_(opencl, Floats(kCount, 1)),
        values_(opencl, Floats(kCount, 2)),
        to_(opencl, Floats(kCount)) {
    work = {.operations = 4.0 * kHeads * kLength * kLength * kDepth};
    Returns(to_, 1e-3);
  }
  void Kernels(Runner& on) override {
    on.Launch("attention", {kLength / 64, kHeads, 64, 1}, queries_, keys_, values_, to_, kLength);
  }
  void Native() override {
#pragma omp parallel for collapse(2) schedule(static)
    for (uint32_t head = 0; head < kHeads; ++head) {
      for (uint32_t i = 0; i < kLength; ++i) {
        const size_t base = size_t{head} * kLength * kDepth, at = base + i * kDepth;
        float weights[kLength], sums[kDepth] = {}, highest = -1e30f, total = 0;
        for (uint32_t j = 0; j < kLength; ++j) {
          const float *q = queries_.data() + at, *k = keys_.data() + base + j * kDepth;
          float score = 0;
#pragma omp simd reduction(+ : score)
          for (uint32_t d = 0; d < kDepth; ++d) score += q[d] * k[d];
          weights[j] = score * 0.125f;
          highest = std::max(highest, weights[j]);
        }
#pragma omp simd reduction(+ : total)
        for (uint32_t j = 0; j < kLength; ++j) total += weights[j] = std::exp(weights[j] - highest);
        for (uint32_t j = 0; j < kLength; ++j) {
          const float* v = values_.data() + base + j * kDepth;
#pragma omp simd
          for (uint32_t d = 0; d < kDepth; ++d) sums[d] += weights[j] * v[d];
        }
        for (uint32_t d = 0; d < kDepth; ++d) to_.host[at + d] = sums[d] / total;
      }
    }
  }

 private:
  static constexpr uint32_t kHeads = 4, kLength = 512, kDepth = 64, kCount = kHeads * kLength * kDepth;
  Array<float> queries_, keys_, values_, to_;
};

}  // namespace

std::vector<Entry> Neural() {
  return {Named<Softmax>("softmax 2048x1024"), Named<LayerNorm>("layer norm 2048x1024"),
          Named<Attention>("attention 4x512x64")};
}

}  // namespace bench
