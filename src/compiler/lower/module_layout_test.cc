#include "compiler/lower/module_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/result.h"
#include "module/module_index.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHead = ".version 8.7\n.target sm_90\n.address_size 64\n";

struct Laid {
  ptx::Module module;
  ModuleLayout layout;
};

std::unique_ptr<ptx::Module> Parse(const std::string& body) {
  auto module = ptx::Parse(kHead + body);
  EXPECT_TRUE(module) << module.error().text;
  return std::make_unique<ptx::Module>(std::move(*module));
}

const module::SegmentVariable& Find(const ModuleLayout& layout, const std::string& name) {
  for (const module::SegmentVariable& variable : layout.index().variables) {
    if (variable.name == name) return variable;
  }
  ADD_FAILURE() << name;
  return layout.index().variables.front();
}

TEST(ModuleLayout, InitialisedVariablesComeFirstSoThatTheImageIsShort) {
  const auto module = Parse(".global .u32 big[1000000];\n.global .u32 set = 7;\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  EXPECT_LT(layout->index().image.size(), 64u);
  EXPECT_GE(layout->index().segment_bytes, 4000000u);
  EXPECT_EQ(layout->index().image[Find(*layout, "set").offset], 7);
  EXPECT_EQ(module::ConstantBytes(layout->index()), 0u);
}

TEST(ModuleLayout, ConstantsLieOnPagesOfTheirOwn) {
  const auto module =
      Parse(".global .u32 set = 7;\n.const .u32 none[4];\n.const .f32 pi = 0f40490FDB;\n.global .u32 zero;\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  EXPECT_EQ(Find(*layout, "pi").offset, 0u);
  EXPECT_TRUE(Find(*layout, "pi").is_const);
  EXPECT_EQ(layout->const_end(), Find(*layout, "none").offset + 16);  // what isspacep.const asks about
  EXPECT_EQ(Find(*layout, "set").offset, 4096u);
  EXPECT_LT(Find(*layout, "zero").offset, 8192u);
  EXPECT_EQ(layout->index().segment_alignment, 4096u);
  EXPECT_EQ(module::ConstantBytes(layout->index()), 4096u);
}

TEST(ModuleLayout, ConstantsAloneTakeWholePages) {
  const auto module = Parse(".const .u32 table[1025];\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->index().segment_bytes, 8192u);
  EXPECT_EQ(module::ConstantBytes(layout->index()), 8192u);
}

TEST(ModuleLayout, AKernelWhoseNameFitsIntoNoRequestIsRefusedByName) {
  const auto entry = [](size_t characters) {
    return ".visible .entry " + std::string(characters, 'k') + "() { ret; }\n";
  };
  EXPECT_TRUE(ModuleLayout::Make(*Parse(entry(module::kMostNameBytes))));
  const auto module = Parse(entry(module::kMostNameBytes + 1));
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(layout.error().text, HasSubstr("kernel kkkkk"));
  EXPECT_THAT(layout.error().text, HasSubstr("102401 characters"));
  EXPECT_LT(layout.error().text.size(), 200u);
}

TEST(ModuleLayout, AnIndexThatMixesThemIsNotSealed) {
  module::ModuleIndex index;
  index.variables = {{"c", 0, 4, true, false}, {"g", 16, 4, false, false}};
  index.segment_bytes = 8192;
  EXPECT_EQ(module::ConstantBytes(index), 0u);
  index.variables[1].offset = 4096;
  EXPECT_EQ(module::ConstantBytes(index), 4096u);
  index.segment_bytes = 100;
  EXPECT_EQ(module::ConstantBytes(index), 0u) << "the rest of the page is somebody else's";
}

TEST(ModuleLayout, AddressesInInitialisersBecomeRelocations) {
  const auto module = Parse(".func f() { ret; }\n.global .u32 x[4];\n.global .u64 table[3] = {x+8, f, 5};\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout) << layout.error().text;
  const uint64_t table = Find(*layout, "table").offset;
  ASSERT_EQ(layout->index().relocations.size(), 2u);
  EXPECT_EQ(layout->index().relocations[0].offset, table);
  EXPECT_EQ(layout->index().relocations[0].addend, Find(*layout, "x").offset + 8);
  EXPECT_EQ(layout->index().relocations[1].kind, module::Relocation::Kind::kFunction);
  EXPECT_EQ(layout->index().relocations[1].addend, 0u);  // f is function 0
}

TEST(ModuleLayout, ParametersLieAtTheirNaturalAlignment) {
  const auto module =
      Parse(".visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .f32 d) { ret; }\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  std::vector<uint32_t> offsets;
  for (const module::ParameterInfo& param : layout->index().kernels[0].params) offsets.push_back(param.offset);
  EXPECT_THAT(offsets, ElementsAre(0, 8, 16, 36));
  EXPECT_EQ(layout->index().kernels[0].param_bytes, 40u);
}

TEST(ModuleLayout, KernelsPayOnlyForTheSharedMemoryTheyReach) {
  const auto module = Parse(R"(
.shared .align 4 .b8 small[100];
.shared .align 8 .b8 big[4096];
.extern .shared .align 16 .b8 dynamic[];
.func uses_big() { .reg .b32 %r; ld.shared.u32 %r, [big]; ret; }
.visible .entry one() { .reg .b32 %r; ld.shared.u32 %r, [small]; ret; }
.visible .entry two() { .shared .align 4 .u32 own[2]; .reg .b32 %r; ld.shared.u32 %r, [own]; call uses_big, (); ret; }
.visible .entry three() { .reg .b32 %r; mov.u32 %r, dynamic; ret; }
)");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  const auto& kernels = layout->index().kernels;
  EXPECT_EQ(kernels[0].static_shared_bytes, 100u);
  EXPECT_EQ(kernels[1].static_shared_bytes, 8u + 4096u);
  EXPECT_EQ(kernels[2].static_shared_bytes, 0u);
  EXPECT_FALSE(kernels[0].uses_dynamic_shared);
  EXPECT_TRUE(kernels[2].uses_dynamic_shared);
}

TEST(ModuleLayout, ABrokenKernelLeavesTheOthersAlone) {
  const auto module =
      Parse(".visible .entry bad() { .reg .b32 %r; frobnicate.u32 %r; ret; }\n.visible .entry good() { ret; }\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  EXPECT_THAT(layout->index().kernels[0].error, HasSubstr("frobnicate"));
  EXPECT_EQ(layout->index().kernels[1].error, "");
  EXPECT_THAT(layout->index().log, HasSubstr("bad"));
}

TEST(ModuleLayout, SharedMemoryBeyondAnyGpuCostsTheKernel) {
  const auto module = Parse(
      ".visible .entry k() { .shared .b8 huge[1000000]; .reg .b32 %r; mov.u32 %r, huge; ret; }\n.visible .entry ok() { "
      "ret; }\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  EXPECT_THAT(layout->index().kernels[0].error, HasSubstr("huge"));
  EXPECT_EQ(layout->index().kernels[1].error, "");
}

TEST(ModuleLayout, ImpossibleVariablesFailTheModule) {
  for (const char* body : {".global .b8 x[9000000000000];\n",
                           ".global .u64 x = 1;\n.global .b8 y[3000000000] = {1};\n.global .u8 z = 2;\n"}) {
    const auto module = Parse(body);
    const auto layout = ModuleLayout::Make(*module);
    ASSERT_FALSE(layout) << body;
    EXPECT_EQ(layout.error().code, cuda::CUDA_ERROR_INVALID_PTX);
  }
}

// cub asks for it and chooses by it among its tunings: with any other number it finds none.
TEST(ModuleLayout, ThePtxVersionOfAKernelIsItsArchitecture) {
  const auto module = ptx::Parse(".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k() { ret; }\n");
  ASSERT_TRUE(module);
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->index().kernels[0].ptx_version, 120u);
}

TEST(ModuleLayout, LaunchBoundsAreProducts) {
  const auto module = Parse(
      ".visible .entry k() .maxntid 32, 4 { ret; }\n.visible .entry r() .reqntid 16, 2, 2 { ret; }\n.visible .entry "
      "n() { ret; }\n");
  const auto layout = ModuleLayout::Make(*module);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->index().kernels[0].max_threads, 128u);
  EXPECT_EQ(layout->index().kernels[1].max_threads, 64u);
  EXPECT_THAT(layout->index().kernels[1].required_block, ElementsAre(16, 2, 2));
  EXPECT_EQ(layout->index().kernels[2].max_threads, 1024u);
}

}  // namespace
}  // namespace tutti::compiler
