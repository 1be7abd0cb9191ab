#include "ptx/condition_setter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tutti::ptx {
namespace {

TEST(ConditionSetter, WritesTheWordThatAHandleIs) {
  auto module = Parse(R"(.version 8.3
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 one, .param .b32 other);
.visible .entry k(.param .u64 h) {
  .reg .b64 %h;
  ld.param.u64 %h, [h];
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %h; st.param.b32 [b], 1;
    call.uni cudaGraphSetConditional, (a, b); }
  ret;
}
)");
  ASSERT_TRUE(module) << module.error().text;
  ASSERT_TRUE(DeclaresSetConditional(*module));
  DefineSetConditional(&*module, "set_condition");
  EXPECT_FALSE(DeclaresSetConditional(*module));
  const std::string printed = Print(*module);
  const auto again = Parse(printed);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(FunctionErrors(*again), "");
  EXPECT_THAT(printed, testing::HasSubstr("call.uni set_condition,"));
  EXPECT_THAT(printed, testing::HasSubstr("ld.param.u64 %handle, [$handle];\n\tld.param.u32 %value, [$value];\n"
                                          "\tst.global.u32 [%handle], %value;\n\tret;"));
  EXPECT_THAT(printed, testing::Not(testing::HasSubstr("cudaGraphSetConditional")));
}

TEST(ConditionSetter, ADeclarationsNamesMeanNothing) {
  auto module = Parse(
      ".version 8.3\n.target sm_70\n.address_size 64\n"
      ".extern .func cudaGraphSetConditional(.param .b64 %value, .param .b32 %handle);\n");
  ASSERT_TRUE(module) << module.error().text;
  DefineSetConditional(&*module, "set_condition");
  const std::string printed = Print(*module);
  EXPECT_THAT(printed, testing::HasSubstr("ld.param.u64 %handle, [$handle];\n\tld.param.u32 %value, [$value];"));
}

TEST(ConditionSetter, ItIsDeclaredAsCompilersDo) {
  const auto module = Parse(
      ".version 8.3\n.target sm_70\n.address_size 64\n"
      ".extern .func cudaGraphSetConditional(.param .b64 one, .param .b64 other);\n");
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_FALSE(DeclaresSetConditional(*module));
}

}  // namespace
}  // namespace tutti::ptx
