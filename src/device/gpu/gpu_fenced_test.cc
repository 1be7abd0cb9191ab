// Spaces that share an executor, with kernels that are fenced, and our own driver as the vendor's: what ends one of
// them is nothing to the others, who compute in the same context meanwhile.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "cuda/result.h"
#include "device/gpu/testing/fenced_fixture.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;

using GpuFenced = FencedFixture;

TEST_F(GpuFenced, AWildAddressIsTheFaultOfItsClientAlone) {
  FaultsAlone(KernelOf("  st.global.u32 [%a], 1;\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {0x1000});
  EXPECT_NE(Report().find("illegal address 0x1000 in kernel k, block (0,0,0)"), std::string::npos) << Report();
  EXPECT_NE(Report().find("PTX line 7"), std::string::npos) << Report();
}

TEST_F(GpuFenced, MemoryOfTheNeighbourIsNotReached) {
  const uint64_t secret = neighbour_->Allocate(64);
  neighbour_->Write(secret, std::vector<uint8_t>(64, 0x5e));
  FaultsAlone(KernelOf("  atom.exch.b32 %r0, [%a], 7;\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {secret});
  EXPECT_EQ(neighbour_->Read(secret, 64), std::vector<uint8_t>(64, 0x5e));
}

TEST_F(GpuFenced, AnAddressOfTheWindowWithoutMemoryIsAFaultOfItsClientAlone) {
  const uint64_t last = culprit_->space().window_base() + culprit_->space().window().bytes - 4;
  FaultsAlone(KernelOf("  ld.u32 %r0, [%a];\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {last});
}

TEST_F(GpuFenced, FreedMemoryIsAFaultOfItsClientAlone) {
  const uint64_t freed = culprit_->Allocate(8 * kMebibyte), behind = culprit_->Allocate(8 * kMebibyte);
  ASSERT_TRUE(culprit_->space().Free(freed));
  ASSERT_TRUE(culprit_->sink().WaitMemory(0, neighbour_->sink().memory_used(0) + 8 * kMebibyte));
  // Beside the hole it has memory still.
  culprit_->Launch(1, culprit_->Kernel(cts::kAdd), 1, 32, {behind, 2, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->ReadValue<uint64_t>(behind), 64u);
  FaultsAlone(KernelOf("  st.global.u32 [%a], 1;\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {freed});
}

TEST_F(GpuFenced, ATrapIsAFaultOfItsClientAlone) { FaultsAlone(KernelOf("  trap;\n"), cuda::CUDA_ERROR_LAUNCH_FAILED); }

TEST_F(GpuFenced, AnAssertionIsAFaultOfItsClientAlone) {
  FaultsAlone(KernelOf("  call __assertfail, (%a, %a, %r0, %a, %a);\n",
                       ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
                       ".param .b64 c);\n"),
              cuda::CUDA_ERROR_ASSERT);
}

TEST_F(GpuFenced, AMisalignedAddressIsAFaultOfItsClientAlone) {
  const uint64_t own = culprit_->Allocate(64);
  FaultsAlone(KernelOf("  st.global.u32 [%a], 1;\n"), cuda::CUDA_ERROR_MISALIGNED_ADDRESS, {own + 2});
}

TEST_F(GpuFenced, WhoHasFaultedComputesAgainAfterAReset) {
  FaultsAlone(KernelOf("  trap;\n"), cuda::CUDA_ERROR_LAUNCH_FAILED);
  culprit_->space().Reset(0);
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_TRUE(neighbour_->Computes());
  ExpectThatTheyShare();
}

TEST_F(GpuFenced, ACopyOfMemoryThatIsNotThereIsAFaultOfItsClientAlone) {
  const uint64_t own = culprit_->Allocate(64);
  const uint64_t last = culprit_->space().window_base() + culprit_->space().window().bytes - 64;
  const wire::CopyBody copy{.destination = own, .source = last, .row_bytes = 64, .rows = 1, .planes = 1};
  ASSERT_TRUE(culprit_->space().Copy(1, culprit_->next_ticket(), copy));
  ASSERT_TRUE(culprit_->sink().WaitFaults(1));
  EXPECT_EQ(culprit_->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_FALSE(culprit_->space().Word(last, sizeof(uint64_t), 0));
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

TEST_F(GpuFenced, HostMemoryIsReachedByKernels) {
  const auto word = culprit_->space().Allocate(0, wire::MemoryKind::kHost, sizeof(uint64_t), 0);
  ASSERT_TRUE(word);
  culprit_->Launch(1, culprit_->Kernel(cts::kAdd), 1, 64, {*word, 3, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(culprit_->space().Reached(*word, sizeof(uint64_t))), 192u);
}

TEST_F(GpuFenced, TheFencesOwnVariablesCannotBeNamed) {
  const auto module = culprit_->space().LoadModule(
      0, {reinterpret_cast<const uint8_t*>(cts::kVariables.data()), cts::kVariables.size()});
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_EQ(module->info.variables.size(), 3u);
  for (const module::VariableInfo& variable : module->info.variables)
    EXPECT_FALSE(variable.name.starts_with("__tutti"));
}

TEST_F(GpuFenced, AKernelThatCannotBeFencedIsRefusedWithTheInstructionAndTheRemedy) {
  const std::string text = KernelOf("  mapa.u64 %t0, %a, 0;\n");
  const auto module = culprit_->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  ASSERT_TRUE(module) << module.error().text;
  const uint32_t any[3] = {0, 0, 0};
  const auto kernel = culprit_->space().Prepare(module->id, 0, any);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(kernel.error().text.find("TUTTI_ISOLATION=process"), std::string::npos) << kernel.error().text;
  EXPECT_TRUE(culprit_->Computes());
}

TEST_F(GpuFenced, WhatMayOutgrowItsStackIsRefused) {
  const std::string texts[] = {
      KernelOf("  call again, ();\n", ".func again();\n.func again() {\n  call again, ();\n  ret;\n}\n"),
      KernelOf("  call again, ();\n",
               ".func again();\n.func again() {\n  .reg .b64 %f;\n  mov.u64 %f, again;\n"
               "  proto: .callprototype _ ();\n  call %f, (), proto;\n  ret;\n}\n")};
  for (const std::string& text : texts) {
    const auto module = culprit_->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    ASSERT_TRUE(module) << module.error().text;
    ASSERT_EQ(module->info.kernels.size(), 1u);
    const uint32_t any[3] = {0, 0, 0};
    const auto kernel = culprit_->space().Prepare(module->id, 0, any);
    ASSERT_FALSE(kernel) << text;
    EXPECT_EQ(kernel.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_NE(kernel.error().text.find("cannot be fenced"), std::string::npos) << kernel.error().text;
  }
}

constexpr const char* kFunctions =
    ".func (.param .b32 r) one(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 1;\n"
    "  st.param.b32 [r], %x; ret; }\n"
    ".func (.param .b32 r) two(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 2;\n"
    "  st.param.b32 [r], %x; ret; }\n"
    ".func other() { ret; }\n"
    ".global .align 8 .u64 table[3] = {one, two, other};\n";

TEST_F(GpuFenced, FunctionsAreCalledByWhatVariablesAndKernelsHaveOfThem) {
  const std::string kernel = KernelOf(
      "  mov.u32 %r0, %tid.x;\n  and.b32 %r1, %r0, 1;\n  mul.wide.u32 %t0, %r1, 8;\n  mov.u64 %t1, table;\n"
      "  add.u64 %t0, %t0, %t1;\n  ld.global.u64 %t2, [%t0];\n  setp.eq.u32 %p0, %r0, 2;\n"
      "  @%p0 mov.u64 %t2, two;\n  proto: .callprototype (.param .b32 r) _ (.param .b32 a);\n"
      "  call (%r2), %t2, (%r0), proto;\n  mul.wide.u32 %t3, %r0, 4;\n  add.u64 %t3, %t3, %a;\n"
      "  st.global.u32 [%t3], %r2;\n",
      kFunctions);
  const uint64_t results = culprit_->Allocate(16);
  culprit_->Launch(1, culprit_->Kernel(kernel), 1, 4, {results, 0, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  const uint32_t expected[] = {1, 3, 4, 5};
  for (uint32_t thread = 0; thread < 4; ++thread)
    EXPECT_EQ(culprit_->ReadValue<uint32_t>(results + 4 * thread), expected[thread]) << thread;
}

TEST_F(GpuFenced, AggregatesArePassedToFunctionsThatAreCalledByAddress) {
  const std::string kernel = KernelOf(
      "  .param .align 8 .b8 given[24];\n  .param .align 4 .b8 got[12];\n  .local .align 8 .b8 here[16];\n"
      "  st.param.b64 [given+8], %b;\n  st.param.b32 [given+16], 9;\n  mov.u64 %t0, swaps;\n"
      "  mov.u64 %t1, here;\n  cvta.local.u64 %t1, %t1;\n  st.param.b64 [given], %t1;\n"
      "  proto: .callprototype (.param .align 4 .b8 _[12]) _ (.param .align 8 .b8 _[24]);\n"
      "  call (got), %t0, (given), proto;\n"
      "  ld.param.b32 %r0, [got];\n  ld.param.b32 %r1, [got+8];\n  ld.local.u32 %r2, [here+4];\n"
      "  st.global.u32 [%a], %r0;\n  st.global.u32 [%a+4], %r1;\n  st.global.u32 [%a+8], %r2;\n",
      ".func (.param .align 4 .b8 r[12]) swaps(.param .align 8 .b8 s[24]) {\n  .reg .b64 %x, %y; .reg .b32 %z;\n"
      "  ld.param.b64 %x, [s];\n  ld.param.b64 %y, [s+8];\n  ld.param.b32 %z, [s+16];\n  st.u32 [%x+4], 5;\n"
      "  st.param.b32 [r], %z;\n  cvt.u32.u64 %z, %y;\n  st.param.b32 [r+8], %z;\n  ret;\n}\n");
  const uint64_t results = culprit_->Allocate(16);
  culprit_->Launch(1, culprit_->Kernel(kernel), 1, 1, {results, 7, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->ReadValue<uint32_t>(results), 9u);
  EXPECT_EQ(culprit_->ReadValue<uint32_t>(results + 4), 7u);
  EXPECT_EQ(culprit_->ReadValue<uint32_t>(results + 8), 5u) << "local memory of a caller's is reached";
}

TEST_F(GpuFenced, ACallOfWhatIsNoFunctionIsAFaultOfItsClientAlone) {
  FaultsAlone(KernelOf("  proto: .callprototype (.param .b32 r) _ (.param .b32 a);\n"
                       "  call (%r2), %a, (%r0), proto;\n",
                       kFunctions),
              cuda::CUDA_ERROR_INVALID_PC, {0x1234});
}

TEST_F(GpuFenced, AFunctionOfOtherParametersIsNotCalled) {
  FaultsAlone(KernelOf("  ld.global.u64 %t0, [table+16];\n"
                       "  proto: .callprototype (.param .b32 r) _ (.param .b32 a);\n"
                       "  call (%r2), %t0, (%r0), proto;\n",
                       kFunctions),
              cuda::CUDA_ERROR_INVALID_PC);
}

TEST_F(GpuFenced, AnImageWithoutPtxIsRefusedWithTheRemedy) {
  const std::string image =
      "\x7f"
      "ELF no PTX in it";
  const auto module = culprit_->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().text, "");
  EXPECT_TRUE(culprit_->Computes());
}

TEST_F(GpuFenced, AKernelWithoutEndEndsWithItsClient) {
  const uint64_t word = culprit_->Allocate(sizeof(uint64_t)), base = culprit_->space().window_base();
  culprit_->Launch(1, culprit_->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
  culprit_ = nullptr;
  const uint64_t map = guest::FenceBytes(neighbour_->space().window().bytes);
  EXPECT_EQ(backend_->memory(0).device_bytes(), neighbour_->sink().memory_used(0) + map);
  culprit_ = Serve();
  EXPECT_EQ(culprit_->space().window_base(), base) << "in its place";
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_TRUE(neighbour_->Computes());
  ExpectThatTheyShare();
}

TEST_F(GpuFenced, ATimeLimitEndsAKernelAndItsClientComputesAgainInTheSameContext) {
  const uint64_t word = culprit_->Allocate(sizeof(uint64_t));
  culprit_->Launch(1, culprit_->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
  culprit_->space().SetLimits({.kernel_ns = 20'000'000});
  ASSERT_TRUE(culprit_->sink().WaitFaults(1));
  EXPECT_EQ(culprit_->sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_TIMEOUT);
  culprit_->space().SetLimits({});
  culprit_->space().Reset(0);
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_TRUE(neighbour_->sink().faults().empty());
  ExpectThatTheyShare();
}

// The thread that ends is the one that the others wait for.
TEST_F(GpuFenced, ThreadsThatWaitForOneThatHasFaultedEnd) {
  const uint64_t word = culprit_->Allocate(sizeof(uint64_t));
  FaultsAlone(KernelOf("  mov.u32 %r0, %tid.x;\n  setp.eq.u32 %p0, %r0, 0;\n  @%p0 trap;\n"
                       "again:\n  ld.volatile.global.u64 %t0, [%a];\n  setp.eq.u64 %p1, %t0, 0;\n  @%p1 bra again;\n"),
              cuda::CUDA_ERROR_LAUNCH_FAILED, {word});
  culprit_->space().Reset(0);
  EXPECT_TRUE(culprit_->Computes());
  ExpectThatTheyShare();
}

TEST_F(GpuFenced, WhatAFenceTakesCountsAsTheDevices) {
  const uint64_t before = backend_->memory(0).device_bytes();
  const auto third = Serve();
  EXPECT_EQ(backend_->memory(0).device_bytes() - before, kMebibyte + guest::FenceBytes(third->space().window().bytes));
  EXPECT_EQ(third->sink().memory_used(0), kMebibyte) << "as a context does, not as its client's";
}

TEST_F(GpuFenced, ManyModulesHaveTheirOwnWords) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(culprit_->Computes());
  culprit_->Allocate(16 * kMebibyte);
  const uint64_t far = culprit_->Allocate(16 * kMebibyte);
  culprit_->Launch(1, culprit_->Kernel(cts::kAdd), 1, 1, {far + 15 * kMebibyte, 5, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->ReadValue<uint64_t>(far + 15 * kMebibyte), 5u);
}

}  // namespace
}  // namespace tutti::device::gpu
