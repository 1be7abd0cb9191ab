// address_checks: the cost of checking every address. Compiles the six kernels of `kernels`, and ten that only access
// memory, with the checks and without, and runs each on one thread without a device. No option of the product turns the
// checks off: this program asks the compiler itself.
//
//   address_checks [DIRECTORY] [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "compiler/testing/test_module.h"
#include "kernels/problems.h"
#include "report.h"
#include "timing.h"

namespace {

using namespace bench;
using namespace bench::problem;
using tutti::compiler::CompileOptions;
using tutti::compiler::GridLaunch;
using tutti::compiler::HostTarget;
using tutti::compiler::TestModule;

constexpr uint32_t kWords = 1u << 20;

class Comparison {
 public:
  Comparison(const std::string& ptx, int rounds, Report& report) : rounds_(rounds), report_(report) {
    for (const bool check : {true, false}) {
      auto module = TestModule::OpenFile(TUTTI_SOURCE_DIR "/bench/kernels/" + ptx,
                                         CompileOptions{.check_addresses = check, .target = HostTarget::Detect()});
      if (!module) Stop(module.error().text);
      modules_.push_back(std::move(*module));
    }
  }

  // Alternately, so that both see the same machine.
  void Measure(const std::string& kernel, const GridLaunch& launch) {
    std::vector<double> samples[2];
    for (int round = 0; round <= rounds_; ++round) {
      for (int way = 0; way < 2; ++way) {
        const double begin = ThreadMs();
        const auto result = modules_[static_cast<size_t>(way)].Run(kernel, launch);
        const double ms = ThreadMs() - begin;
        if (!result) Stop(result.error().text);
        if (result->fault)
          Stop(fmt::format("{}: fault {} at PTX line {}", kernel, static_cast<int>(result->fault->kind),
                           result->fault->ptx_line));
        if (round != 0) samples[way].push_back(ms);  // the first compiles
      }
    }
    const Statistics checked = Summarize(samples[0]), unchecked = Summarize(samples[1]);
    // The least of each is the least disturbed.
    const double ratio = samples[0].front() / samples[1].front();
    report_.Add({kernel, samples[0].front(), "ms", samples[1].front(), "unchecked", ratio,
                 std::max(checked.spread, unchecked.spread)});
    logarithms += std::log(ratio);
    worst = std::max(worst, ratio);
    ++kernels;
  }

  static inline double logarithms = 0;
  static inline double worst = 0;
  static inline int kernels = 0;

 private:
  [[noreturn]] static void Stop(const std::string& why) {
    fmt::print(stderr, "address_checks: {}\n", why);
    std::exit(1);
  }

  std::vector<TestModule> modules_;
  int rounds_;
  Report& report_;
};

void MeasureKernels(Comparison& comparison) {
  using Values = std::vector<float>;
  Values x = Floats(kSaxpyCount), y = Floats(kSaxpyCount, 7), z(kSaxpyCount);
  comparison.Measure("saxpy", GridLaunch{.grid = {kSaxpyCount / 256, 1, 1}, .block = {256, 1, 1}}
                                  .Param(1e-7f)
                                  .Param(x.data())
                                  .Param(y.data())
                                  .Param(kSaxpyCount));
  comparison.Measure(
      "tree_reduction",
      GridLaunch{.grid = {kReductionCount / 256, 1, 1}, .block = {256, 1, 1}}.Param(x.data()).Param(z.data()));
  comparison.Measure("sgemm", GridLaunch{.grid = {kGemmSize / 16, kGemmSize / 16, 1}, .block = {16, 16, 1}}
                                  .Param(x.data())
                                  .Param(y.data())
                                  .Param(z.data())
                                  .Param(kGemmSize));
  comparison.Measure(
      "mandelbrot",
      GridLaunch{.grid = {kMandelbrotSize / 128, kMandelbrotSize, 1}, .block = {128, 1, 1}}.Param(z.data()).Param(
          kMandelbrotSize));
  comparison.Measure(
      "n_body",
      GridLaunch{.grid = {kBodies / 256, 1, 1}, .block = {256, 1, 1}}.Param(x.data()).Param(z.data()).Param(kBodies));
  const Sparse matrix = Matrix();
  comparison.Measure("spmv", GridLaunch{.grid = {kRows / 256, 1, 1}, .block = {256, 1, 1}}
                                 .Param(matrix.starts.data())
                                 .Param(matrix.columns.data())
                                 .Param(matrix.values.data())
                                 .Param(x.data())
                                 .Param(z.data())
                                 .Param(kRows));
}

void MeasureMemory(Comparison& comparison) {
  std::vector<uint32_t> from(2 * kWords), to(2 * kWords);
  for (uint32_t i = 0; i < from.size(); ++i) from[i] = example::Hash(i);
  for (const char* kernel :
       {"copy", "copy_vectors", "copy_bytes", "triad", "stencil", "transpose", "stride", "gather", "scatter", "walk"}) {
    const uint32_t blocks = std::string(kernel) == "walk" ? 16384 / 256 : kWords / 256;
    comparison.Measure(kernel,
                       GridLaunch{.grid = {blocks, 1, 1}, .block = {256, 1, 1}}.Param(from.data()).Param(to.data()));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 30;
  Report report(
      "address_checks",
      "ratio: checked / unchecked, single thread, best of the rounds; aim: geometric mean <= 1.05, worst <= 1.15");
  Comparison kernels("kernels.ptx", rounds, report), memory("memory.ptx", rounds, report);
  MeasureKernels(kernels);
  MeasureMemory(memory);
  report.Add({"geometric mean", std::exp(Comparison::logarithms / Comparison::kernels), "x", 1, "unchecked",
              std::exp(Comparison::logarithms / Comparison::kernels), 0});
  report.Add({"worst", Comparison::worst, "x", 1, "unchecked", Comparison::worst, 0});
  return report.Finish(count > 1 ? arguments[1] : ".");
}
