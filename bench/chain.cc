// chain: grids in which every block waits for the one before it (as look-back scans do), per block, beside the same grid
// without the wait.
#include <fmt/format.h>

#include <cstdint>

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

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  bench::OpenDevice();
  const CUfunction chain = bench::GetFunction(bench::LoadModule(kChain), "chain");
  CUdeviceptr done;
  CHECK_CU(cuMemAlloc_v2(&done, sizeof(uint32_t)));
  const auto us_per_block = [&](uint32_t blocks, uint32_t wait) {
    std::vector<double> samples;
    for (int run = 0; run < 5; ++run) {
      CHECK_CU(cuMemsetD32_v2(done, 0, 1));
      CHECK_CU(cuCtxSynchronize());
      samples.push_back(bench::TimeEach(1, [&] {
        bench::Launch(chain, blocks, 1, 32, 1, nullptr, done, wait);
        CHECK_CU(cuCtxSynchronize());
      })[0] / 1000 / blocks);
    }
    return bench::Summarize(samples);
  };
  bench::Report report("chain", "time per block; aim: a block that waits for the one before it costs at most 5 us");
  for (const uint32_t blocks : {1000u, 100'000u, 1'000'000u}) {
    const bench::Statistics waits = us_per_block(blocks, 1), free = us_per_block(blocks, 0);
    report.Add({fmt::format("{} blocks in a chain", blocks), waits.median, "us", free.median, "blocks that do not wait",
                waits.median / free.median, waits.spread});
  }
  return report.Finish(out);
}
