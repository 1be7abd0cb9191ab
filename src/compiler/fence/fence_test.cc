// One file of golden/ is one test: PTX, a line "==== expected", and the fenced PTX without the functions that all
// checks share, or the diagnostics. Where the PTX begins with "// in a shared context", it is for one.
// compiler_fence_test --bless writes the outcome into the files.
#include "compiler/fence/fence.h"

#include <gtest/gtest.h>

#include "base/testing/golden_file.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

std::string OutcomeOf(const std::string& text) {
  auto module = ptx::Parse(text);
  if (!module) return module.error().text + "\n";
  const bool in_shared_context = text.starts_with("// in a shared context\n");
  const auto fenced = FencePtx(std::move(*module), in_shared_context ? kSharedContext : FenceOptions{});
  if (!fenced) return fenced.error().text + "\n";
  const auto again = ptx::Parse(fenced->ptx);
  EXPECT_TRUE(again && ptx::FunctionErrors(*again).empty())
      << (again ? ptx::FunctionErrors(*again) : again.error().text);
  std::string outcome = fenced->ptx.substr(0, fenced->ptx.find(".func __tutti_fault(.param .b64 address"));
  for (const auto& [function, why] : fenced->refused) outcome += "refused: " + function + ": " + why + "\n";
  return outcome;
}

class Golden : public testing::TestWithParam<golden::Path> {};

TEST_P(Golden, HasTheExpectedOutcome) { golden::ExpectOutcome(GetParam(), OutcomeOf); }

INSTANTIATE_TEST_SUITE_P(Fence, Golden, testing::ValuesIn(golden::Files(TUTTI_GOLDEN_DIR)), golden::NameOf);

}  // namespace
}  // namespace tutti::compiler

int main(int count, char** arguments) { return tutti::golden::Run(count, arguments); }
