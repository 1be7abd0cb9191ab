// Memory between threads: asynchronous copies with zero fill, mbarriers, 16-bit and packed atomics, address spaces.
#include <gtest/gtest.h>

#include "compiler/lower/semantics/host_math.h"
#include "compiler/testing/test_module.h"

namespace tutti::compiler {
namespace {

const std::string kHead = ".version 8.7\n.target sm_90a\n.address_size 64\n";

// Runs kernel k of `body` with one block and a buffer of words as its parameter.
std::vector<uint32_t> RunBlock(const std::string& body, std::vector<uint32_t> buffer, uint32_t threads) {
  auto module = TestModule::Open(kHead + body);
  EXPECT_TRUE(module) << (module ? "" : module.error().text);
  if (!module) return {};
  GridLaunch launch;
  launch.block = {threads, 1, 1};
  launch.Param(buffer.data());
  launch.window_base = reinterpret_cast<uint64_t>(buffer.data());
  launch.window_bytes = buffer.size() * 4;
  const auto result = module->Run("k", launch);
  EXPECT_TRUE(result) << (result ? "" : result.error().text);
  EXPECT_FALSE(result && result->fault) << "fault in line " << (result && result->fault ? result->fault->ptx_line : 0);
  return buffer;
}

TEST(Memory, ShortAsynchronousCopiesFillWithZero) {
  // Lane i copies i % 17 of 16 bytes from the first 512 bytes to shared memory, and that to the second.
  const auto out = RunBlock(R"(.visible .entry k(.param .u64 p) {
  .shared .align 16 .b8 s[512];
  .reg .b32 %r<6>; .reg .b64 %d<3>;
  ld.param.u64 %d0, [p];
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; rem.u32 %r2, %r0, 17;
  cvt.u64.u32 %d1, %r1; add.u64 %d1, %d0, %d1;
  mov.u32 %r3, s; add.u32 %r3, %r3, %r1;
  st.shared.u32 [%r3+12], %r0;
  cp.async.ca.shared.global [%r3], [%d1], 16, %r2;
  cp.async.wait_all;
  .reg .b32 %v<4>;
  ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%r3];
  st.global.v4.u32 [%d1+512], {%v0, %v1, %v2, %v3};
  ret;
}
)",
                            std::vector<uint32_t>(256, 0xabababab), 32);
  ASSERT_EQ(out.size(), 256u);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&out[128 + 4 * lane]);
    for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(bytes[i], i < lane % 17 ? 0xab : 0) << "lane " << lane << " byte " << i;
  }
}

TEST(Memory, AnMbarrierCompletesAPhaseWhenAllHaveArrived) {
  // 64 threads; thread 0 waits for the phase in which all have added to a sum, twice.
  const auto out = RunBlock(R"(.visible .entry k(.param .u64 p) {
  .shared .align 8 .b64 bar;
  .shared .align 4 .u32 sum;
  .reg .b32 %r<6>; .reg .b64 %d<3>; .reg .pred %q, %done;
  ld.param.u64 %d0, [p];
  mov.u32 %r0, %tid.x; mov.u32 %r1, bar; mov.u32 %r2, sum;
  setp.ne.u32 %q, %r0, 0;
  @%q bra READY;
  mbarrier.init.shared::cta.b64 [%r1], 64;
  st.shared.u32 [%r2], 0;
READY:
  bar.sync 0;
  mov.u32 %r3, 0;
PHASE:
  red.shared.add.u32 [%r2], %r0;
  mbarrier.arrive.shared::cta.b64 %d1, [%r1];
WAIT:
  mbarrier.try_wait.shared::cta.b64 %done, [%r1], %d1;
  @!%done bra WAIT;
  @%q bra NEXT;
  ld.shared.u32 %r4, [%r2];
  mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d0, %d2;
  st.global.u32 [%d2], %r4;
NEXT:
  bar.sync 0;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %done, %r3, 2;
  @%done bra PHASE;
  ret;
}
)",
                            std::vector<uint32_t>(2), 64);
  EXPECT_EQ(out, (std::vector<uint32_t>{2016, 4032}));
}

TEST(Memory, AtomicsOfHalvesLoseNothing) {
  // 96 threads add 1.0 to an f16, and (1.0, 2.0) to a pair; sums up to 2048 are exact.
  const auto out = RunBlock(R"(.visible .entry k(.param .u64 p) {
  .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .b64 %d;
  ld.param.u64 %d, [p];
  mov.b16 %h0, 0x3c00;
  mov.b32 %r0, 0x40003c00;
  atom.global.add.noftz.f16 %h1, [%d+2], %h0;
  red.global.add.noftz.f16x2 [%d+4], %r0;
  ret;
}
)",
                            std::vector<uint32_t>(2), 96);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0], uint32_t{Encode(96, kF16)} << 16);
  EXPECT_EQ(out[1], uint32_t{Encode(192, kF16)} << 16 | Encode(96, kF16));
}

TEST(Memory, AddressesKnowTheirSpace) {
  const auto out = RunBlock(R"(.global .u32 g; .const .u32 c = 3;
.visible .entry k(.param .u64 p) {
  .shared .align 4 .b8 s[64]; .local .align 4 .b8 l[64];
  .reg .b64 %d<6>; .reg .pred %q<6>; .reg .b32 %r<6>;
  ld.param.u64 %d0, [p];
  mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; mov.u64 %d2, l; cvta.local.u64 %d2, %d2; mov.u64 %d3, c;
  mov.b64 %d4, p; cvta.param.u64 %d4, %d4;
  isspacep.global %q0, %d0; isspacep.shared %q1, %d1; isspacep.local %q2, %d2; isspacep.const %q3, %d3;
  isspacep.shared %q4, %d0; isspacep.local %q5, %d1;
  selp.u32 %r0, 1, 0, %q0; selp.u32 %r1, 1, 0, %q1; selp.u32 %r2, 1, 0, %q2; selp.u32 %r3, 1, 0, %q3; selp.u32 %r4, 1, 0, %q4; selp.u32 %r5, 1, 0, %q5;
  st.global.v4.u32 [%d0], {%r0, %r1, %r2, %r3}; st.global.v2.u32 [%d0+16], {%r4, %r5};
  ld.u64 %d5, [%d4]; st.u32 [%d5+24], 77;
  cvta.to.shared.u64 %d1, %d1; st.shared.u32 [%d1+4], 5; ld.shared.u32 %r0, [s+4]; st.global.u32 [%d0+28], %r0;
  st.u32 [%d2], 9; ld.local.u32 %r1, [l]; st.global.u32 [%d0+32], %r1;
  ret;
}
)",
                            std::vector<uint32_t>(12), 32);
  EXPECT_EQ(out, (std::vector<uint32_t>{1, 1, 1, 1, 0, 0, 77, 5, 9, 0, 0, 0}));
}

}  // namespace
}  // namespace tutti::compiler
