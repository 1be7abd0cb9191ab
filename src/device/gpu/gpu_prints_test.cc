// What fenced kernels print, in a context that Spaces share: it goes by a FIFO of each Space's own, not by the driver.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda/result.h"
#include "device/gpu/testing/fenced_fixture.h"

namespace tutti::device::gpu {
namespace {

constexpr const char* kPrintf = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n";

class GpuPrints : public FencedFixture {
 protected:
  uint64_t Put(const void* bytes, size_t count) {
    const uint64_t address = culprit_->Allocate(count);
    culprit_->Write(address, {static_cast<const uint8_t*>(bytes), count});
    return address;
  }
  uint64_t PutText(const std::string& text) { return Put(text.c_str(), text.size() + 1); }
};

// a: the format, b: the arguments, c: where the result goes.
std::string PrintingKernel() {
  return KernelOf("  call (%r0), vprintf, (%a, %b);\n  st.global.u32 [%c], %r0;\n", kPrintf);
}

TEST_F(GpuPrints, AFormatItsArgumentsAndTheirStringsAreOfTheClientsMemory) {
  struct {
    int32_t number = -7;
    int32_t pad = 0;
    double real = 2.5;
    uint64_t string = 0;
    uint64_t wide = 1ull << 40;
    uint64_t null = 0;
    int32_t star = 5, character = 'x';
  } arguments;
  arguments.string = PutText("a string");
  const uint64_t result = culprit_->Allocate(4);
  culprit_->Launch(1, culprit_->Kernel(PrintingKernel()), 1, 1,
                   {PutText("%d %.2f <%s> %#llx %s|%*c|%%\n"), Put(&arguments, sizeof arguments), result, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->sink().printed(), "-7 2.50 <a string> 0x10000000000 (null)|    x|%\n");
  EXPECT_EQ(culprit_->ReadValue<uint32_t>(result), 7u);
  EXPECT_EQ(neighbour_->sink().printed(), "");
}

TEST_F(GpuPrints, ArgumentsMayLieInLocalMemoryAndStringsInVariables) {
  const std::string kernel = KernelOf(
      "  .local .align 8 .b8 pack[16];\n  mov.u32 %r1, %tid.x;\n  st.local.u32 [pack], %r1;\n"
      "  mov.u64 %t0, word;\n  cvta.global.u64 %t0, %t0;\n  st.local.u64 [pack+8], %t0;\n"
      "  mov.u64 %t1, pack;\n  cvta.local.u64 %t1, %t1;\n  mov.u64 %t2, text;\n  cvta.global.u64 %t2, %t2;\n"
      "  call (%r0), vprintf, (%t2, %t1);\n",
      std::string(kPrintf) +
          ".global .align 1 .b8 text[8] = {37, 117, 32, 37, 115, 10};\n"
          ".const .align 1 .b8 beside[4] = {1, 2, 3, 4};\n"
          ".global .align 1 .b8 word[4] = {119, 111, 119};\n");
  culprit_->Launch(1, culprit_->Kernel(kernel), 1, 64, {});
  ASSERT_TRUE(culprit_->Synchronize(1));
  const std::string printed = culprit_->sink().printed();
  for (int thread = 0; thread < 64; ++thread)
    EXPECT_NE(("\n" + printed).find("\n" + std::to_string(thread) + " wow\n"), std::string::npos) << printed;
}

// Far more than the FIFO has room for, by kernels that are done one after the other.
TEST_F(GpuPrints, WhatHasBeenPrintedMakesRoom) {
  const std::string line(1000, '.');
  const uint64_t format = PutText(line + "\n"), result = culprit_->Allocate(4);
  const uint32_t kernel = culprit_->Kernel(PrintingKernel());
  for (int i = 0; i < 40; ++i) {
    culprit_->Launch(1, kernel, 1, 64, {format, 0, result, 0});
    ASSERT_TRUE(culprit_->Synchronize(1));
  }
  EXPECT_EQ(culprit_->sink().printed().size(), 40u * 64 * 1001);
}

// The kernel that prints does not end before its text has come.
TEST_F(GpuPrints, TextComesWhileItsKernelRuns) {
  const uint64_t word = culprit_->Allocate(8);
  culprit_->Launch(1,
                   culprit_->Kernel(KernelOf("  call (%r0), vprintf, (%a, 0);\nagain:\n"
                                             "  ld.volatile.global.u64 %t0, [%b];\n  setp.eq.u64 %p1, %t0, 0;\n"
                                             "  @%p1 bra again;\n",
                                             kPrintf)),
                   1, 1, {PutText("so far\n"), word});
  EXPECT_TRUE(culprit_->sink().WaitPrinted("so far\n"));
  culprit_->CreateStream(2);
  culprit_->Launch(2, culprit_->Kernel(cts::kAdd), 1, 1, {word, 1, 0, 0});
  EXPECT_TRUE(culprit_->Synchronize(1));
}

TEST_F(GpuPrints, AStringOfTheNeighboursIsNotPrinted) {
  const uint64_t theirs = neighbour_->Allocate(64);
  neighbour_->Write(theirs, std::vector<uint8_t>(8, 's'));
  culprit_->Launch(1, culprit_->Kernel(PrintingKernel()), 1, 1,
                   {PutText("<%s>\n"), Put(&theirs, sizeof theirs), culprit_->Allocate(4), 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->sink().printed(), "<>\n");
}

TEST_F(GpuPrints, AWildFormatIsAFaultOfItsClientAlone) {
  FaultsAlone(PrintingKernel(), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {0x1234, 0, 0, 0});
  EXPECT_EQ(culprit_->sink().printed(), "");
}

TEST_F(GpuPrints, WildArgumentsAreAFaultOfTheirClientAlone) {
  FaultsAlone(PrintingKernel(), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {PutText("%d"), 0x1234, 0, 0});
}

TEST_F(GpuPrints, NoFormatIsNoFault) {
  const uint64_t result = culprit_->Allocate(4);
  culprit_->Launch(1, culprit_->Kernel(PrintingKernel()), 1, 1, {0, 0, result, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->ReadValue<int32_t>(result), -1);
}

TEST_F(GpuPrints, AnAssertionSaysWhatAndWhere) {
  FaultsAlone(KernelOf("  mov.u32 %r0, %tid.x;\n  setp.eq.u32 %p0, %r0, 3;\n"
                       "  @%p0 call __assertfail, (%a, %b, 42, %c, 1);\n",
                       ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
                       ".param .b64 c);\n"),
              cuda::CUDA_ERROR_ASSERT, {PutText("1 == 2"), PutText("file.cu"), PutText("void k()")});
  EXPECT_EQ(culprit_->sink().asserted(),
            "file.cu:42: void k(): block: [0,0,0], thread: [3,0,0] Assertion `1 == 2` failed.\n");
}

}  // namespace
}  // namespace tutti::device::gpu
