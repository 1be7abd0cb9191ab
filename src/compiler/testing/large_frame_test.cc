// Frames that are larger than the guard below a guest's stack.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/testing/test_module.h"

namespace tutti::compiler {
namespace {

// Calls itself without end, with so many values that live across the call that they fill 225 KiB of its frame.
std::string EndlessRecursion() {
  constexpr int kValues = 900;
  std::string loads, stores;
  for (int i = 0; i < kValues; ++i) {
    loads += fmt::format("ld.volatile.global.u64 %v{}, [%out];\n", i);
    stores += fmt::format("st.volatile.global.u64 [%out], %v{};\n", i);
  }
  return fmt::format(R"(
.version 8.0
.target sm_80
.address_size 64
.func f(.param .b64 out, .param .b32 depth)
{{
.reg .b64 %v<{}>, %out; .reg .b32 %d; .reg .pred %p;
ld.param.u64 %out, [out];
ld.param.u32 %d, [depth];
setp.eq.u32 %p, %d, 0;
@%p bra done;
sub.u32 %d, %d, 1;
{}
{{ .param .b64 a; .param .b32 b; st.param.b64 [a], %out; st.param.b32 [b], %d; call f, (a, b); }}
{}
done:
ret;
}}
.visible .entry k(.param .u64 out)
{{
.reg .b64 %out, %t; .reg .b32 %r;
ld.param.u64 %out, [out];
mov.u32 %r, %tid.x;
mul.wide.u32 %t, %r, 8;
add.u64 %out, %out, %t;
{{ .param .b64 a; .param .b32 b; st.param.b64 [a], %out; st.param.b32 [b], 100000; call f, (a, b); }}
ret;
}}
)",
                     kValues, loads, stores);
}

TEST(LargeFrame, DoesNotStepOverTheGuardOfAStack) {
  auto module = TestModule::Open(EndlessRecursion(), {.target = HostTarget::Detect()});
  ASSERT_TRUE(module) << module.error().text;
  std::vector<uint64_t> out(32);
  const auto result = module->Run("k", GridLaunch{.block = {32, 1, 1}}.Param(out.data()));
  ASSERT_TRUE(result) << result.error().text;
  ASSERT_TRUE(result->fault);
  EXPECT_EQ(result->fault->kind, guest::FaultKind::kHardwareStackError);
}

}  // namespace
}  // namespace tutti::compiler
