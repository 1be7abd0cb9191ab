// What a submitter makes of faults that fenced kernels record.
#include <gtest/gtest.h>

#include "executor/fence.h"
#include "executor/fence_memory.h"
#include "executor/testing/submitter_fixture.h"

namespace tutti::executor {
namespace {

using namespace cuda;

class SubmitterFaultsTest : public SubmitterTest {
 protected:
  static constexpr uint64_t kBase = 1ull << 40, kPart = 4 * guest::kFenceSlabBytes;

  void SetUp() override {
    ASSERT_TRUE(fence_.Open(kBase, kPart, kPart));
    writer_.Add({.kind = DispatchKind::kOpenStream, .stream = 0}, OpenStreamDispatch{});
    Copy(0, 1);
  }
  void StepFenced() {
    writer_.Publish();
    fenced_.Step();
  }
  guest::FenceFault& record() { return driver_.hosts.back()->fault; }

  FenceMemory memory_{vendor_};
  Fence fence_{vendor_, &memory_};
  Submitter fenced_{vendor_, &modules_, exchange_.get(), bell_.get(), nullptr, nullptr, &fence_};
};

TEST_F(SubmitterFaultsTest, NothingIsDoneWhileAFaultIsBeingRecorded) {
  record().state = 1;
  StepFenced();
  EXPECT_EQ(done(0), 0u);
  EXPECT_FALSE(fenced_.failed());
  record().kind = CUDA_ERROR_ILLEGAL_ADDRESS;
  record().state = 2;
  StepFenced();
  EXPECT_EQ(exchange_->failure.load(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(exchange_->fault.state, 2u);
}

TEST_F(SubmitterFaultsTest, AKernelThatDiesWithItsContextAsItRecordsAFaultIsOver) {
  record().state = 1;
  driver_.context = CUDA_ERROR_LAUNCH_FAILED;
  StepFenced();
  EXPECT_EQ(exchange_->failure.load(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(exchange_->fault.state, 0u) << "there is no record";
}

}  // namespace
}  // namespace tutti::executor
