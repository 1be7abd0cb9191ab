#include "device/cpu/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cuda/device_attribute.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/device_info.h"
#include "os/memory_limit.h"

namespace tutti::device::cpu {
namespace {

// Sets variables for one test.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, value] : variables) {
      setenv(name, value, 1);
      names_.push_back(name);
    }
  }
  ~Environment() {
    for (const char* name : names_) unsetenv(name);
  }

 private:
  std::vector<const char*> names_;
};

TEST(CpuSettings, ReadsAllVariables) {
  const Environment environment{{"TUTTI_CPU_DEVICES", "3"},         {"TUTTI_CPU_SMS", "5"},
                                {"TUTTI_CPU_MEMORY", "8G"},         {"TUTTI_CPU_HOST_MEMORY", "3G"},
                                {"TUTTI_CPU_LOADED_KERNELS", "5"},  {"TUTTI_CPU_NICE", "0"},
                                {"TUTTI_COMPUTE_CAPABILITY", "9.0"}};
  const auto settings = CpuSettings::FromEnvironment();
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->devices, 3u);
  EXPECT_EQ(settings->sms, 5u);
  EXPECT_EQ(settings->nice, 0u);
  EXPECT_EQ(settings->loaded_kernels, 5u);
  EXPECT_EQ(settings->memory_bytes, 8ull << 30);
  EXPECT_EQ(settings->host_bytes, 3ull << 30);
  EXPECT_EQ(settings->compute_major, 9);
}

TEST(CpuSettings, NamesTheVariableThatIsWrong) {
  for (const auto& [name, value] : {std::pair{"TUTTI_CPU_DEVICES", "0"},
                                    {"TUTTI_CPU_SMS", "two"},
                                    {"TUTTI_CPU_LOADED_KERNELS", "0"},
                                    {"TUTTI_CPU_NICE", "20"},
                                    {"TUTTI_CPU_MEMORY", "1Q"},
                                    {"TUTTI_CPU_HOST_MEMORY", "1M"},
                                    {"TUTTI_COMPUTE_CAPABILITY", "8"}}) {
    const Environment environment{{name, value}};
    const auto settings = CpuSettings::FromEnvironment();
    ASSERT_FALSE(settings) << name;
    EXPECT_NE(settings.error().text.find(name), std::string::npos) << settings.error().text;
  }
}

TEST(CpuSettings, LeavesSomeMemoryToTheServer) {
  const auto settings = CpuSettings::FromEnvironment();
  ASSERT_TRUE(settings);
  EXPECT_LT(settings->memory_bytes + settings->host_bytes, os::MemoryOfThisProcess());
  EXPECT_GT(settings->host_bytes, 0u);
}

TEST(ParseBytes, KnowsUnitsAndRefusesNonsense) {
  EXPECT_EQ(ParseBytes("512M"), 512ull << 20);
  EXPECT_EQ(ParseBytes("64k"), 64ull << 10);
  EXPECT_EQ(ParseBytes("123"), 123ull);
  EXPECT_FALSE(ParseBytes(""));
  EXPECT_FALSE(ParseBytes("G"));
  EXPECT_FALSE(ParseBytes("8GB"));
  EXPECT_FALSE(ParseBytes("99999999999999T"));
}

TEST(DeviceInfo, DevicesDifferInUuidAndPciAddress) {
  const CpuSettings settings{.devices = 2, .sms = 4, .memory_bytes = 1ull << 30};
  const auto first = DescribeDevice(settings, 0), second = DescribeDevice(settings, 1);
  EXPECT_NE(std::memcmp(first.uuid, second.uuid, 16), 0);
  EXPECT_EQ(std::memcmp(first.uuid, DescribeDevice(settings, 0).uuid, 16), 0) << "stable";
  EXPECT_NE(first.attributes[cuda::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID],
            second.attributes[cuda::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID]);
  EXPECT_EQ(first.attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT], 4);
}

TEST(WindowOf, ManyWindowsFitIntoTheArena) {
  for (const uint64_t gib : {1ull, 11ull, 500ull}) {
    const uint64_t bytes = WindowOf({.devices = 1, .sms = 1, .memory_bytes = gib << 30}).bytes;
    EXPECT_TRUE(std::has_single_bit(bytes));
    EXPECT_GE((wire::kWindowArenaEnd - wire::kWindowArenaBase) / bytes, wire::kLeastWindows);
  }
}

#ifndef TUTTI_TSAN  // has too few addresses
TEST(WindowOf, AThousandClientsHaveOneOnAnyDeviceThatTheyCanShare) {
  for (const uint64_t gib : {1ull, 4ull, 12ull, 31ull}) {
    const wire::WindowShape shape = WindowOf({.devices = 1, .sms = 1, .memory_bytes = gib << 30});
    const WindowPlan plan = PlanWindows(shape);
    EXPECT_TRUE(plan.smaller.IsSound());
    EXPECT_LE(plan.smaller_begin, wire::kWindowArenaEnd);
    const uint64_t large = (plan.smaller_begin - wire::kWindowArenaBase) / shape.bytes;
    const uint64_t small = (wire::kWindowArenaEnd - plan.smaller_begin) / plan.smaller.bytes;
    EXPECT_GE(large, 2 * wire::kLeastWindows) << "of which each has all of the memory";
    EXPECT_GE(large + small, gib <= 16 ? 1024u : 500u) << gib;
  }
}
#endif

TEST(WindowOf, OneProgramCanHaveAllOfTheDevicesMemoryAndReserveMore) {
  for (const uint64_t gib : {1ull, 11ull, 12ull, 31ull}) {
    const uint64_t all = 2 * gib << 30;
    const wire::WindowShape shape = WindowOf({.devices = 2, .sms = 1, .memory_bytes = gib << 30});
    EXPECT_TRUE(shape.IsSound());
    EXPECT_GE(shape.host_bytes, 2 * all);
    EXPECT_GE(shape.device_bytes, 2 * all);
    EXPECT_GE(shape.reserved_bytes, 2 * (all + all / 8));
    EXPECT_GT(shape.bytes, shape.constants_begin());
  }
}

}  // namespace
}  // namespace tutti::device::cpu
