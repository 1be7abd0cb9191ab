// Measures the compiler's code without a device around it: the kernels of `./dev bench kernels` on one thread, beside
// native C++, with the time each took to compile.
//
//   kernel_times [--quick] [--no-fence] [--cpu NAME] [KERNEL...]
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "../../../bench/kernels/native.h"
#include "../../../bench/kernels/problems.h"
#include "compiler/testing/test_module.h"

namespace {

using namespace bench::problem;
using tutti::compiler::CompileOptions;
using tutti::compiler::GridLaunch;
using tutti::compiler::HostTarget;
using tutti::compiler::TestModule;
using Values = std::vector<float>;

double ThreadMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Processor time of this thread: the machine is shared.
double Milliseconds(const std::function<void()>& body) {
  const double begin = ThreadMilliseconds();
  body();
  return ThreadMilliseconds() - begin;
}

double Best(const std::function<void()>& body) {
  const double once = Milliseconds(body);
  double best = once;
  for (int i = 0; i < std::clamp(static_cast<int>(500 / once), 3, 50); ++i) best = std::min(best, Milliseconds(body));
  return best;
}

class Times {
 public:
  Times(TestModule module, std::set<std::string> only) : module_(std::move(module)), only_(std::move(only)) {
    fmt::print("{:<16}{:>12}{:>12}{:>12}{:>10}\n", "kernel", "compile ms", "run ms", "native ms", "ratio");
  }

  void Measure(const std::string& kernel, const GridLaunch& launch, const std::function<void()>& native,
               Values& result) {
    if (!only_.empty() && !only_.contains(kernel)) return;
    double compile = 0;
    compile = Milliseconds([&] {
      if (const auto compiled = module_.Kernel(kernel, launch.block); !compiled)
        fmt::print("{}: {}\n", kernel, compiled.error().text);
    });
    if (!module_.Kernel(kernel, launch.block)) return;
    const auto run = [&] {
      const auto done = module_.Run(kernel, launch);
      if (done->fault)
        fmt::print("{}: fault {} at {:#x}\n", kernel, static_cast<int>(done->fault->kind), done->fault->address);
    };
    Values begin = result;
    run();
    const Values got = std::exchange(result, begin);
    native();
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i)
      wrong += !(std::fabs(got[i] - result[i]) <= 1e-3f * std::max(1.0f, std::fabs(result[i])));
    if (wrong != 0) fmt::print("{}: {} of {} results are wrong\n", kernel, wrong, got.size());
    const double run_ms = Best(run), native_ms = Best(native);
    fmt::print("{:<16}{:>12.1f}{:>12.2f}{:>12.2f}{:>10.2f}\n", kernel, compile, run_ms, native_ms, native_ms / run_ms);
  }

 private:
  TestModule module_;
  std::set<std::string> only_;
};

void MeasureAll(Times& times) {
  namespace native = bench::native;
  {
    Values x = Floats(kSaxpyCount), y = Floats(kSaxpyCount, 7);
    GridLaunch launch{.grid = {kSaxpyCount / 256, 1, 1}, .block = {256, 1, 1}};
    launch.Param(1e-7f).Param(x.data()).Param(y.data()).Param(kSaxpyCount);
    times.Measure("saxpy", launch, [&] { native::Saxpy(1e-7f, x.data(), y.data(), 0, kSaxpyCount); }, y);
  }
  {
    constexpr uint32_t kBlocks = kReductionCount / 256;
    Values values = Floats(kReductionCount), sums(kBlocks);
    GridLaunch launch{.grid = {kBlocks, 1, 1}, .block = {256, 1, 1}};
    launch.Param(values.data()).Param(sums.data());
    times.Measure("tree_reduction", launch, [&] { native::Reduction(values.data(), sums.data(), 0, kBlocks); }, sums);
  }
  {
    Values a = Floats(kGemmSize * kGemmSize), b = Floats(kGemmSize * kGemmSize, 9), c(kGemmSize * kGemmSize);
    GridLaunch launch{.grid = {kGemmSize / 16, kGemmSize / 16, 1}, .block = {16, 16, 1}};
    launch.Param(a.data()).Param(b.data()).Param(c.data()).Param(kGemmSize);
    times.Measure("sgemm", launch, [&] { native::Sgemm(a.data(), b.data(), c.data(), kGemmSize, 0, kGemmSize); }, c);
  }
  {
    Values counts(kMandelbrotSize * kMandelbrotSize);  // of u32: the patterns are compared as tiny floats
    GridLaunch launch{.grid = {kMandelbrotSize / 128, kMandelbrotSize, 1}, .block = {128, 1, 1}};
    launch.Param(counts.data()).Param(kMandelbrotSize);
    auto* words = reinterpret_cast<uint32_t*>(counts.data());
    times.Measure(
        "mandelbrot", launch, [&] { native::Mandelbrot(words, kMandelbrotSize, 0, kMandelbrotSize); }, counts);
  }
  {
    Values bodies = Floats(4 * kBodies), accelerations(4 * kBodies);
    GridLaunch launch{.grid = {kBodies / 256, 1, 1}, .block = {256, 1, 1}};
    launch.Param(bodies.data()).Param(accelerations.data()).Param(kBodies);
    times.Measure(
        "n_body", launch, [&] { native::NBody(bodies.data(), accelerations.data(), kBodies, 0, kBodies); },
        accelerations);
  }
  {
    Sparse matrix = Matrix();
    Values x = Floats(kRows), y(kRows);
    GridLaunch launch{.grid = {kRows / 256, 1, 1}, .block = {256, 1, 1}};
    launch.Param(matrix.starts.data())
        .Param(matrix.columns.data())
        .Param(matrix.values.data())
        .Param(x.data())
        .Param(y.data())
        .Param(kRows);
    times.Measure(
        "spmv", launch,
        [&] {
          native::Spmv(matrix.starts.data(), matrix.columns.data(), matrix.values.data(), x.data(), y.data(), 0, kRows);
        },
        y);
  }
}

}  // namespace

int main(int count, char** arguments) {
  CompileOptions options{.target = HostTarget::Detect()};
  std::set<std::string> only;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--no-fence") {
      options.check_addresses = false;
    } else if (argument == "--quick") {
      options.quick = options.quick_for_all = true;
    } else if (argument == "--cpu" && i + 1 < count) {
      options.target = HostTarget::Named(arguments[++i]);
    } else {
      only.insert(argument);
    }
  }
  auto module = TestModule::OpenFile(TUTTI_SOURCE_DIR "/bench/kernels/kernels.ptx", options);
  if (!module) {
    fmt::print(stderr, "{}\n", module.error().text);
    return 1;
  }
  Times times(std::move(*module), std::move(only));
  MeasureAll(times);
  return 0;
}
