// What becomes of modules, with a driver that loads nothing.
#include "executor/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <string_view>

#include "executor/fence.h"
#include "executor/fence_memory.h"
#include "executor/testing/submitter_fixture.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::executor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using namespace cuda;

constexpr uint64_t kBase = 1ull << 40, kPart = 4 * guest::kFenceSlabBytes;

class ModulesTest : public testing::Test {
 protected:
  ModulesTest() { driver = &driver_; }
  ~ModulesTest() override { driver = nullptr; }

  static Modules::Image ImageOf(std::string_view text) {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return {.text = bytes, .code = bytes};
  }
  static std::string WithTable(uint64_t bytes) {
    return ".version 7.0\n.target sm_70\n.address_size 64\n.global .b8 table[" + std::to_string(bytes) + "];\n";
  }

  FakeDriver driver_;
  const Vendor vendor_ = MakeVendor();
  Context context_{vendor_};
};

TEST_F(ModulesTest, ANumberThatIsTakenIsRefusedAndTheModuleThatHasItStays) {
  driver_.variables[guest::kFenceVariable] = sizeof(guest::FenceWords);
  FenceMemory memory(vendor_);
  Fence fence(vendor_, &memory);
  ASSERT_TRUE(fence.Open(kBase, kPart, kPart));
  Modules modules(vendor_, &fence);
  ASSERT_TRUE(modules.Load(7, ImageOf(WithTable(4)), true));
  const uintptr_t first = driver_.last;
  EXPECT_FALSE(modules.Load(7, ImageOf(WithTable(4)), true));
  driver_.calls.clear();
  ASSERT_TRUE(fence.SetMemory(kBase + kPart, guest::kFenceSlabBytes,
                              guest::kFenceReadable | guest::kFenceWritable));
  const uint64_t run = AddressOfVariable(first) + offsetof(guest::FenceWords, run_bytes);
  EXPECT_THAT(driver_.calls, Contains(HasSubstr(" to " + std::to_string(run) + " "))) << "it is told of its memory";
  EXPECT_TRUE(driver_.unloaded().empty());
}

// The driver may take long: a launch of another module does not wait for that.
TEST_F(ModulesTest, OneThatIsBeingUnloadedHoldsUpNoLaunch) {
  Modules modules(vendor_);
  ASSERT_TRUE(modules.Load(1, ImageOf(WithTable(4)), false));
  std::future<void> launched;
  std::future_status status = std::future_status::deferred;
  driver_.at_unload = [&] {
    launched = std::async(std::launch::async, [&] { (void)modules.Find(2, 0, 0, 1); });
    status = launched.wait_for(std::chrono::seconds(10));
  };
  EXPECT_TRUE(modules.Unload(1));
  EXPECT_EQ(status, std::future_status::ready);
}

TEST_F(ModulesTest, OnesVariablesCountAsItWaitsToBeUnloaded) {
  constexpr uint64_t kMuch = Leftovers::kMostBytesOfPlace;
  Leftovers leftovers(vendor_, &context_, nullptr);
  Modules modules(vendor_, nullptr, 0, &leftovers);
  context_.Begin();
  driver_.variables["table"] = 4;
  ASSERT_TRUE(modules.Load(1, ImageOf(WithTable(4)), false));
  EXPECT_EQ(modules.Unload(1), true);
  driver_.variables["table"] = kMuch;
  ASSERT_TRUE(modules.Load(2, ImageOf(WithTable(kMuch)), false));
  EXPECT_EQ(modules.Unload(2), false);
  EXPECT_EQ(modules.Unload(2), false) << "it is loaded, and has its number";
  context_.End();
  EXPECT_EQ(modules.Unload(2), true);
  EXPECT_FALSE(modules.Unload(2));
}

}  // namespace
}  // namespace tutti::executor
