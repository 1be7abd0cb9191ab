// kernels: six kernels on the CPU device beside native C++ (one thread, all threads) and PoCL's OpenCL. Every
// implementation runs the same problem; results are compared before anything is timed.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <thread>

#include "../driver.h"
#include "../median.h"
#include "../report.h"
#include "native.h"
#include "opencl.h"
#include "problems.h"

EMBED_TEXT(ptx, "kernels/kernels.ptx");
EMBED_TEXT(cl_source, "kernels/kernels.cl");

namespace {

using namespace bench;
using Values = std::vector<float>;

// One kernel in its four implementations. Each runs once, to the end; `result` reads what the device computed.
struct Case {
  std::string name;
  std::function<void()> device;
  std::function<void(uint32_t thread, uint32_t threads)> native;
  std::function<void(OpenCl&)> opencl;
  std::function<Values()> device_result, native_result;
  double tolerance;
};

// The threads of one benchmark: they wait for work by spinning, as a thread pool's would at its best.
void OnThreads(uint32_t threads, const std::function<void(uint32_t, uint32_t)>& body) {
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < threads; ++i) others.emplace_back(body, i, threads);
  body(0, threads);
  for (std::thread& other : others) other.join();
}

// The part of [0, count) that `thread` of `threads` does.
std::pair<uint32_t, uint32_t> Part(uint32_t count, uint32_t thread, uint32_t threads) {
  return {static_cast<uint32_t>(uint64_t{count} * thread / threads),
          static_cast<uint32_t>(uint64_t{count} * (thread + 1) / threads)};
}

OpenCl::Argument Plain(const auto& value) { return {-1, &value, sizeof value}; }

void Measure(Report& report, OpenCl* opencl, const std::string& without, const Case& kernel) {
  kernel.device();
  kernel.native(0, 1);
  const Values got = kernel.device_result(), expected = kernel.native_result();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!(std::fabs(got[i] - expected[i]) <= kernel.tolerance * std::max(1.0f, std::fabs(expected[i])))) {
      fmt::print(stderr, "kernels: {}: result {} is {}, native C++ says {}\n", kernel.name, i, got[i], expected[i]);
      std::exit(1);
    }
  }
  const double device = MedianMs(kernel.device);
  const double one = MedianMs([&] { kernel.native(0, 1); });
  const uint32_t threads = std::thread::hardware_concurrency();
  const double all = MedianMs([&] { OnThreads(threads, kernel.native); });
  const double cl = opencl != nullptr ? MedianMs([&] { kernel.opencl(*opencl); }) : 0;
  report.Add({kernel.name, device, "ms", cl, opencl != nullptr ? "PoCL" : without, cl / device});
  report.Add({kernel.name, device, "ms", one, "native C++, one thread", one / device});
  report.Add({kernel.name, device, "ms", all, fmt::format("native C++, {} threads", threads), all / device});
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bench::problem;
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  OpenDevice();
  const CUmodule module = LoadModule(ptx);
  std::string without;
  const std::unique_ptr<OpenCl> opencl = OpenCl::Open(cl_source, &without);
  Report report("kernels",
                "ratio: what stands beside it / ours (above 1: ours is faster); aim: ahead of PoCL on all but spmv");
  const auto buffer = [&](const auto& values) {
    return opencl ? opencl->CreateBuffer(values.data(), values.size() * sizeof values[0]) : -1;
  };
  const auto finish = [] { CHECK_CU(cuCtxSynchronize()); };

  {
    const CUfunction function = GetFunction(module, "saxpy");
    const float a = 1e-7f;
    Values x = Floats(kSaxpyCount), y = Floats(kSaxpyCount, 7);
    driver::Buffer<float> dx(x), dy(y);
    const int cx = buffer(x), cy = buffer(y);
    Measure(report, opencl.get(), without,
            {"saxpy 4M",
             [&] {
               Launch(function, kSaxpyCount / 256, 1, 256, 1, nullptr, a, dx.address(), dy.address(), kSaxpyCount);
               finish();
             },
             [&](uint32_t thread, uint32_t threads) {
               const auto [b, e] = Part(kSaxpyCount, thread, threads);
               native::Saxpy(a, x.data(), y.data(), b, e);
             },
             [&](OpenCl& cl) {
               cl.Run("saxpy", std::vector<OpenCl::Argument>{Plain(a), {cx}, {cy}, Plain(kSaxpyCount)}, kSaxpyCount, 1,
                      256, 1);
             },
             [&] { return dy.Read(); }, [&] { return y; }, 0});
  }
  {
    const CUfunction function = GetFunction(module, "tree_reduction");
    constexpr uint32_t kBlocks = kReductionCount / 256;
    Values values = Floats(kReductionCount), sums(kBlocks);
    driver::Buffer<float> dv(values), ds(kBlocks);
    const int cv = buffer(values), cs = buffer(sums);
    Measure(report, opencl.get(), without,
            {"tree reduction 2M",
             [&] {
               Launch(function, kBlocks, 1, 256, 1, nullptr, dv.address(), ds.address());
               finish();
             },
             [&](uint32_t thread, uint32_t threads) {
               const auto [b, e] = Part(kBlocks, thread, threads);
               native::Reduction(values.data(), sums.data(), b, e);
             },
             [&](OpenCl& cl) {
               cl.Run("tree_reduction", std::vector<OpenCl::Argument>{{cv}, {cs}}, kReductionCount, 1, 256, 1);
             },
             [&] { return ds.Read(); }, [&] { return sums; }, 0});
  }
  {
    const CUfunction function = GetFunction(module, "sgemm");
    Values a = Floats(kGemmSize * kGemmSize), b = Floats(kGemmSize * kGemmSize, 9), c(kGemmSize * kGemmSize);
    driver::Buffer<float> da(a), db(b), dc(c);
    const int ca = buffer(a), cb = buffer(b), cc = buffer(c);
    Measure(report, opencl.get(), without,
            {"tiled SGEMM 512",
             [&] {
               Launch(function, kGemmSize / 16, kGemmSize / 16, 16, 16, nullptr, da.address(), db.address(),
                      dc.address(), kGemmSize);
               finish();
             },
             [&](uint32_t thread, uint32_t threads) {
               const auto [lo, hi] = Part(kGemmSize, thread, threads);
               native::Sgemm(a.data(), b.data(), c.data(), kGemmSize, lo, hi);
             },
             [&](OpenCl& cl) {
               cl.Run("sgemm", std::vector<OpenCl::Argument>{{ca}, {cb}, {cc}, Plain(kGemmSize)}, kGemmSize, kGemmSize,
                      16, 16);
             },
             [&] { return dc.Read(); }, [&] { return c; }, 0});
  }
  {
    const CUfunction function = GetFunction(module, "mandelbrot");
    std::vector<uint32_t> counts(kMandelbrotSize * kMandelbrotSize);
    driver::Buffer<uint32_t> dc(counts.size());
    const int cc = buffer(counts);
    const auto as_floats = [](const std::vector<uint32_t>& v) { return Values(v.begin(), v.end()); };
    Measure(report, opencl.get(), without,
            {"mandelbrot 1024",
             [&] {
               Launch(function, kMandelbrotSize / 128, kMandelbrotSize, 128, 1, nullptr, dc.address(), kMandelbrotSize);
               finish();
             },
             [&](uint32_t thread, uint32_t threads) {
               const auto [lo, hi] = Part(kMandelbrotSize, thread, threads);
               native::Mandelbrot(counts.data(), kMandelbrotSize, lo, hi);
             },
             [&](OpenCl& cl) {
               cl.Run("mandelbrot", std::vector<OpenCl::Argument>{{cc}, Plain(kMandelbrotSize)}, kMandelbrotSize,
                      kMandelbrotSize, 128, 1);
             },
             [&] { return as_floats(dc.Read()); }, [&] { return as_floats(counts); }, 0});
  }
  {
    const CUfunction function = GetFunction(module, "n_body");
    Values bodies = Floats(4 * kBodies), accelerations(4 * kBodies);
    driver::Buffer<float> db(bodies), da(accelerations);
    const int cb = buffer(bodies), ca = buffer(accelerations);
    Measure(report, opencl.get(), without,
            {"n-body 4096",
             [&] {
               Launch(function, kBodies / 256, 1, 256, 1, nullptr, db.address(), da.address(), kBodies);
               finish();
             },
             [&](uint32_t thread, uint32_t threads) {
               const auto [lo, hi] = Part(kBodies, thread, threads);
               native::NBody(bodies.data(), accelerations.data(), kBodies, lo, hi);
             },
             [&](OpenCl& cl) {
               cl.Run("n_body", std::vector<OpenCl::Argument>{{cb}, {ca}, Plain(kBodies)}, kBodies, 1, 256, 1);
             },
             [&] { return da.Read(); }, [&] { return accelerations; }, 1e-3});
  }
  {
    const CUfunction function = GetFunction(module, "spmv");
    const Sparse matrix = Matrix();
    Values x = Floats(kRows), y(kRows);
    driver::Buffer<uint32_t> ds(matrix.starts), dc(matrix.columns);
    driver::Buffer<float> dv(matrix.values), dx(x), dy(y);
    const int cs = buffer(matrix.starts), cc = buffer(matrix.columns), cv = buffer(matrix.values), cx = buffer(x),
              cy = buffer(y);
    Measure(
        report, opencl.get(), without,
        {"SpMV CSR 64K rows",
         [&] {
           Launch(function, kRows / 256, 1, 256, 1, nullptr, ds.address(), dc.address(), dv.address(), dx.address(),
                  dy.address(), kRows);
           finish();
         },
         [&](uint32_t thread, uint32_t threads) {
           const auto [lo, hi] = Part(kRows, thread, threads);
           native::Spmv(matrix.starts.data(), matrix.columns.data(), matrix.values.data(), x.data(), y.data(), lo, hi);
         },
         [&](OpenCl& cl) {
           cl.Run("spmv", std::vector<OpenCl::Argument>{{cs}, {cc}, {cv}, {cx}, {cy}, Plain(kRows)}, kRows, 1, 256, 1);
         },
         [&] { return dy.Read(); }, [&] { return y; }, 1e-5});
  }
  return report.Finish(out);
}
