// Grids of kernels written by hand in C++.
#include "compiler/testing/run_grid.h"

#include <gtest/gtest.h>

namespace tutti::compiler {
namespace {

using guest::BlockState;
using guest::KernelDescriptor;
using guest::WarpState;

KernelDescriptor Descriptor(guest::RunWarps run, uint32_t flags) {
  KernelDescriptor kernel{};
  kernel.magic = guest::kKernelMagic;
  kernel.abi_version = guest::kAbiVersion;
  kernel.name = "test";
  kernel.run = run;
  kernel.flags = flags;
  kernel.static_shared_bytes = 256;
  return kernel;
}

uint32_t* Output(WarpState* warp) { return *reinterpret_cast<uint32_t* const*>(warp->block->params); }

TEST(RunGrid, RunsEveryBlockOnceWithItsIndex) {
  const auto kernel = Descriptor(
      [](WarpState* warps, uint32_t count) {
        const BlockState& block = *warps[0].block;
        for (uint32_t w = 0; w < count; ++w) {
          Output(warps)[(block.ctaid[2] * 3 + block.ctaid[1]) * 2 + block.ctaid[0]] +=
              static_cast<uint32_t>(__builtin_popcount(warps[w].lanes));
        }
      },
      0);
  std::vector<uint32_t> counts(2 * 3 * 2);
  GridLaunch launch{.grid = {2, 3, 2}, .block = {33, 1, 1}};
  launch.Param(counts.data());
  const GridResult result = RunGrid(kernel, launch);
  EXPECT_FALSE(result.fault);
  EXPECT_EQ(counts, std::vector<uint32_t>(12, 33));
}

TEST(RunGrid, BarrierLetsNoWarpPassBeforeAllHaveArrived) {
  const auto kernel = Descriptor(
      [](WarpState* warp, uint32_t) {
        auto* slots = reinterpret_cast<uint32_t*>(warp->block->shared);
        const auto& services = *warp->block->services;
        for (uint32_t round = 1; round <= 3; ++round) {
          slots[warp->warp] = round;
          services.barrier(warp, warp->lanes, 0, 0, guest::BarrierMode::kArriveAndWait);
          for (uint32_t w = 0; w < 4; ++w) Output(warp)[0] += slots[w] == round ? 0 : 1;
          services.barrier(warp, warp->lanes, 0, 0, guest::BarrierMode::kArriveAndWait);
        }
        Output(warp)[1] += services.barrier_reduce(warp, warp->lanes, 0, 0, 0, 1u << warp->warp);
      },
      guest::kYields);
  uint32_t output[2] = {};
  GridLaunch launch{.grid = {2, 1, 1}, .block = {100, 1, 1}};
  launch.Param(&output[0]);
  EXPECT_FALSE(RunGrid(kernel, launch).fault);
  EXPECT_EQ(output[0], 0u);
  EXPECT_EQ(output[1], 2u * 4 * 4);
}

TEST(RunGrid, ReportsWarpsThatWaitForEver) {
  const auto kernel = Descriptor(
      [](WarpState* warp, uint32_t) {
        warp->block->services->barrier(warp, warp->lanes, 1, warp->warp == 0 ? 64 : 32,
                                       guest::BarrierMode::kArriveAndWait);
      },
      guest::kYields);
  const GridResult result = RunGrid(kernel, {.block = {32, 1, 1}});
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, guest::FaultKind::kLaunchFailed);
  EXPECT_EQ(result.fault->text, "barrier that no warp can complete");
}

TEST(RunGrid, FaultNamesBlockAndThread) {
  const auto kernel = Descriptor(
      [](WarpState* warps, uint32_t) {
        if (warps->block->ctaid[0] == 1)
          warps->block->services->fault(&warps[1], guest::FaultKind::kMisalignedAddress, 3, 0x1234, ~0u);
      },
      0);
  const GridResult result = RunGrid(kernel, {.grid = {3, 1, 1}, .block = {64, 1, 1}});
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->ctaid[0], 1u);
  EXPECT_EQ(result.fault->thread, 35u);
  EXPECT_EQ(result.fault->address, 0x1234u);
}

TEST(RunGrid, PrintsPackedArguments) {
  const auto kernel = Descriptor(
      [](WarpState* warp, uint32_t) {
        struct {
          int32_t number = -7;
          double real = 2.5;
          const char* text = "text";
          int64_t big = 1ll << 40;
        } arguments;
        warp->block->services->print(warp, 0, reinterpret_cast<uint64_t>("%d %.2f %s %lld 100%%\n"),
                                     reinterpret_cast<uint64_t>(&arguments));
      },
      0);
  EXPECT_EQ(RunGrid(kernel, {}).output, "-7 2.50 text 1099511627776 100%\n");
}

}  // namespace
}  // namespace tutti::compiler
