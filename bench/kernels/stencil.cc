// Stencils and a convolution.
#include "problem.h"
#include "problems.h"

EMBED_TEXT(stencil_ptx, "kernels/stencil.ptx");
EMBED_TEXT(stencil_cl, "kernels/stencil.cl");

namespace bench {
namespace {

using problem::Floats;

class Stencil2d final : public Problem {
 public:
  explicit Stencil2d(OpenCl* opencl)
      : Problem({stencil_ptx, stencil_cl}), from_(opencl, Floats(kSize * kSize)), to_(opencl, Floats(kSize * kSize)) {
    work = {.bytes = 8.0 * kSize * kSize, .operations = 6.0 * kSize * kSize};
    Returns(to_, 1e-5);
  }
  void Kernels(Runner& on) override { on.Launch("stencil_2d", {kSize / 32, kSize / 8, 32, 8}, from_, to_, kSize); }
  void Native() override {
    const float* from = from_.data();
    float* to = to_.data();
#pragma omp parallel for schedule(static)
    for (uint32_t y = 1; y < kSize - 1; ++y) {
      const float* row = from + size_t{y} * kSize;
      float* out = to + size_t{y} * kSize;
#pragma omp simd
      for (uint32_t x = 1; x < kSize - 1; ++x)
        out[x] = 0.5f * row[x] + 0.125f * (row[size_t{x} - 1] + row[x + 1] + *(row + x - kSize) + *(row + x + kSize));
    }
  }

 private:
  static constexpr uint32_t kSize = 2048;
  Array<float> from_, to_;
};

class Stencil3d final : public Problem {
 public:
  explicit Stencil3d(OpenCl* opencl)
      : Problem({stencil_ptx, stencil_cl}), from_(opencl, Floats(kPlane * kSize)), to_(opencl, Floats(kPlane * kSize)) {
    work = {.bytes = 8.0 * kPlane * kSize, .operations = 8.0 * kPlane * kSize};
    Returns(to_, 1e-5);
  }
  void Kernels(Runner& on) override { on.Launch("stencil_3d", {kSize / 32, kSize / 8, 32, 8}, from_, to_, kSize); }
  void Native() override {
    const float* from = from_.data();
    float* to = to_.data();
#pragma omp parallel for collapse(2) schedule(static)
    for (uint32_t z = 1; z < kSize - 1; ++z) {
      for (uint32_t y = 1; y < kSize - 1; ++y) {
        const float* row = from + size_t{z} * kPlane + y * kSize;
        float* out = to + size_t{z} * kPlane + y * kSize;
#pragma omp simd
        for (uint32_t x = 1; x < kSize - 1; ++x)
          out[x] = 0.4f * row[x] + 0.1f * (row[size_t{x} - 1] + row[x + 1] + *(row + x - kSize) + row[x + kSize] +
                                           *(row + x - kPlane) + row[x + kPlane]);
      }
    }
  }

 private:
  static constexpr uint32_t kSize = 128, kPlane = kSize * kSize;
  Array<float> from_, to_;
};

class Convolution final : public Problem {
 public:
  explicit Convolution(OpenCl* opencl)
      : Problem({stencil_ptx, stencil_cl}),
        from_(opencl, Floats(kStride * kStride)),
        weights_(opencl, Floats(49, 5)),
        to_(opencl, Floats(kSize * kSize)) {
    work = {.bytes = 8.0 * kSize * kSize, .operations = 98.0 * kSize * kSize};
    Returns(to_, 1e-4);
  }
  void Kernels(Runner& on) override {
    on.Launch("convolution", {kSize / 16, kSize / 16, 16, 16}, from_, weights_, to_, kSize);
  }
  void Native() override {
    const float *from = from_.data(), *weights = weights_.data();
#pragma omp parallel for schedule(static)
    for (uint32_t y = 0; y < kSize; ++y) {
      for (uint32_t start = 0; start < kSize; start += kPiece) {
        float sums[kPiece] = {};
        for (uint32_t j = 0; j < 7; ++j) {
          for (uint32_t i = 0; i < 7; ++i) {
            const float* row = from + size_t{y + j} * kStride + start + i;
            const float weight = weights[j * 7 + i];
#pragma omp simd
            for (uint32_t x = 0; x < kPiece; ++x) sums[x] += weight * row[x];
          }
        }
        for (uint32_t x = 0; x < kPiece; ++x) to_.host[size_t{y} * kSize + start + x] = sums[x];
      }
    }
  }

 private:
  static constexpr uint32_t kSize = 1024, kStride = kSize + 6, kPiece = 128;
  Array<float> from_, weights_, to_;
};

}  // namespace

std::vector<Entry> Stencils() {
  return {Named<Stencil2d>("stencil 2D 2048"), Named<Stencil3d>("stencil 3D 128"),
          Named<Convolution>("convolution 7x7 1024")};
}

}  // namespace bench
