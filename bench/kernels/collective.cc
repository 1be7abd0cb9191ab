// Scans and histograms.
#include <omp.h>

#include "problem.h"
#include "problems.h"

EMBED_TEXT(scan_ptx, "kernels/scan.ptx");
EMBED_TEXT(scan_cl, "kernels/scan.cl");
EMBED_TEXT(histogram_ptx, "kernels/histogram.ptx");
EMBED_TEXT(histogram_cl, "kernels/histogram.cl");

namespace bench {
namespace {

std::vector<uint32_t> Words(uint32_t count) {
  std::vector<uint32_t> words(count);
  for (uint32_t i = 0; i < count; ++i) words[i] = example::Hash(i);
  return words;
}

class Scan final : public Problem {
 public:
  explicit Scan(OpenCl* opencl)
      : Problem({scan_ptx, scan_cl}),
        values_(opencl, Words(kCount)),
        sums_(opencl, std::vector<uint32_t>(kCount)),
        totals_(opencl, std::vector<uint32_t>(kBlocks)) {
    work = {.bytes = 8.0 * kCount};
    Returns(sums_);
  }
  void Kernels(Runner& on) override {
    on.Launch("scan_blocks", {.x = kBlocks}, values_, sums_, totals_);
    on.Launch("scan_totals", {.x = 1}, totals_, kBlocks);
    on.Launch("scan_add", {.x = kBlocks}, sums_, totals_);
  }
  void Native() override {
    const uint32_t* values = values_.data();
    uint32_t* sums = sums_.data();
    std::vector<uint32_t> parts(static_cast<size_t>(omp_get_max_threads()) + 1);
#pragma omp parallel
    {
      const auto thread = static_cast<uint32_t>(omp_get_thread_num());
      const auto threads = static_cast<uint32_t>(omp_get_num_threads());
      const size_t begin = uint64_t{kCount} * thread / threads, end = uint64_t{kCount} * (thread + 1) / threads;
      uint32_t total = 0;
#pragma omp simd reduction(+ : total)
      for (size_t i = begin; i < end; ++i) total += values[i];
      parts[thread + 1] = total;
#pragma omp barrier
      uint32_t sum = 0;
      for (uint32_t i = 0; i <= thread; ++i) sum += parts[i];
      for (size_t i = begin; i < end; ++i) sums[i] = sum += values[i];
    }
  }

 private:
  static constexpr uint32_t kCount = 1 << 22, kBlocks = kCount / 1024;
  Array<uint32_t> values_, sums_, totals_;
};

// A private histogram for each thread, then their sum.
template <typename Count>
void NativeHistogram(std::vector<uint32_t>& bins, Count count) {
  std::fill(bins.begin(), bins.end(), 0);
#pragma omp parallel
  {
    std::vector<uint32_t> mine(bins.size());
    count(mine.data());
#pragma omp critical
    for (size_t i = 0; i < bins.size(); ++i) bins[i] += mine[i];
  }
}

class SharedHistogram final : public Problem {
 public:
  explicit SharedHistogram(OpenCl* opencl)
      : Problem({histogram_ptx, histogram_cl}),
        words_(opencl, Words(kCount)),
        bins_(opencl, std::vector<uint32_t>(256)) {
    work = {.bytes = 4.0 * kCount};
    Returns(bins_);
  }
  void Kernels(Runner& on) override {
    on.Clear(bins_, 0);
    on.Launch("histogram_shared", {.x = 256}, words_, bins_, kCount);
  }
  void Native() override {
    NativeHistogram(bins_.host, [&](uint32_t* bins) {
#pragma omp for schedule(static)
      for (uint32_t i = 0; i < kCount; ++i) {
        const uint32_t word = words_.host[i];
        ++bins[word & 255];
        ++bins[word >> 8 & 255];
        ++bins[word >> 16 & 255];
        ++bins[word >> 24];
      }
    });
  }

 private:
  static constexpr uint32_t kCount = 1 << 21;
  Array<uint32_t> words_, bins_;
};

class GlobalHistogram final : public Problem {
 public:
  explicit GlobalHistogram(OpenCl* opencl)
      : Problem({histogram_ptx, histogram_cl}),
        words_(opencl, Words(kCount)),
        bins_(opencl, std::vector<uint32_t>(65536)) {
    work = {.bytes = 4.0 * kCount};
    Returns(bins_);
  }
  void Kernels(Runner& on) override {
    on.Clear(bins_, 0);
    on.Launch("histogram_global", {.x = kCount / 256}, words_, bins_);
  }
  void Native() override {
    NativeHistogram(bins_.host, [&](uint32_t* bins) {
#pragma omp for schedule(static)
      for (uint32_t i = 0; i < kCount; ++i) ++bins[words_.host[i] & 65535];
    });
  }
  // Others, in this process and in others, may count in the same bins.
  bool NativeOnItsTerms() override {
    std::fill(bins_.host.begin(), bins_.host.end(), 0);
#pragma omp parallel for schedule(static)
    for (uint32_t i = 0; i < kCount; ++i) __atomic_fetch_add(&bins_.host[words_.host[i] & 65535], 1, __ATOMIC_RELAXED);
    return true;
  }

 private:
  static constexpr uint32_t kCount = 1 << 22;
  Array<uint32_t> words_, bins_;
};

}  // namespace

std::vector<Entry> Collective() {
  return {Named<Scan>("scan 4M"), Named<SharedHistogram>("histogram, shared atomics 8M"),
          Named<GlobalHistogram>("histogram, global atomics 4M")};
}

}  // namespace bench
