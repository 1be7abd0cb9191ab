// What an executor may say of a module.
#include "device/gpu/gpu_modules.h"

#include <gtest/gtest.h>

namespace tutti::device::gpu {
namespace {

bool IsAccepted(std::vector<module::MemoryRange> memory) { return GpuModules::CheckMemory(memory).has_value(); }

TEST(GpuModules, VariablesLieBesideEachOther) {
  EXPECT_TRUE(IsAccepted({{.address = 0x200, .bytes = 0x100}, {.address = 0x100, .bytes = 0x100}}));
  EXPECT_FALSE(IsAccepted({{.address = 0x200, .bytes = 0x100}, {.address = 0x100, .bytes = 0x101}}));
  EXPECT_FALSE(
      IsAccepted({{.address = 0x100, .bytes = 8}, {.address = 0x300, .bytes = 8}, {.address = 0x100, .bytes = 8}}))
      << "many at one address would be looked through one by one";
  EXPECT_FALSE(IsAccepted({{.address = 0x100, .bytes = ~0ull}}));
}

TEST(GpuModules, VariablesOfNoBytesAreNowhere) {
  std::vector<module::MemoryRange> memory = {{.address = 0x100, .bytes = 0}, {.address = 0x100, .bytes = 8}};
  ASSERT_TRUE(GpuModules::CheckMemory(memory));
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_EQ(memory[0].bytes, 8u);
}

TEST(GpuModules, ManagedVariablesLieInWhatTheyAreSaidToTake) {
  constexpr uint64_t kBytes = 24;
  const auto take = [](uint64_t address, uint64_t bytes) {
    module::ModuleInfo info{.variables = {{.name = "m", .address = address, .bytes = bytes, .is_managed = true},
                                          {.name = "v", .address = 0x100, .bytes = 8}},
                            .memory = {{.address = 0, .bytes = kBytes}, {.address = 0x100, .bytes = 8}}};
    return GpuModules::TakeManaged(info, kBytes).has_value() && info.memory.size() == 1;
  };
  EXPECT_TRUE(take(16, 8));
  EXPECT_FALSE(take(16, 9));
  EXPECT_FALSE(take(0x100, 8)) << "what is placed later is none of the driver's";
  EXPECT_FALSE(take(~0ull, 8));
}

}  // namespace
}  // namespace tutti::device::gpu
