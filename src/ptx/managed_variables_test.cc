#include "ptx/managed_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tutti::ptx {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHeadOfModule = ".version 7.0\n.target sm_70\n.address_size 64\n";
constexpr std::string_view kVariable = ".visible .global .align 4 .attribute(.managed) .u32 total[4] = {10};\n";

// The module's text without them, or why they stay.
std::string Without(const std::string& text) {
  auto module = Parse(std::string(kHeadOfModule) + text);
  if (!module) return module.error().text;
  EXPECT_EQ(FunctionErrors(*module), "");
  if (const std::string why = TakeOutManagedVariables(&*module, "p_"); !why.empty()) {
    EXPECT_TRUE(HasManagedVariables(*module)) << "as it was";
    return why;
  }
  EXPECT_FALSE(HasManagedVariables(*module));
  const std::string printed = Print(*module);
  const auto again = Parse(printed);
  EXPECT_TRUE(again && FunctionErrors(*again).empty()) << printed;
  return printed.substr(printed.find('\n', printed.find(".address_size")) + 1);
}

TEST(ManagedVariables, CodeFindsThemByConstants) {
  const std::string made = Without(std::string(kVariable) + R"(.visible .entry k() {
  .reg .b32 %v; .reg .b64 %a; .reg .pred %p;
$again:
  setp.eq.u32 %p, %v, 0;
  @%p atom.global.add.u32 %v, [total+8], 1;
  mov.u64 %a, total+4;
  cvta.global.u64 %a, total;
  @%p bra $again;
  ret;
}
)");
  EXPECT_THAT(made, HasSubstr(".visible .global .u32 total[4] = {10"));
  EXPECT_THAT(made, HasSubstr(".visible .const .u64 p_total;"));
  EXPECT_THAT(made, HasSubstr("ld.const.u64 %tutti_managed_3, [p_total];\n\t@%p atom.global.add.u32 %v, "
                              "[%tutti_managed_3+8], 1;"));
  EXPECT_THAT(made, HasSubstr("add.u64 %tutti_managed_4, %tutti_managed_3, 4;\n\tmov.u64 %a, %tutti_managed_4;"));
  EXPECT_THAT(made, HasSubstr("cvta.global.u64 %a, %tutti_managed_3;"));
  EXPECT_THAT(made, HasSubstr("$again:\n\tsetp.eq.u32"));
}

// An assembler leaves out what no code uses and no other module may: their initial values.
TEST(ManagedVariables, ThoseOfAModuleAloneAreVisible) {
  const std::string made = Without(".global .align 4 .attribute(.managed) .u32 total = 10;\n");
  EXPECT_THAT(made, HasSubstr(".visible .global .u32 total = 10"));
}

TEST(ManagedVariables, ModulesWithoutAnyStayAsTheyAre) {
  auto module = Parse(std::string(kHeadOfModule) + ".visible .global .u32 x;\n");
  ASSERT_TRUE(module);
  EXPECT_FALSE(HasManagedVariables(*module));
  EXPECT_EQ(TakeOutManagedVariables(&*module, "p_"), "");
  EXPECT_THAT(Print(*module), Not(HasSubstr("p_")));
}

TEST(ManagedVariables, StayWhereCodeDoesNotSayAllOfTheirUses) {
  const std::string variable(kVariable);
  EXPECT_THAT(Without(variable + ".visible .global .u64 where = generic(total);\n"), HasSubstr("initial value"));
  EXPECT_THAT(Without(".extern .global .attribute(.managed) .u32 total;\n"), HasSubstr("another module"));
  EXPECT_THAT(Without(variable + ".visible .global .u64 p_total;\n"), HasSubstr("reserved"));
  EXPECT_THAT(Without(variable + ".visible .const .b8 much[65536];\n"), HasSubstr("no room"));
}

}  // namespace
}  // namespace tutti::ptx
