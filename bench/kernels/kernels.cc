// The first kernels, which other programs measure too (native.h); the product of matrices is in gemm.cc.
#include <omp.h>

#include "native.h"
#include "problem.h"
#include "problems.h"

EMBED_TEXT(kernels_ptx, "kernels/kernels.ptx");
EMBED_TEXT(kernels_cl, "kernels/kernels.cl");

namespace bench {
namespace {

using namespace problem;

// Runs `body` on each core's part of [0, count).
template <typename Body>
void OnParts(uint32_t count, Body body) {
#pragma omp parallel
  {
    const auto thread = static_cast<uint32_t>(omp_get_thread_num());
    const auto threads = static_cast<uint32_t>(omp_get_num_threads());
    body(static_cast<uint32_t>(uint64_t{count} * thread / threads),
         static_cast<uint32_t>(uint64_t{count} * (thread + 1) / threads));
  }
}

class Saxpy final : public Problem {
 public:
  explicit Saxpy(OpenCl* opencl)
      : Problem({kernels_ptx, kernels_cl}), x_(opencl, Floats(kSaxpyCount)), y_(opencl, Floats(kSaxpyCount, 7)) {
    work = {.bytes = 12.0 * kSaxpyCount};
    Returns(y_, 1e-6);
  }
  void Kernels(Runner& on) override { on.Launch("saxpy", {.x = kSaxpyCount / 256}, kFactor, x_, y_, kSaxpyCount); }
  void Native() override {
    OnParts(kSaxpyCount,
            [&](uint32_t begin, uint32_t end) { native::Saxpy(kFactor, x_.data(), y_.data(), begin, end); });
  }

 private:
  static constexpr float kFactor = 1e-7f;
  Array<float> x_, y_;
};

class TreeReduction final : public Problem {
 public:
  explicit TreeReduction(OpenCl* opencl)
      : Problem({kernels_ptx, kernels_cl}), values_(opencl, Floats(kReductionCount)), sums_(opencl, Floats(kBlocks)) {
    work = {.bytes = 4.0 * kReductionCount};
    Returns(sums_, 1e-6);
  }
  void Kernels(Runner& on) override { on.Launch("tree_reduction", {.x = kBlocks}, values_, sums_); }
  void Native() override {
    OnParts(kBlocks,
            [&](uint32_t begin, uint32_t end) { native::Reduction(values_.data(), sums_.data(), begin, end); });
  }

 private:
  static constexpr uint32_t kBlocks = kReductionCount / 256;
  Array<float> values_, sums_;
};

class Mandelbrot final : public Problem {
 public:
  explicit Mandelbrot(OpenCl* opencl)
      : Problem({kernels_ptx, kernels_cl}), counts_(opencl, std::vector<uint32_t>(kMandelbrotSize * kMandelbrotSize)) {
    Native();
    double steps = 0;
    for (const uint32_t count : counts_.host) steps += count;
    work = {.operations = 10 * steps};
    Returns(counts_);
  }
  void Kernels(Runner& on) override {
    on.Launch("mandelbrot", {kMandelbrotSize / 128, kMandelbrotSize, 128, 1}, counts_, kMandelbrotSize);
  }
  void Native() override {
#pragma omp parallel for schedule(dynamic, 8)
    for (uint32_t row = 0; row < kMandelbrotSize; ++row)
      native::Mandelbrot(counts_.data(), kMandelbrotSize, row, row + 1);
  }

 private:
  Array<uint32_t> counts_;
};

class NBody final : public Problem {
 public:
  explicit NBody(OpenCl* opencl)
      : Problem({kernels_ptx, kernels_cl}), bodies_(opencl, Floats(4 * kBodies)), pulls_(opencl, Floats(4 * kBodies)) {
    work = {.operations = 20.0 * kBodies * kBodies};
    Returns(pulls_, 1e-3);
  }
  void Kernels(Runner& on) override { on.Launch("n_body", {.x = kBodies / 256}, bodies_, pulls_, kBodies); }
  void Native() override {
    OnParts(kBodies,
            [&](uint32_t begin, uint32_t end) { native::NBody(bodies_.data(), pulls_.data(), kBodies, begin, end); });
  }

 private:
  Array<float> bodies_, pulls_;
};

class Csr final : public Problem {
 public:
  explicit Csr(OpenCl* opencl) : Csr(opencl, Matrix()) {}
  void Kernels(Runner& on) override {
    on.Launch("spmv", {.x = kRows / 256}, starts_, columns_, values_, x_, y_, kRows);
  }
  void Native() override {
    OnParts(kRows, [&](uint32_t begin, uint32_t end) {
      native::Spmv(starts_.data(), columns_.data(), values_.data(), x_.data(), y_.data(), begin, end);
    });
  }

 private:
  Csr(OpenCl* opencl, Sparse matrix)
      : Problem({kernels_ptx, kernels_cl}),
        starts_(opencl, std::move(matrix.starts)),
        columns_(opencl, std::move(matrix.columns)),
        values_(opencl, std::move(matrix.values)),
        x_(opencl, Floats(kRows)),
        y_(opencl, Floats(kRows)) {
    work = {.bytes = 8.0 * static_cast<double>(values_.host.size()) + 12.0 * kRows};
    Returns(y_, 1e-5);
  }
  Array<uint32_t> starts_, columns_;
  Array<float> values_, x_, y_;
};

}  // namespace

std::vector<Entry> First() {
  return {Named<Saxpy>("saxpy 4M"), Named<TreeReduction>("tree reduction 2M"), Named<Mandelbrot>("mandelbrot 1024"),
          Named<NBody>("n-body 4096"), Named<Csr>("SpMV CSR 64K rows")};
}

}  // namespace bench
