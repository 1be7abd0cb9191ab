// chain: grids in which every block waits for the one before it (as look-back scans do), per block, beside the same
// grid without the wait, on devices of 1, 2 and 64 SMs. Each device belongs to a private server, of a process that this
// one starts: chain --measure.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "driver.h"
#include "report.h"
#include "timing.h"

namespace {

// done[0] counts blocks in order; wait = 0: nobody waits.
constexpr const char kChain[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry chain(.param .u64 done, .param .u32 wait)
{
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [done];
  ld.param.u32 %r1, [wait];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra end;
  setp.eq.u32 %p2, %r1, 0;
  @%p2 bra publish;
again:
  ld.acquire.gpu.global.u32 %r4, [%rd1];
  setp.ne.u32 %p1, %r4, %r2;
  @%p1 bra again;
publish:
  add.u32 %r5, %r2, 1;
  st.release.gpu.global.u32 [%rd1], %r5;
end:
  ret;
}
)";

constexpr uint32_t kBlocks[] = {1000, 100'000, 1'000'000};

// On the device that this process finds: a line of medians and spread per length.
int Measure() {
  bench::OpenDevice();
  const CUfunction chain = bench::GetFunction(bench::LoadModule(kChain), "chain");
  CUdeviceptr done;
  CHECK_CU(cuMemAlloc_v2(&done, sizeof(uint32_t)));
  const auto us_per_block = [&](uint32_t blocks, uint32_t wait) {
    std::vector<double> samples;
    for (int run = 0; run < 5; ++run) {
      CHECK_CU(cuMemsetD32_v2(done, 0, 1));
      CHECK_CU(cuCtxSynchronize());
      samples.push_back(bench::TimeEach(1,
                                        [&] {
                                          bench::Launch(chain, blocks, 1, 32, 1, nullptr, done, wait);
                                          CHECK_CU(cuCtxSynchronize());
                                        })[0] /
                        1000 / blocks);
    }
    return bench::Summarize(samples);
  };
  for (const uint32_t blocks : kBlocks) {
    const bench::Statistics waits = us_per_block(blocks, 1), free = us_per_block(blocks, 0);
    fmt::print("{} {} {}\n", waits.median, waits.spread, free.median);
  }
  return 0;
}

// Of a device of `sms` SMs, in a private server of a process of its own.
bool AddDevice(bench::Report& report, const std::string& self, uint32_t sms) {
  const std::string command =
      fmt::format("CUDA_MPS_PIPE_DIRECTORY=/nowhere TUTTI_CPU_SMS={} '{}' --measure", sms, self);
  FILE* const from = popen(command.c_str(), "r");
  if (from == nullptr) return false;
  bool read = true;
  for (const uint32_t blocks : kBlocks) {
    double waits, spread, free;
    read = read && std::fscanf(from, "%lf %lf %lf", &waits, &spread, &free) == 3;
    if (!read) break;
    report.Add({fmt::format("{} SM{}: {} blocks in a chain", sms, sms == 1 ? "" : "s", blocks), waits, "us", free,
                "blocks that do not wait", waits / free, spread});
  }
  return pclose(from) == 0 && read;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  if (out == "--measure") return Measure();
  bench::Report report(
      "chain",
      "time per block, on a device of so many SMs; aim: a block that waits for the one before it costs at most 5 us");
  const std::string self = std::filesystem::canonical("/proc/self/exe");
  for (const uint32_t sms : {1u, 2u, 64u}) {
    if (!AddDevice(report, self, sms)) {
      fmt::print(stderr, "chain: could not measure a device of {} SMs\n", sms);
      return 1;
    }
  }
  return report.Finish(out);
}
