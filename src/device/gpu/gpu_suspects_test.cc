// Who may have ended an executor that clients share, and what becomes of it; and clients whom another executor does not
// give what they had.
#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <memory>
#include <string>

#include "cuda/result.h"
#include "cuda/types.h"
#include "device/gpu/executor_link.h"
#include "device/gpu/suspicion.h"
#include "device/gpu/testing/gpu_fixture.h"
#include "metrics/client_counters.h"
#include "os/pidfd.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;
using metrics::Counter;

class GpuSuspects : public GpuFixture {
 protected:
  static uint64_t CountOf(Client& client, Counter counter) { return client.space().counters(0).Get(counter); }
  static void ExpectFault(Client& client, const std::string& says) {
    ASSERT_TRUE(client.sink().WaitFaults(1));
    EXPECT_NE(client.sink().faults()[0].report.find(says), std::string::npos) << client.sink().faults()[0].report;
  }
  // A kernel of one module, without a copy.
  static bool Runs(Client& client) {
    const uint64_t counter = client.Allocate(sizeof(uint64_t));
    client.Launch(1, client.Kernel(cts::kAdd), 1, 1, {counter, 1, 0, 0});
    return client.Synchronize(1);
  }
  void KillExecutor() {
    const pid_t executor = Executors().front();
    kill(executor, SIGKILL);
    EXPECT_TRUE(Becomes([&] { return Executors().empty() || Executors().front() != executor; }));
  }
};

// A driver ends its process in the second module that it loads.
TEST_F(GpuSuspects, WhoseRequestHasEndedASharedExecutorAsksAgainInOneOfItsOwn) {
  Start({.isolation = Isolation::kShared, .plan = "cuModuleLoadDataEx=exit:3@2"});
  const auto suspect = Serve("a"), other = Serve("a");
  ASSERT_TRUE(Runs(*other));
  EXPECT_TRUE(Runs(*suspect));
  EXPECT_TRUE(Runs(*other));
  EXPECT_TRUE(BecomeExecutors(3)) << "of each, and the next one";
  EXPECT_EQ(CountOf(*other, Counter::executor_ends), 1u);
  EXPECT_EQ(CountOf(*other, Counter::recoveries), 1u);
  for (const auto* const client : {&suspect, &other}) EXPECT_TRUE((*client)->sink().faults().empty());
}

// It ends its process in each fill.
TEST_F(GpuSuspects, ARecordThatEndsExecutorsEndsOneOfOthersAndIsGivenUp) {
  Start({.isolation = Isolation::kShared, .plan = "cuMemsetD2D8Async=exit:3"});
  const auto suspect = Serve("a"), other = Serve("a");
  ASSERT_TRUE(Runs(*other));
  const uint64_t to = suspect->Allocate(kMebibyte), counter = suspect->Allocate(sizeof(uint64_t));
  const uint32_t add = suspect->Kernel(cts::kAdd);
  suspect->CreateStream(2);
  const wire::FillBody fill{
      .destination = to, .width = kMebibyte, .height = 1, .pitch = kMebibyte, .value = 1, .element_bytes = 1};
  ASSERT_TRUE(suspect->space().Fill(1, suspect->next_ticket(), fill));
  for (uint64_t i = 0; i < 100; ++i) suspect->Launch(2, add, 1, 1, {counter, 0, 0, 0});
  ExpectFault(*suspect, "");
  EXPECT_LE(CountOf(*suspect, Counter::executor_ends), 3u);
  EXPECT_TRUE(Runs(*other));
  EXPECT_EQ(CountOf(*other, Counter::executor_ends), 1u);
  EXPECT_TRUE(other->sink().faults().empty());
}

TEST_F(GpuSuspects, WhoLosesTheContextOfOthersAgainAndAgainSharesNoMore) {
  Start({.isolation = Isolation::kShared});
  const auto suspect = Serve("a"), other = Serve("a");
  ASSERT_TRUE(Runs(*other));
  for (uint32_t i = 1; i <= Suspicion::kMost; ++i) {
    EXPECT_TRUE(BecomeExecutors(2)) << "both in one: " << i;
    const std::string image = std::string(cts::kAdd) + "// " + std::to_string(i);  // a reset forgets modules
    suspect->Launch(1, suspect->Kernel(image), 1, 1, {16, 1, 0, 0});
    ASSERT_TRUE(suspect->sink().WaitFaults(i));
    EXPECT_EQ(suspect->sink().faults()[i - 1].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
    suspect->space().Reset(0);
    EXPECT_TRUE(suspect->Computes());
    EXPECT_TRUE(Runs(*other));
  }
  EXPECT_TRUE(BecomeExecutors(3)) << "of each, and the next one";
  EXPECT_TRUE(other->sink().faults().empty());
}

// As one does that has a copy to nowhere fail behind its kernel.
TEST_F(GpuSuspects, WhoHasFailedBeforeIsSuspectOfWhatItHasThereStill) {
  Start({.isolation = Isolation::kShared});
  const auto suspect = Serve("a"), other = Serve("a");
  suspect->CreateStream(2);
  for (uint32_t i = 1; i <= Suspicion::kMost; ++i) {
    EXPECT_TRUE(Runs(*other));
    EXPECT_TRUE(BecomeExecutors(2)) << "both in one: " << i;
    const pid_t executor = Executors().front();
    const uint64_t word = suspect->Allocate(sizeof(uint64_t));
    const std::string await = std::string(cts::kAwait) + "// " + std::to_string(i);
    suspect->Launch(1, suspect->Kernel(await), 1, 1, {word, 0, 0, 0});
    const wire::CopyBody copy{.destination = 16, .source = word, .row_bytes = 8, .rows = 1, .planes = 1};
    ASSERT_TRUE(suspect->space().Copy(2, suspect->next_ticket(), copy));
    ASSERT_TRUE(suspect->sink().WaitFaults(i));
    kill(executor, SIGKILL);
    suspect->space().Reset(0);
    EXPECT_TRUE(suspect->Computes());
  }
  EXPECT_TRUE(Runs(*other));
  EXPECT_TRUE(BecomeExecutors(3)) << "of each, and the next one";
  EXPECT_TRUE(other->sink().faults().empty());
}

TEST_F(GpuSuspects, WhoAsksWhatHasEndedBeforeIsNotSuspectOfThat) {
  Start({});
  const auto process = ExecutorProcess::Start(spawner_);
  ASSERT_TRUE(process) << process.error().text;
  const auto link = ExecutorLink::Enter(*process);
  ASSERT_TRUE(link) << link.error().text;
  kill((*process)->pid(), SIGKILL);
  ASSERT_TRUE(os::AwaitEnd((*process)->process()->get(), 60'000));
  EXPECT_FALSE((*link)->Ask({.kind = executor::RequestKind::kReadWord, .address = 1, .bytes = 8}));
  EXPECT_FALSE((*link)->has_unanswered());
}

// It is killed for a context that another client there has lost, and this one has not heard of that.
TEST_F(GpuSuspects, WhoAsksOfALostContextIsNotSuspectOfItsEndThoughItIsNotTold) {
  Start({});
  for (const bool is_lost : {false, true}) {
    const auto process = ExecutorProcess::Start(spawner_);
    ASSERT_TRUE(process) << process.error().text;
    kill((*process)->pid(), SIGSTOP);
    const auto culprit = ExecutorLink::Enter(*process), other = ExecutorLink::Enter(*process);
    ASSERT_TRUE(culprit && other);
    auto answer = std::async(std::launch::async, [&other] {
      return (*other)->Ask({.kind = executor::RequestKind::kReadWord, .address = 1, .bytes = 8}).has_value();
    });
    EXPECT_TRUE(Becomes([&other] { return (*other)->has_unanswered(); }));
    (*culprit)->exchange()->context_lost.store(is_lost ? 1 : 0);
    EXPECT_EQ((*culprit)->FailsForAll(), is_lost);
    (*process)->End();
    EXPECT_FALSE(answer.get());
    EXPECT_TRUE((*other)->has_unanswered());
    EXPECT_EQ((*other)->RequestMayHaveEndedIt(), !is_lost);
  }
}

// The first limit in each process is refused.
TEST_F(GpuSuspects, AClientGoesOnWithoutALimitThatChangesNoResult) {
  Start({.plan = "cuCtxSetLimit=fail:1@1"});
  const auto client = Serve();
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(client->space().SetKernelLimit(0, cuda::CU_LIMIT_PRINTF_FIFO_SIZE, 2 * kMebibyte));
  KillExecutor();
  EXPECT_TRUE(client->Computes());
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuSuspects, AClientIsToldOfALimitThatItsKernelsMayNeed) {
  Start({.plan = "cuCtxSetLimit=fail:1@1"});
  const auto client = Serve();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client->space().SetKernelLimit(0, cuda::CU_LIMIT_STACK_SIZE, 1536));
  KillExecutor();
  ExpectFault(*client, "its context refuses the stack size of 1536 that the program has set");
}

// The second limit in each process is refused: that of one that comes where another one has set a lower one.
TEST_F(GpuSuspects, AMoveThatASharedExecutorRefusesIsMadeToOneOfItsOwn) {
  Start({.isolation = Isolation::kShared, .plan = "cuCtxSetLimit=fail:1@2"});
  const auto endless = Serve("a"), moves = Serve("a");
  ASSERT_TRUE(moves->space().SetKernelLimit(0, cuda::CU_LIMIT_MALLOC_HEAP_SIZE, 9 * kMebibyte));
  const uint64_t word = Spin(*moves);
  Spin(*endless);
  EndByTimeLimit(*endless);
  const auto there = Serve("a");
  ASSERT_TRUE(there->space().SetKernelLimit(0, cuda::CU_LIMIT_MALLOC_HEAP_SIZE, 9 * kMebibyte - 4096));
  EndSpin(*moves, word);
  EXPECT_TRUE(moves->Synchronize(1));
  EXPECT_TRUE(Becomes([&] { return CountOf(*moves, Counter::moves) == 1; }));
  EXPECT_TRUE(BecomeExecutors(3)) << "of each of the two, and the next one";
  EXPECT_TRUE(moves->Computes());
  EXPECT_TRUE(moves->sink().faults().empty());
}

}  // namespace
}  // namespace tutti::device::gpu
