#include "compiler/lower/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "compiler/lower/llvm.h"
#include "compiler/lower/testing/synthesize.h"
#include "cuda/result.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

const std::string kHead = ".version 8.7\n.target sm_90\n.address_size 64\n";

struct Lowered {
  llvm::LLVMContext context;
  LowerDiagnostics diagnostics;
  Result<std::unique_ptr<llvm::Module>> module = Fail("not lowered");
};

std::unique_ptr<Lowered> Lower(const std::string& body, const LowerOptions& options = {}) {
  auto lowered = std::make_unique<Lowered>();
  const auto module = ptx::Parse(kHead + body);
  EXPECT_TRUE(module) << module.error().text;
  const auto layout = ModuleLayout::Make(*module);
  EXPECT_TRUE(layout) << layout.error().text;
  for (uint32_t f = 0; f < module->functions.size(); ++f) {
    if (!module->functions[f].is_entry) continue;
    lowered->module = LowerKernel(lowered->context, *module, f, *layout, options, lowered->diagnostics);
    break;
  }
  return lowered;
}

uint64_t Field(const llvm::MDNode* node, unsigned i) {
  return llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(i))->getZExtValue();
}

// A location survives the optimiser and inlining, and names the PTX line and the source line.
TEST(Lower, AccessesKnowTheirLines) {
  const auto lowered = Lower(R"(.file 1 "kernel.cu"
.func f(.param .b64 p) {
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  .loc 1 33 5
  st.u32 [%d], 7;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b64 %d;
  ld.param.u64 %d, [out];
  { .param .b64 p; st.param.b64 [p], %d; call f, (p); }
  ret;
}
)");
  ASSERT_TRUE(lowered->module) << lowered->module.error().text;
  llvm::Function* kernel = (*lowered->module)->getFunction("tutti.kernel");
  int stores = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(*kernel)) {
    if (!llvm::isa<llvm::StoreInst>(instruction)) continue;
    ++stores;
    const llvm::MDNode* location = instruction.getMetadata("tutti.loc");
    ASSERT_NE(location, nullptr);
    EXPECT_EQ(Field(location, 0), 9u);
    EXPECT_EQ(Field(location, 1), 33u);
    EXPECT_EQ(Field(location, 2), 1u);
  }
  EXPECT_EQ(stores, 1);
}

// Reading a register that was never written must not give the optimiser an undefined value: an address computed from it
// could pass its range check with one value and be accessed with another.
TEST(Lower, NothingIsUndefined) {
  const auto lowered = Lower(R"(.visible .entry k(.param .u64 out) {
  .local .align 8 .b8 depot[8];
  .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %p;
  ld.param.u64 %d0, [out];
  ld.local.u64 %d2, [depot];
  add.u64 %d2, %d2, %d3;
  setp.eq.u32 %p, %r0, 5;
  @%p bra SKIP;
  add.u32 %r1, %r2, %r3;
  st.global.u32 [%d2], %r1;
SKIP:
  mov.u64 %d1, depot;
  ld.local.u64 %d3, [%d1+100];
  st.u64 [%d3], %d2;
  ret;
}
)");
  ASSERT_TRUE(lowered->module) << lowered->module.error().text;
  for (const llvm::Instruction& instruction : llvm::instructions(*(*lowered->module)->getFunction("tutti.kernel"))) {
    for (const llvm::Use& operand : instruction.operands()) EXPECT_FALSE(llvm::isa<llvm::UndefValue>(operand));
  }
}

TEST(Lower, BlockShapeIsAConstantWhereItIsKnown) {
  const std::string text =
      ".visible .entry k(.param .u64 out) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [out]; mov.u32 %r, %ntid.x; "
      "st.u32 [%d], %r; ret; }\n";
  LowerOptions options;
  EXPECT_NE((*Lower(text)->module)->getFunction("tutti.ntid.x"), nullptr);
  options.block = {96, 1, 1};
  EXPECT_EQ((*Lower(text, options)->module)->getFunction("tutti.ntid.x"), nullptr);
}

TEST(Lower, AnExponentialCallTreeIsNotInlined) {
  std::string text = ".func f0() { .reg .b32 %r; bar.sync 0; ret; }\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string below = "f" + std::to_string(i - 1);
    text += ".func f" + std::to_string(i) + "() { call " + below + ", (); call " + below + ", (); ret; }\n";
  }
  const auto lowered = Lower(text + ".visible .entry k() { call f40, (); ret; }\n");
  ASSERT_TRUE(lowered->module) << lowered->module.error().text;
  EXPECT_LT((*lowered->module)->getInstructionCount(), 200000u);
}

// What has many call sites is there once, if it is not small: a fence's check, for each access of a kernel.
TEST(Lower, WhatManyCallsWouldRepeatIsNotInlined) {
  const auto size_with = [](int calls) {
    std::string text = ".func check(.param .b64 p) { .reg .b64 %d; .reg .b32 %r; ld.param.b64 %d, [p];\n";
    for (int i = 0; i < 49; ++i) text += "ld.volatile.b32 %r, [%d]; st.volatile.b32 [%d], %r;\n";
    text += "ret; }\n.visible .entry k(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p];\n";
    for (int i = 0; i < calls; ++i) text += "call check, (%d);\n";
    const auto lowered = Lower(text + "ret; }\n");
    EXPECT_TRUE(lowered->module) << lowered->module.error().text;
    return lowered->module ? (*lowered->module)->getInstructionCount() : 0u;
  };
  EXPECT_GT(size_with(30), 30u * 98);
  EXPECT_LT(size_with(50), 1000u);
}

TEST(Lower, WhatIsNotSupportedIsToldFromWhatIsInvalid) {
  const auto unsupported = Lower(
      ".visible .entry k() { .reg .b64 %d; .reg .f32 %f<8>; .reg .b32 %r; "
      "tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d, {%r, %r, %r, %r}]; ret; }\n");
  ASSERT_FALSE(unsupported->module);
  EXPECT_EQ(unsupported->module.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(unsupported->module.error().text, testing::HasSubstr("line 4, k: tex.2dms"));
  const auto invalid = Lower(".visible .entry k() { .reg .b32 %r; .reg .f32 %f; cvt.s32.f32 %r, %f; ret; }\n");
  ASSERT_FALSE(invalid->module);
  EXPECT_EQ(invalid->module.error().code, cuda::CUDA_ERROR_INVALID_PTX);
}

// ".b32 r, 1.0" is a mistake, and not the lower half of a double.
TEST(Lower, AFloatingPointLiteralIsNoIntegerOfAnotherSize) {
  for (const char* statement : {"mov.b32 %r, 1.0;", "mov.b64 %d, 0f3f800000;", "add.s32 %r, %r, 1.5;",
                                "add.f16 %h, %h, 1.0;", "st.global.b32 [%d], 1.0;"}) {
    const auto lowered = Lower(".visible .entry k() { .reg .b16 %h; .reg .b32 %r; .reg .b64 %d;\n" +
                               std::string(statement) + "\nret; }");
    EXPECT_EQ(lowered->module.error().code, cuda::CUDA_ERROR_INVALID_PTX) << statement;
  }
  EXPECT_TRUE(Lower(".visible .entry k() { .reg .b32 %r; .reg .b64 %d; mov.b32 %r, 0f3f800000; mov.b64 %d, 1.0; ret; }")
                  ->module);
}

TEST(Lower, NearlyAllPtxInUseIsSupported) {
  std::ifstream file(TUTTI_HISTOGRAM);
  ASSERT_TRUE(file);
  double all = 0, missing = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string form;
    double weight = 0;
    if (line.starts_with('#') || !(fields >> form >> weight)) continue;
    all += weight;
    if (!lowering::WhyNotLowered(form).empty()) missing += weight;
  }
  EXPECT_GT(all, 1e6);
  EXPECT_LT(missing / all, 0.001);
}

}  // namespace
}  // namespace tutti::compiler
