// compile: how the time to compile grows with a kernel's length. A statement of a long kernel should cost what one of a
// short kernel does, but several parts of a compiler tend to be quadratic. Compiles kernels without a branch, like
// unrolled loops, of arithmetic alone and with loads and stores, and kernels of branches beside a lock. And how long a
// first launch waits for its kernel: the median one and the largest of tests/run, and of a vendor's library.
//
//   compile [DIRECTORY]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "compiler/pipeline.h"
#include "report.h"
#include "timing.h"

namespace {

using tutti::compiler::CompileOptions;
using tutti::compiler::HostTarget;
using tutti::compiler::ImageCompiler;

constexpr int kLive = 64;  // registers that a statement may read

// `statements` of them, each with a register of its own; every eighth loads and every eighth stores if `memory`.
std::string Straight(int statements, bool memory) {
  std::mt19937 random(1);
  std::string ptx = fmt::format(
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n"
      ".reg .f32 %f<{}>;\n.reg .b64 %d<4>;\n.reg .b32 %r;\nld.param.u64 %d0, [p];\ncvta.to.global.u64 %d1, %d0;\n"
      "mov.u32 %r, %tid.x;\nmul.wide.u32 %d2, %r, 4;\nadd.s64 %d3, %d1, %d2;\n",
      statements);
  for (int i = 0; i < statements; ++i) {
    const auto earlier = [&] { return i - 1 - static_cast<int>(random() % kLive); };
    if (i < kLive || (memory && i % 8 == 0)) {
      ptx += fmt::format("ld.global.f32 %f{}, [%d3+{}];\n", i, 128 * i);
    } else if (memory && i % 8 == 4) {
      ptx += fmt::format("st.global.f32 [%d3+{}], %f{};\nmov.f32 %f{}, %f{};\n", 128 * i, earlier(), i, earlier());
    } else {
      ptx += fmt::format("fma.rn.f32 %f{}, %f{}, %f{}, %f{};\n", i, earlier(), earlier(), earlier());
    }
  }
  return ptx + fmt::format("st.global.f32 [%d3], %f{};\nret;\n}}\n", statements - 1);
}

// A lock, and behind it, in a loop, `branches` of which three in ten shuffle; loads before the loop are used behind it.
std::string BesideALock(int branches) {
  constexpr int kLoads = 50;
  std::string ptx =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .pred %p;\n.reg .b32 "
      "%r<4>;\n"
      ".reg .b64 %d<4>;\n.reg .b32 %x<64>;\nld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\n"
      "add.s64 %d1, %d0, %d1;\ntake:\natom.global.cas.b32 %r1, [%d0], 0, 1;\nsetp.ne.u32 %p, %r1, 0;\n@%p bra take;\n"
      "ld.volatile.global.u32 %r1, [%d0+4];\nadd.u32 %r1, %r1, 1;\nst.volatile.global.u32 [%d0+4], %r1;\nmembar.gl;\n"
      "st.volatile.global.u32 [%d0], 0;\n";
  for (int i = 0; i < kLoads; ++i) ptx += fmt::format("ld.global.u32 %x{}, [%d1+{}];\n", i, 128 * i);
  ptx += "mov.u32 %r3, 0;\nround:\n";
  for (int i = 0; i < branches; ++i) {
    ptx += fmt::format(
        "ld.global.u32 %r1, [%d1+{1}];\nsetp.gt.u32 %p, %r1, {0};\n@%p bra next{0};\nst.global.u32 [%d1+{1}], %r1;\n",
        i, 4 * i);
    if (i % 10 < 3)
      ptx += fmt::format("shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffffffff;\nst.global.u32 [%d1+{}], %r2;\n", 4 * i);
    ptx += fmt::format("setp.gt.u32 %p, %r1, {};\n@%p bra out;\nnext{}:\n", i + 100, i);
  }
  ptx += "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p, %r3, %r0;\n@%p bra round;\nout:\n";
  for (int i = 1; i < kLoads; ++i) ptx += fmt::format("add.u32 %x0, %x0, %x{};\n", i);
  return ptx + "st.global.u32 [%d1], %x0;\nret;\n}\n";
}

template <class T>
T OrExit(tutti::Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "compile: {}\n", result.error().text);
  std::exit(1);
}

double CompileMs(const std::string& ptx, const std::string& kernel = "k", uint32_t threads = 128) {
  const double begin = bench::ThreadMs();
  const auto image = OrExit(ImageCompiler::Open({reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()}));
  OrExit(image->Compile(kernel, {.block = {threads, 1, 1}, .target = HostTarget::Detect()}));
  return bench::ThreadMs() - begin;
}

// Until a first launch has code: quick code where there is some.
double FirstCodeMs(const std::string& ptx, const std::string& kernel, uint32_t threads) {
  const double begin = bench::ThreadMs();
  const auto image = OrExit(ImageCompiler::Open({reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()}));
  CompileOptions options{.block = {threads, 1, 1}, .quick = true, .target = HostTarget::Detect()};
  if (!image->Compile(kernel, options)) {
    options.quick = false;
    OrExit(image->Compile(kernel, options));
  }
  return bench::ThreadMs() - begin;
}

void Compare(bool memory, const char* name, bench::Report& report) {
  constexpr int kShort = 500, kRounds = 3;
  const auto of = [&](int statements) {
    std::vector<double> samples;
    const std::string ptx = Straight(statements, memory);
    for (int i = 0; i < kRounds; ++i) samples.push_back(CompileMs(ptx) / statements);
    return bench::Summarize(samples);
  };
  const bench::Statistics at_first = of(kShort);
  for (const int statements : {2000, 8000}) {
    const bench::Statistics later = of(statements);
    report.Add({fmt::format("{}, {} statements", name, statements), later.median * 1000, "us", at_first.median * 1000,
                fmt::format("each of {}", kShort), later.median / at_first.median, later.spread});
  }
}

void CompareLocks(bench::Report& report) {
  constexpr int kFew = 50;
  const double reference = CompileMs(BesideALock(kFew)) / kFew;
  for (const int branches : {100, 200}) {
    const double each = CompileMs(BesideALock(branches)) / branches;
    report.Add({fmt::format("a lock beside {} branches", branches), each * 1000, "us", reference * 1000,
                fmt::format("each of {}", kFew), each / reference});
  }
}

// The aims of a first launch.
constexpr double kMedianMs = 50, kLargestMs = 300;

void AddWaits(const char* of, std::vector<double> waits_ms, bench::Report& report) {
  if (waits_ms.empty()) return;
  std::ranges::sort(waits_ms);
  const auto add = [&](const char* which, double ms, double aim_ms) {
    report.Add(
        {fmt::format("{} of {} kernels of {}", which, waits_ms.size(), of), ms, "ms", aim_ms, "aim", ms / aim_ms});
  };
  add("median", waits_ms[waits_ms.size() / 2], kMedianMs);
  add("largest", waits_ms.back(), kLargestMs);
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void MeasureCases(bench::Report& report) {
  std::vector<double> waits_ms;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_SOURCE_DIR "/tests/run/cases")) {
    const std::string ptx = Read(entry.path());
    const auto image = ImageCompiler::Open({reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()});
    if (!image) continue;
    for (const auto& kernel : (*image)->index().kernels) {
      if (!kernel.error.empty()) continue;
      waits_ms.push_back(FirstCodeMs(ptx, kernel.name, std::min<uint32_t>(128, kernel.max_threads)));
    }
  }
  AddWaits("tests/run", std::move(waits_ms), report);
}

#ifdef TUTTI_CUB_PTX
// Kernels of the library as single modules: what the text has in front of the first one, and one of them.
void CompareLibrary(bench::Report& report) {
  const std::string text = Read(TUTTI_CUB_PTX);
  constexpr std::string_view kEntry = ".visible .entry ";
  constexpr int kShort = 500;
  const double reference = CompileMs(Straight(kShort, true)) / kShort;
  size_t begin = text.find(kEntry);
  const std::string head = text.substr(0, begin);
  std::vector<double> waits_ms, optimised_ms;
  while (begin != std::string::npos) {
    const size_t end = text.find(kEntry, begin + 1);
    const std::string kernel = text.substr(begin, end == std::string::npos ? end : end - begin);
    begin = end;
    const auto statements = static_cast<double>(std::ranges::count(kernel, ';'));
    const std::string name = kernel.substr(kEntry.size(), kernel.find('(') - kEntry.size());
    const size_t plain = name.find("Device"), last = name.find("Kernel", plain);
    waits_ms.push_back(FirstCodeMs(head + kernel, name, 256));
    optimised_ms.push_back(CompileMs(head + kernel, name, 256));
    if (statements < kShort) continue;
    const double each = optimised_ms.back() / statements;
    report.Add({fmt::format("{}, {} statements", plain < last ? name.substr(plain, last - plain) : name, statements),
                each * 1000, "us", reference * 1000, fmt::format("each of {}", kShort), each / reference});
  }
  AddWaits("CUB", std::move(waits_ms), report);
  AddWaits("CUB, optimised", std::move(optimised_ms), report);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  CompileMs(Straight(kLive + 1, false));  // LLVM's own beginning
  bench::Report report("compile",
                       "time per statement of a kernel / the same of a short one without a branch; 1 would be linear");
  Compare(false, "arithmetic", report);
  Compare(true, "a quarter loads and stores", report);
  CompareLocks(report);
  MeasureCases(report);
#ifdef TUTTI_CUB_PTX
  CompareLibrary(report);
#endif
  return report.Finish(argc > 1 ? argv[1] : "build/bench");
}
