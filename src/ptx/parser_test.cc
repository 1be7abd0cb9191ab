#include "ptx/parser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/result.h"

namespace tutti::ptx {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHead = ".version 9.0\n.target sm_80\n.address_size 64\n";

std::string InBody(std::string_view body) {
  return fmt::format(
      "{}.entry k(.param .u64 p)\n{{\n.reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %d<9>;\n{}\nret;\n}}\n", kHead,
      body);
}

Module MustParse(std::string_view text) {
  auto module = Parse(text);
  EXPECT_TRUE(module) << (module ? "" : module.error().text);
  return module ? std::move(*module) : Module();
}

std::string Repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(ParserTest, AnInstructionIsTakenApart) {
  const Module module =
      MustParse(InBody("@!%p1 cvt.rn.sat.u32.u16 %r1, %r2;\nld.volatile.global.v2.u32 {%r3, _}, [%d1+-8];"));
  const Function& k = module.functions.at(0);
  ASSERT_EQ(k.error, "");
  const Instruction& cvt = k.instructions.at(0);
  EXPECT_EQ(cvt.opcode, Opcode::kCvt);
  EXPECT_TRUE(cvt.Has(Modifier::kRn));
  EXPECT_TRUE(cvt.Has(Modifier::kSat));
  EXPECT_EQ(cvt.types.size(), 2u);
  EXPECT_EQ(cvt.types[1], Type::kU16);
  ASSERT_TRUE(cvt.guard);
  EXPECT_TRUE(cvt.guard->negated);
  EXPECT_EQ(k.registers.at(cvt.guard->predicate).name, "%p1");
  const Instruction& ld = k.instructions.at(1);
  EXPECT_EQ(ld.space, StateSpace::kGlobal);
  EXPECT_EQ(ld.vector, 2);
  EXPECT_EQ(ld.position.line, 8u);
  EXPECT_EQ(ld.operands.at(0).kind, OperandKind::kVector);
  EXPECT_EQ(k.vector_operands.at(ld.operands[0].index + 1).kind, OperandKind::kSink);
  EXPECT_EQ(ld.operands.at(1).base, BaseKind::kRegister);
  EXPECT_EQ(ld.operands.at(1).offset, -8);
}

TEST(ParserTest, LabelsPointAtInstructions) {
  const Module module = MustParse(InBody("bra END;\nHERE: mov.u32 %r1, 1;\nbra HERE;\nEND:"));
  const Function& k = module.functions.at(0);
  EXPECT_EQ(k.labels.at(k.instructions.at(0).operands.at(0).index).instruction, 3u);
  EXPECT_EQ(k.labels.at(k.instructions.at(2).operands.at(0).index).instruction, 1u);
}

TEST(ParserTest, AnExternalFunctionNeedsNoSemicolon) {
  const std::string declared = ".extern .func (.param .b32 r) f (.param .b64 a)\n.noreturn\n";
  const Module module = MustParse(std::string(kHead) + declared + ".extern .func g\n.visible .entry k()\n{\nret;\n}\n" +
                                  ".extern .func h ()");
  ASSERT_EQ(module.functions.size(), 4u);
  EXPECT_EQ(module.functions[0].name, "f");
  EXPECT_TRUE(module.functions[0].noreturn);
  EXPECT_TRUE(module.functions[2].has_body);
  EXPECT_FALSE(Parse(std::string(kHead) + ".func f\n.visible .entry k()\n{\nret;\n}\n")) << "others need one";
}

TEST(ParserTest, VersionsNewerThanKnownAreAccepted) {
  EXPECT_EQ(MustParse(".version 12.10\n.target sm_999\n.address_size 64\n").version_minor, 10u);
}

TEST(ParserTest, TrailingNulsAreNotText) {
  const std::string text = std::string(kHead) + std::string(7, '\0');
  EXPECT_TRUE(Parse(text));
}

TEST(ParserTest, AModuleErrorIsInvalidPtx) {
  const auto module = Parse("hello");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, cuda::CUDA_ERROR_INVALID_PTX);
}

TEST(ParserTest, ABrokenBodyIsEmptyAndHasItsError) {
  for (const char* body : {"add.s32 %r1, %r2;", "mov.u32 %r1, %q;", "bra NOWHERE;", "add.u64 %r1, %r1, %r1;"}) {
    const auto module = Parse(InBody(body));
    ASSERT_TRUE(module) << body;
    EXPECT_THAT(module->functions.at(0).error, HasSubstr("line 7, column"));
    EXPECT_TRUE(module->functions[0].instructions.empty());
    EXPECT_EQ(module->functions[0].locals.size(), 1u);
  }
}

TEST(ParserTest, DeepNestingIsRefusedNotRecursedInto) {
  EXPECT_THAT(MustParse(InBody(Repeated("{", 100000) + Repeated("}", 100000))).functions.at(0).error,
              HasSubstr("too deeply"));
  EXPECT_THAT(MustParse(InBody("mov.u32 %r1, " + Repeated("(", 100000) + "1;")).functions.at(0).error,
              HasSubstr("too deeply"));
  EXPECT_THAT(MustParse(InBody("mov.u32 %r1, " + Repeated("-", 100000) + "1;")).functions.at(0).error,
              HasSubstr("too deeply"));
  EXPECT_FALSE(Parse(std::string(kHead) + ".global .u32 x[1] = " + Repeated("{", 100000)));
}

TEST(ParserTest, ManyRegistersCostNothingUntilMentioned) {
  const std::string text = InBody(Repeated("{ .reg .b32 %x<16777216>; mov.u32 %x7, 1; }\n", 1000));
  EXPECT_EQ(MustParse(text).functions.at(0).registers.size(), 1000u);
}

TEST(ParserTest, ALongNameOfDigitsIsOneLookUp) {
  const std::string name = "%r" + std::string(4 << 20, '1');  // quadratic work would outlast the test's time limit
  EXPECT_THAT(MustParse(InBody("mov.u32 %r1, " + name + ";")).functions.at(0).error,
              testing::SizeIs(testing::Lt(2000)));
}

TEST(ParserTest, AShortTextCannotAskForMuchMemory) {
  for (const char* text : {".global .b8 x[2][70000000000] = {{1}, {2}};", ".global .b8 x[99999999999999999];"}) {
    EXPECT_FALSE(Parse(std::string(kHead) + text)) << text;
  }
  std::string text(kHead);
  for (int i = 0; i < 3; ++i) text += fmt::format(".global .b8 x{}[2][40000000] = {{{{1}}, {{2}}}};\n", i);
  EXPECT_FALSE(Parse(text));
}

TEST(ParserTest, EveryTruncationOfAModuleIsHandled) {
  const std::string text =
      std::string(kHead) + ".global .align 8 .u64 t[2] = {generic(t)+8, 0xff};\n" +
      InBody("{ .param .b32 q; call (q), %d1, (q), pr; }\nmov.b64 {%r1,%r2}, %d1; setp.eq.s32 %p1|%p2, %r1, -5;")
          .substr(kHead.size());
  for (size_t size = 0; size < text.size(); ++size) {
    const auto module = Parse(text.substr(0, size));
    if (!module) {
      EXPECT_EQ(module.error().code, cuda::CUDA_ERROR_INVALID_PTX);
    }
  }
}

TEST(ParserTest, EveryDamagedByteIsHandled) {
  const std::string whole = InBody(
      "{ .reg .b32 %t; mov.u32 %t, %tid.x; }\ntex.1d.v4.s32.s32 {%r1,%r2,%r3,%r4}, [%d1, {%r1}];\nL: @%p1 bra L;\n"
      "t: .branchtargets L;\nbrx.idx %r1, t;\n.loc 1 2 3\nld.global.v2.u32 {%r1,_}, [%d1+0x10];");
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char c : {'\0', '{', '}', '"', '.', '9', ',', '/', '%'}) {
      std::string text = whole;
      text[i] = c;
      const auto module = Parse(text);
      if (!module) {
        EXPECT_NE(module.error().text, "");
      }
    }
  }
}

}  // namespace
}  // namespace tutti::ptx
