// Random kernels run as warps give what they give thread by thread.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "compiler/widen/testing/random_kernel.h"
#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {
namespace {

struct Shape3 {
  std::array<uint32_t, 3> block;
  bool known;
};

const Shape3 kShapes[] = {
    {{32, 1, 1}, true}, {{128, 1, 1}, true}, {{16, 16, 1}, true}, {{8, 8, 1}, true},  {{4, 4, 4}, true},
    {{7, 3, 2}, true},  {{100, 1, 1}, true}, {{1, 40, 1}, true},  {{24, 4, 1}, true}, {{16, 3, 1}, false},
};

struct Memory {
  std::vector<uint32_t> table, output;
};

Memory MakeMemory(uint32_t threads) {
  Memory memory{std::vector<uint32_t>(kRandomTableWords), std::vector<uint32_t>(size_t{threads} * kRandomRowWords)};
  for (uint32_t i = 0; i < kRandomTableWords; ++i) memory.table[i] = i * 2654435761u >> (i % 3 * 12);
  return memory;
}

GridLaunch MakeLaunch(const Shape3& shape, Memory& memory, uint32_t number) {
  GridLaunch launch;
  launch.grid = {2, 1, 1};
  launch.block = shape.block;
  launch.spare_stack_bytes = 4 << 20;  // some are compiled unoptimised
  launch.Param(memory.table.data()).Param(memory.output.data()).Param(number);
  return launch;
}

bool IsNan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

RandomKernelLimits Limits(uint64_t seed) {
  return {.blocks = seed % 7 == 0 ? 30u : 12u, .yields = seed % 3 == 1 ? 8u : 0u};
}

void Compare(uint64_t seed) {
  const std::string ir = RandomKernel(seed, Limits(seed));
  SCOPED_TRACE("TUTTI_WIDEN_SEED=" + std::to_string(seed));
  const Shape3& shape = kShapes[seed % std::size(kShapes)];
  const uint32_t threads = 2 * shape.block[0] * shape.block[1] * shape.block[2];
  auto scalar = ScalarKernel::Build(ir);
  ASSERT_TRUE(scalar) << scalar.error().text;
  TestTarget target;
  if (shape.known) std::copy(shape.block.begin(), shape.block.end(), target.block);
  if (seed % 4 == 3) target.target = HostTarget::Named("x86-64-v3");
  target.check_addresses = seed % 5 != 0;
  target.optimize = seed % 3 == 0 ? 0 : 2;
  target.lane_after_lane = seed % 2 == 0;
  auto warps = BuildWarps(ir, target);
  ASSERT_TRUE(warps) << warps.error().text;
  for (const uint32_t number : {0u, 37u, 0xfffffff0u}) {
    Memory expected = MakeMemory(threads), actual = MakeMemory(threads);
    scalar->Run(MakeLaunch(shape, expected, number));
    const GridResult result = RunGrid(warps->descriptor(), MakeLaunch(shape, actual, number));
    ASSERT_FALSE(result.fault) << "fault at " << std::hex << result.fault->address;
    for (uint32_t i = 0; i < expected.output.size(); ++i) {
      if (IsNan(actual.output[i]) && IsNan(expected.output[i])) continue;  // which of two NaNs is undefined
      ASSERT_EQ(actual.output[i], expected.output[i])
          << "number " << number << " thread " << i / kRandomRowWords << " word " << i % kRandomRowWords << " block "
          << shape.block[0] << "," << shape.block[1] << "," << shape.block[2];
    }
  }
}

// TUTTI_WIDEN_SEED=n runs one; TUTTI_WIDEN_SEEDS=n the first n instead of the usual few.
TEST(Divergence, RandomKernelsGiveWhatTheirThreadsGive) {
  if (const char* one = std::getenv("TUTTI_WIDEN_SEED")) {
    const uint64_t seed = std::strtoull(one, nullptr, 10);
    if (const char* file = std::getenv("TUTTI_WIDEN_DUMP")) std::ofstream(file) << RandomKernel(seed, Limits(seed));
    return Compare(seed);
  }
  const char* many = std::getenv("TUTTI_WIDEN_SEEDS");
  const uint64_t count = many != nullptr ? std::strtoull(many, nullptr, 10) : 60;
  for (uint64_t seed = 0; seed < count && !HasFatalFailure(); ++seed) Compare(seed);
}

}  // namespace
}  // namespace tutti::compiler
