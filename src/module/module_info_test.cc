#include "module/module_info.h"

#include <gtest/gtest.h>

#include "module/module_index.h"

namespace tutti::module {
namespace {

ModuleInfo Sample() {
  ModuleInfo info;
  info.kernels.push_back({.name = "add",
                          .params = {{0, 8}, {8, 4}},
                          .param_bytes = 12,
                          .registers = 17,
                          .may_launch_graphs = true,
                          .binary_version = 90});
  info.memory = {{0x1000, 0x100}, {0x8000, 0x1000}};
  info.variables = {{.name = "table", .address = 0x8ff0, .bytes = 16},
                    {.name = "flag", .address = 0x1000, .bytes = 4, .is_managed = true}};
  return info;
}

TEST(ModuleInfo, ArrivesAsItWas) {
  const auto read = ParseModuleInfo(Serialize(Sample()));
  ASSERT_TRUE(read) << read.error().text;
  ASSERT_EQ(read->kernels.size(), 1u);
  EXPECT_EQ(read->kernels[0].name, "add");
  ASSERT_EQ(read->kernels[0].params.size(), 2u);
  EXPECT_EQ(read->kernels[0].params[1].offset, 8u);
  EXPECT_EQ(read->kernels[0].registers, 17u);
  EXPECT_EQ(read->kernels[0].binary_version, 90u);
  EXPECT_TRUE(read->kernels[0].may_launch_graphs);
  ASSERT_EQ(read->variables.size(), 2u);
  EXPECT_EQ(read->variables[0].address, 0x8ff0u);
  EXPECT_TRUE(read->variables[1].is_managed);
  EXPECT_EQ(read->memory[1].bytes, 0x1000u);
}

TEST(ModuleInfo, IsRefusedWhereItIsCutShort) {
  const std::vector<uint8_t> bytes = Serialize(Sample());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(ParseModuleInfo(std::span(bytes).first(length))) << length;
}

TEST(ModuleInfo, AVariableLiesInTheModulesMemory) {
  for (const uint64_t address : {0xfffull, 0x10fdull, 0x1100ull, ~0ull}) {
    ModuleInfo info = Sample();
    info.variables[1].address = address;
    EXPECT_FALSE(ParseModuleInfo(Serialize(info))) << address;
  }
}

TEST(ModuleInfo, AVariableMayLieInARangeThatBeginsBeforeOthers) {
  ModuleInfo info = Sample();
  info.memory = {{.address = 0x1010, .bytes = 4}, {.address = 0x1000, .bytes = 0x100}, {.address = 0x1020, .bytes = 4}};
  for (VariableInfo& variable : info.variables) variable.address = 0x1030;
  EXPECT_TRUE(ParseModuleInfo(Serialize(info)));
  info.memory.push_back({.address = ~0ull - 3, .bytes = 8});
  EXPECT_FALSE(ParseModuleInfo(Serialize(info))) << "beyond all addresses";
}

TEST(ModuleInfo, AParameterLiesInItsKernelsBuffer) {
  ModuleInfo info = Sample();
  info.kernels[0].params[1].bytes = 5;
  EXPECT_FALSE(ParseModuleInfo(Serialize(info)));
}

TEST(ModuleInfo, ConstantsHaveAddressesOfTheirOwn) {
  ModuleIndex index{.variables = {{.name = "c", .offset = 16, .bytes = 8, .is_const = true},
                                  {.name = "v", .offset = kSegmentPageBytes + 8, .bytes = 4}},
                    .segment_bytes = kSegmentPageBytes + 64};
  const SegmentAddresses addresses{.segment = 0x100000, .constants = 0x700000, .constant_bytes = ConstantBytes(index)};
  const ModuleInfo info = Describe(index, addresses);
  EXPECT_EQ(info.variables[0].address, 0x700010u);
  EXPECT_EQ(info.variables[1].address, 0x100000 + kSegmentPageBytes + 8);
  EXPECT_TRUE(ParseModuleInfo(Serialize(info)));
}

}  // namespace
}  // namespace tutti::module
