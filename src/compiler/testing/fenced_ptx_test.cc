// Hostile kernels, fenced in PTX, on the block runner without a fence of its own: they do only what the checks let them
// do.
#include "guest/gpu/fenced_ptx.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>

#include "compiler/fence/fence.h"
#include "compiler/testing/test_module.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

// Thread t stores 1 to address[t]; then all of a block meet, and thread t counts itself in done[t].
constexpr const char* kScatter = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 addresses, .param .u64 done)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [addresses];
  ld.param.u64 %rd1, [done];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd2, %r0, 8;
  add.s64 %rd3, %rd0, %rd2;
  ld.global.u64 %rd4, [%rd3];
  st.u32 [%rd4], 1;
  bar.sync 0;
  mul.wide.u32 %rd2, %r0, 4;
  add.s64 %rd5, %rd1, %rd2;
  st.global.u32 [%rd5], 1;
  ret;
}
)";

struct Outcome {
  guest::FenceFault fault{};
  GridResult result;
};

// Thread 5 of 64 stores to `target`, which is not in the window; all others to words of their own.
struct Attack {
  alignas(16) struct {
    uint64_t addresses[64];
    uint32_t words[64], done[64];
  } window{};
  Outcome Run(uint64_t target, const std::string& text = kScatter) {
    for (uint32_t t = 0; t < 64; ++t) window.addresses[t] = reinterpret_cast<uint64_t>(&window.words[t]);
    window.addresses[5] = target;
    Outcome outcome;
    auto parsed = ptx::Parse(text);
    const auto fenced = FencePtx(std::move(*parsed));
    auto module = TestModule::Open(fenced->ptx, {.check_addresses = false, .target = HostTarget::Detect()});
    EXPECT_TRUE(module) << module.error().text;
    const guest::FenceWords words{reinterpret_cast<uint64_t>(&window), sizeof window,
                                  reinterpret_cast<uint64_t>(&outcome.fault), 0};
    std::memcpy(module->Variable(guest::kFenceVariable), &words, sizeof words);
    auto result = module->Run("k", GridLaunch{.block = {64, 1, 1}}.Param(&window.addresses[0]).Param(&window.done[0]));
    EXPECT_TRUE(result) << result.error().text;
    if (result) outcome.result = std::move(*result);
    return outcome;
  }
};

TEST(FencedPtx, AThreadOutsideIsRecordedAndTheOthersGoOn) {
  auto attack = std::make_unique<Attack>();
  alignas(4) uint32_t victim = 7;
  const Outcome outcome = attack->Run(reinterpret_cast<uint64_t>(&victim));
  EXPECT_EQ(victim, 7u);
  EXPECT_FALSE(outcome.result.fault) << static_cast<int>(outcome.result.fault->kind) << " at " << std::hex
                                     << outcome.result.fault->address << ", PTX line " << std::dec
                                     << outcome.result.fault->ptx_line;
  EXPECT_EQ(outcome.fault.state, 2u);
  EXPECT_EQ(outcome.fault.kind, 700u);
  EXPECT_EQ(outcome.fault.address, reinterpret_cast<uint64_t>(&victim));
  EXPECT_EQ(outcome.fault.tid[0], 5u);
  EXPECT_EQ(outcome.fault.ptx_line, 14u);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(attack->window.done[t], t == 5 ? 0u : 1u) << t;
}

TEST(FencedPtx, TheLastByteOfAnAccessCounts) {
  auto attack = std::make_unique<Attack>();
  const uint64_t end = reinterpret_cast<uint64_t>(&attack->window) + sizeof attack->window;
  EXPECT_EQ(attack->Run(end - 4).fault.state, 0u);
  EXPECT_EQ(attack->Run(end).fault.kind, 700u);
  EXPECT_EQ(attack->Run(reinterpret_cast<uint64_t>(&attack->window) - 4).fault.kind, 700u);
  EXPECT_EQ(attack->Run(~uint64_t{3}).fault.kind, 700u);
  EXPECT_EQ(attack->Run(0).fault.kind, 700u);
}

TEST(FencedPtx, AWorkspaceThatIsNoneIsNobodysMemory) {
  auto attack = std::make_unique<Attack>();
  std::string text = kScatter;
  text.insert(text.find("  mov.u32 %r0"), "  mov.u32 %r1, %envreg1;\n");
  EXPECT_EQ(attack->Run(0, text).fault.kind, 700u);
  EXPECT_EQ(attack->Run(4, text).fault.kind, 700u);
}

TEST(FencedPtx, AMisalignedAddressIsItsOwnFault) {
  auto attack = std::make_unique<Attack>();
  const Outcome outcome = attack->Run(reinterpret_cast<uint64_t>(&attack->window.words[5]) + 2);
  EXPECT_EQ(outcome.fault.kind, 716u);
  EXPECT_EQ(std::accumulate(attack->window.words, attack->window.words + 64, 0u), 63u);
}

}  // namespace
}  // namespace tutti::compiler
