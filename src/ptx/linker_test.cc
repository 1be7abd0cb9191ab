#include "ptx/linker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tutti::ptx {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<Module> LinkTexts(const std::vector<std::string>& texts) {
  std::vector<Module> units;
  for (const std::string& text : texts) {
    TUTTI_ASSIGN(Module unit, Parse(".version 9.0\n.target sm_80\n.address_size 64\n" + text));
    EXPECT_EQ(FunctionErrors(unit), "");
    units.push_back(std::move(unit));
  }
  return Link(std::move(units));
}

// The linked module as text; it must stand on its own.
std::string Linked(const std::vector<std::string>& texts) {
  const auto module = LinkTexts(texts);
  if (!module) return "error: " + module.error().text;
  const std::string text = Print(*module);
  const auto again = Parse(text);
  EXPECT_TRUE(again && FunctionErrors(*again).empty()) << text;
  return text;
}

TEST(LinkerTest, AnExternTakesTheDefinitionOfAnotherUnit) {
  const std::string user =
      ".extern .func (.param .b32 r) twice(.param .b32 x);\n.extern .global .u32 counter;\n"
      ".global .u64 pointer = counter;\n"
      ".visible .entry k() { .reg .b32 %r; .param .b32 a; .param .b32 b; call (b), twice, (a); ld.global.u32 %r, "
      "[counter+4]; ret; }\n";
  const std::string owner =
      ".visible .global .u32 counter = 5;\n.visible .func (.param .b32 r) twice(.param .b32 x) { st.param.b32 [r], 7; "
      "ret; }\n";
  for (const auto& order : {std::vector{user, owner}, std::vector{owner, user}}) {
    const std::string text = Linked(order);
    EXPECT_THAT(text, Not(HasSubstr(".extern")));
    EXPECT_THAT(text, HasSubstr(".visible .global .u32 counter = 5;"));
    EXPECT_THAT(text, HasSubstr("call (b), twice, (a);"));
    EXPECT_THAT(text, HasSubstr("[counter+4]"));
    EXPECT_THAT(text, HasSubstr("pointer = counter;"));
    EXPECT_THAT(text, HasSubstr("st.param.b32 [r], 7;"));
  }
}

TEST(LinkerTest, NamesOfAUnitsOwnStayApart) {
  const std::string a =
      ".global .u32 own = 1;\n.func help() { ret; }\n.visible .entry a() { .reg .b32 %r; call help; ld.global.u32 %r, "
      "[own]; ret; }\n";
  const std::string b =
      ".global .u32 own = 2;\n.func help() { exit; }\n.visible .entry b() { .reg .b32 %r; call help; ld.global.u32 %r, "
      "[own]; ret; }\n";
  const std::string text = Linked({a, b});
  EXPECT_THAT(text, HasSubstr("own = 1;"));
  EXPECT_THAT(text, HasSubstr("own$u2 = 2;"));
  EXPECT_THAT(text, HasSubstr("call help$u2;"));
  EXPECT_THAT(text, HasSubstr("[own$u2]"));
}

TEST(LinkerTest, AUnitsOwnNameMakesWayForASharedOne) {
  const std::string text = Linked(
      {".global .u32 x = 1;\n", ".visible .global .u32 x = 2;\n", ".extern .global .u32 x;\n.global .u64 p = x;\n"});
  EXPECT_THAT(text, HasSubstr(".visible .global .u32 x = 2;"));
  EXPECT_THAT(text, HasSubstr("x$u2 = 1;"));
  EXPECT_THAT(text, HasSubstr("p = x;"));
}

TEST(LinkerTest, TwoDefinitionsAreAnError) {
  EXPECT_THAT(Linked({".visible .global .u32 x = 1;\n", ".visible .global .u32 x = 2;\n"}),
              HasSubstr("'x' is defined in two units"));
  EXPECT_THAT(Linked({".entry k() { ret; }\n", ".entry k() { ret; }\n"}), HasSubstr("'k' is defined in two units"));
}

TEST(LinkerTest, AStrongDefinitionIsTakenBeforeWeakOnes) {
  const std::string weak = ".weak .func f() { exit; }\n";
  const std::string strong = ".visible .func f() { ret; }\n";
  for (const auto& order :
       {std::vector{weak, strong, weak}, std::vector{strong, weak}, std::vector{weak, weak, strong}}) {
    const std::string text = Linked(order);
    EXPECT_THAT(text, HasSubstr("ret;"));
    EXPECT_THAT(text, Not(HasSubstr("exit;")));
  }
  EXPECT_THAT(Linked({weak, weak}), HasSubstr("exit;"));
}

TEST(LinkerTest, OfCommonVariablesTheLargestIsTaken) {
  EXPECT_THAT(Linked({".common .global .b8 x[4];\n", ".common .global .b8 x[64];\n", ".common .global .b8 x[8];\n"}),
              HasSubstr("x[64]"));
}

TEST(LinkerTest, AnExternThatNobodyDefinesStays) {
  const std::string text =
      Linked({".extern .func vprintf();\n.entry k() { call vprintf; ret; }\n", ".extern .func vprintf();\n"});
  EXPECT_THAT(text, HasSubstr(".extern .func vprintf;"));
}

TEST(LinkerTest, DifferentParametersAreAnError) {
  EXPECT_THAT(Linked({".extern .func f(.param .b32 x);\n", ".visible .func f(.param .b64 x) { ret; }\n"}),
              HasSubstr("different parameters"));
  EXPECT_THAT(Linked({".extern .func f();\n", ".visible .global .u32 f;\n"}), HasSubstr("in another"));
}

TEST(LinkerTest, TheVendorsDeviceRuntimeIsLeftOut) {
  const std::string text =
      Linked({".entry k() { ret; }\n",
              ".extern .func __cuda_syscall_cnpv2LaunchDeviceV2();\n.visible .func cudaLaunchDevice() { ret; }\n"});
  EXPECT_THAT(text, Not(HasSubstr("cudaLaunchDevice")));
}

TEST(LinkerTest, AnAliasResolvesAnExtern) {
  const std::string text = Linked({".extern .func other();\n.entry k() { call other; ret; }\n",
                                   ".visible .func real() { ret; }\n.alias other, real;\n"});
  EXPECT_THAT(text, HasSubstr(".alias other, real;"));
  EXPECT_THAT(text, HasSubstr("call other;"));
}

TEST(LinkerTest, SourceFilesKeepTheirNames) {
  const std::string body = "() { .loc 1 7 0\nret; }\n";
  const auto module = LinkTexts({".file 1 \"a.cu\"\n.entry a" + body, ".file 1 \"b.cu\"\n.entry b" + body});
  ASSERT_TRUE(module);
  for (const Function& function : module->functions) {
    EXPECT_EQ(module->files.at(function.instructions.at(0).source_file), function.name + ".cu");
  }
}

}  // namespace
}  // namespace tutti::ptx
