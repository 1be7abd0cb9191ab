// kernels: kernels of the kinds that people run, on the CPU device, beside what a C++ programmer would write (OpenMP,
// -O3 for this processor), PoCL's OpenCL, and the limit of the machine. Results are compared before anything is timed.
//
//   kernels [DIRECTORY [PATTERN [ROUNDS]]]
//
// The machine may be shared: the contestants take turns, each ratio is of one round, and the table has their medians.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "../report.h"
#include "../timing.h"
#include "limit.h"
#include "problem.h"

namespace {

using namespace bench;

class OnDevice final : public Runner {
 public:
  explicit OnDevice(const Source& source) : module_(source.ptx != nullptr ? LoadModule(source.ptx) : nullptr) {}
  ~OnDevice() override {
    if (module_ != nullptr) CHECK_CU(cuModuleUnload(module_));
  }
  void Enqueue(const char* kernel, const Grid& grid, std::span<const Argument> arguments) override {
    CUfunction& function = functions_[kernel];
    if (function == nullptr) function = GetFunction(module_, kernel);
    std::vector<void*> pointers;
    for (const Argument& argument : arguments) {
      const void* at = argument.memory != nullptr ? &argument.memory->address : argument.data;
      pointers.push_back(const_cast<void*>(at));
    }
    CHECK_CU(cuLaunchKernel(function, grid.x, grid.y, 1, grid.block_x, grid.block_y, 1, 0, nullptr, pointers.data(),
                            nullptr));
  }
  void Clear(const Memory& memory, uint32_t word) override {
    CHECK_CU(cuMemsetD32_v2(memory.address, word, memory.bytes / 4));
  }
  void Finish() override { CHECK_CU(cuCtxSynchronize()); }
  bool is_opencl() const override { return false; }

 private:
  CUmodule module_;
  std::map<std::string, CUfunction> functions_;
};

class OnOpenCl final : public Runner {
 public:
  OnOpenCl(OpenCl& opencl, const Source& source) : opencl_(opencl), source_(source.cl) {}
  void Enqueue(const char* kernel, const Grid& grid, std::span<const Argument> arguments) override {
    std::vector<OpenCl::Argument> list;
    for (const Argument& argument : arguments)
      list.push_back({argument.memory != nullptr ? argument.memory->buffer : -1, argument.data, argument.bytes});
    opencl_.Run(source_, kernel, list, size_t{grid.x} * grid.block_x, size_t{grid.y} * grid.block_y, grid.block_x,
                grid.block_y);
  }
  void Clear(const Memory& memory, uint32_t word) override { opencl_.Clear(memory.buffer, word, memory.bytes); }
  void Finish() override { opencl_.Finish(); }
  bool is_opencl() const override { return true; }

 private:
  OpenCl& opencl_;
  const char* source_;
};

// The fastest call of one turn, in ms. Others' work on the machine only ever adds. Threads that spin for more work
// (OpenMP's) have gone to sleep when the next turn begins.
double Turn(const std::function<void()>& body) {
  usleep(3000);
  body();
  double best = INFINITY, spent = 0;
  while (spent < 12) {
    const double ms = TimeEach(1, body)[0] / 1e6;
    best = std::min(best, ms);
    spent += ms;
  }
  return best;
}

// The ratios of one kind over all kernels.
struct Ratios {
  std::string name;
  std::vector<double> medians;
};

class Table {
 public:
  Table(Report& report, size_t rounds) : report_(report), rounds_(rounds) {}

  void Measure(const std::string& name, Problem& problem, OpenCl* opencl) {
    OnDevice device(problem.source);
    const auto ours = [&] { problem.Kernels(device), device.Finish(); };
    const auto native = [&] { problem.Native(); };
    const auto read = [&](const Memory& memory, void* to) {
      CHECK_CU(cuMemcpyDtoH_v2(to, memory.address, memory.bytes));
    };
    ours(), native();
    Compare(name, problem, read);
    const bool has_terms = problem.NativeOnItsTerms();
    if (has_terms) Compare(name, problem, read);
    std::unique_ptr<OnOpenCl> pocl;
    if (opencl != nullptr && problem.source.cl != nullptr) {
      pocl = std::make_unique<OnOpenCl>(*opencl, problem.source);
      problem.Kernels(*pocl);
      pocl->Finish();
      Compare(name + " by OpenCL", problem,
              [&](const Memory& memory, void* to) { opencl->Read(memory.buffer, to, memory.bytes); });
    }
    std::vector<double> times, beside[kKinds], ratios[kKinds];
    for (size_t round = 0; round < rounds_; ++round) {
      const double ours_ms = Turn(ours);
      times.push_back(ours_ms);
      const double others[kKinds] = {Turn(native), has_terms ? Turn([&] { problem.NativeOnItsTerms(); }) : 0,
                                     pocl ? Turn([&] { problem.Kernels(*pocl), pocl->Finish(); }) : 0,
                                     limit_.Ms(problem.work)};
      for (size_t i = 0; i < kKinds; ++i) {
        beside[i].push_back(others[i]);
        ratios[i].push_back(others[i] / ours_ms);
      }
    }
    const double ms = Summarize(times).median;
    for (size_t i = 0; i < kKinds; ++i) {
      const Statistics ratio = Summarize(ratios[i]);
      if (ratio.median == 0) continue;
      report_.Add({name, ms, "ms", Summarize(beside[i]).median, kinds_[i].name, ratio.median, ratio.spread});
      kinds_[i].medians.push_back(ratio.median);
    }
    fmt::print(stderr, "{}: {:.3g} ms, {:.2f} of native\n", name, ms, Summarize(ratios[0]).median);
  }

  void Finish() {
    for (const Ratios& kind : kinds_) {
      if (kind.medians.empty()) continue;
      double logarithms = 0;
      for (const double ratio : kind.medians) logarithms += std::log(ratio);
      const auto count = static_cast<double>(kind.medians.size());
      report_.Add({"geometric mean", count, "kernels", 0, kind.name, std::exp(logarithms / count)});
    }
    const auto low = std::ranges::count_if(kinds_[0].medians, [](double ratio) { return ratio < 0.4; });
    report_.Add({"below 0.4 of native C++", static_cast<double>(low), "kernels", 0, "aim: none"});
  }

 private:
  static void Compare(const std::string& name, const Problem& problem,
                      const std::function<void(const Memory&, void*)>& read) {
    for (const Problem::Result& result : problem.results) {
      std::vector<char> got(result.memory->bytes);
      read(*result.memory, got.data());
      const std::string difference = result.compare(got);
      if (difference.empty()) continue;
      fmt::print(stderr, "kernels: {}: {}\n", name, difference);
      std::exit(1);
    }
  }

  Report& report_;
  size_t rounds_;
  Limit limit_;
  static constexpr size_t kKinds = 4;
  Ratios kinds_[kKinds] = {
      {"native C++, OpenMP", {}}, {"C++ on the kernel's terms", {}}, {"PoCL", {}}, {"the machine's limit", {}}};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench", pattern = argc > 2 ? argv[2] : "";
  const size_t rounds = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 7;
  OpenDevice();
  std::string without;
  const std::unique_ptr<OpenCl> opencl = OpenCl::Open(&without);
  if (!opencl) fmt::print(stderr, "kernels: nothing of OpenCL: {}\n", without);
  Report report(TUTTI_BENCH_NAME,
                "ratio: what stands beside it / ours (above 1: ours is faster), median of turns; aims: geometric mean "
                "0.8 of native C++ (AVX2: 0.7), none below 0.4; 4 of PoCL, ahead on each");
  Table table(report, std::max<size_t>(rounds, 1));
  for (const auto family :
       {First, Streaming, Stencils, Collective, Matrices, Neural, Transforms, Irregular, Simulations, Texts}) {
    for (const Entry& entry : family()) {
      if (entry.name.find(pattern) == std::string::npos) continue;
      table.Measure(entry.name, *entry.make(opencl.get()), opencl.get());
    }
  }
  table.Finish();
  return report.Finish(out);
}
