// kernels_alone: the kernels of `./dev bench kernels` on one thread and without a device around the compiler's code,
// beside their C++; for work on the compiler. Results are compared before anything is timed.
//
//   kernels_alone [--cpu NAME] [--no-fence] [--ours] [--ptx FILE] [PATTERN...]
//
// With --ptx the kernels are those of a file, and their results are theirs: to try what a part of a kernel costs.
//
// Processor time of this thread, the least of many runs: the machine may be shared.
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "compiler/testing/test_module.h"
#include "problem.h"

extern "C" void omp_set_num_threads(int count);  // omp.h belongs to one compiler, and clang-tidy to another

namespace bench {

// Here the device's memory is this program's, in huge pages as the device's own.
Memory::Memory(OpenCl* /*opencl*/, const void* data, size_t size) : bytes(size), opencl_(nullptr) {
  constexpr size_t kHugePage = 2 << 20;
  const size_t rounded = (size + kHugePage - 1) / kHugePage * kHugePage;
  void* copy = std::aligned_alloc(kHugePage, rounded);
  madvise(copy, rounded, MADV_HUGEPAGE);
  std::memcpy(copy, data, size);
  address = reinterpret_cast<CUdeviceptr>(copy);
}
Memory::~Memory() { std::free(reinterpret_cast<void*>(address)); }

bool Problem::Near(double value, double expected, double tolerance) {
  return std::fabs(value - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}
std::string Problem::Difference(size_t index, double value, double expected) {
  return fmt::format("result {} is {}, native C++ says {}", index, value, expected);
}

namespace {

using tutti::compiler::CompileOptions;
using tutti::compiler::GridLaunch;
using tutti::compiler::HostTarget;
using tutti::compiler::TestModule;

class Alone final : public Runner {
 public:
  explicit Alone(TestModule module) : module_(std::move(module)) {}
  void Enqueue(const char* kernel, const Grid& grid, std::span<const Argument> arguments) override {
    GridLaunch launch{.grid = {grid.x, grid.y, 1}, .block = {grid.block_x, grid.block_y, 1}};
    for (const Argument& argument : arguments) {
      const void* data = argument.memory != nullptr ? &argument.memory->address : argument.data;
      const size_t bytes = argument.memory != nullptr ? 8 : argument.bytes;
      launch.params.resize((launch.params.size() + bytes - 1) / bytes * bytes + bytes);
      std::memcpy(launch.params.data() + launch.params.size() - bytes, data, bytes);
    }
    const auto done = module_.Run(kernel, launch);
    if (!done) {
      fmt::print(stderr, "{}: {}\n", kernel, done.error().text);
      std::exit(1);
    }
    if (done->fault) {
      fmt::print(stderr, "{}: a fault at {:#x}\n", kernel, done->fault->address);
      std::exit(1);
    }
  }
  void Clear(const Memory& memory, uint32_t word) override {
    std::fill_n(reinterpret_cast<uint32_t*>(memory.address), memory.bytes / 4, word);
  }
  void Finish() override {}
  bool is_opencl() const override { return false; }

 private:
  TestModule module_;
};

double Milliseconds(const std::function<void()>& body) {
  timespec begin{}, end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  body();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) * 1e3 + static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e6;
}

// Of the calls that take 15 ms together.
double Least(const std::function<void()>& body) {
  double least = INFINITY;
  for (double spent = 0; spent < 15;) {
    const double ms = Milliseconds(body);
    least = std::min(least, ms);
    spent += ms;
  }
  return least;
}

}  // namespace
}  // namespace bench

int main(int count, char** arguments) {
  using namespace bench;
  using tutti::compiler::CompileOptions, tutti::compiler::HostTarget, tutti::compiler::TestModule;
  omp_set_num_threads(1);  // of the C++
  CompileOptions options{.target = HostTarget::Detect()};
  bool with_native = true;
  std::string ptx;
  std::vector<std::string> patterns;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--no-fence") {
      options.check_addresses = false;
    } else if (argument == "--ours") {
      with_native = false;
    } else if (argument == "--ptx" && i + 1 < count) {
      ptx = arguments[++i];
    } else if (argument == "--cpu" && i + 1 < count) {
      options.target = HostTarget::Named(arguments[++i]);
    } else {
      patterns.push_back(argument);
    }
  }
  double logarithms = 0, kernels = 0;
  for (const auto family :
       {First, Streaming, Stencils, Collective, Matrices, Neural, Transforms, Irregular, Simulations, Texts}) {
    for (const Entry& entry : family()) {
      const auto fits = [&](const std::string& pattern) { return entry.name.find(pattern) != std::string::npos; };
      if (!patterns.empty() && std::ranges::none_of(patterns, fits)) continue;
      const auto problem = entry.make(nullptr);
      auto module = ptx.empty() ? TestModule::Open(problem->source.ptx, options) : TestModule::OpenFile(ptx, options);
      if (!module) {
        fmt::print(stderr, "{}: {}\n", entry.name, module.error().text);
        return 1;
      }
      Alone alone(std::move(*module));
      const auto ours = [&] { problem->Kernels(alone); };
      const auto native = [&] { problem->Native(); };
      ours(), native();
      for (const Problem::Result& result : problem->results) {
        const auto* got = reinterpret_cast<const char*>(result.memory->address);
        const std::string difference = result.compare(std::vector<char>(got, got + result.memory->bytes));
        if (difference.empty() || !ptx.empty()) continue;
        fmt::print(stderr, "{}: {}\n", entry.name, difference);
        return 1;
      }
      double our_ms = INFINITY, native_ms = INFINITY;
      std::vector<double> ratios;
      for (int round = 0; round < 9; ++round) {
        const double our = Least(ours), its = with_native ? Least(native) : INFINITY;
        our_ms = std::min(our_ms, our), native_ms = std::min(native_ms, its);
        ratios.push_back(its / our);
      }
      std::ranges::sort(ratios);
      logarithms += std::log(ratios[4]), ++kernels;
      fmt::print("{:<28}{:>10.3f} ms{:>10.3f} ms{:>8.2f}\n", entry.name, our_ms, native_ms, ratios[4]);
      std::fflush(stdout);
    }
  }
  fmt::print("{:<28}{:>34.2f}\n", "geometric mean", std::exp(logarithms / kernels));
  return 0;
}
