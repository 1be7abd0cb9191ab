// Conditional nodes of graphs: what kernels decide, and who else notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "cuda/result.h"
#include "device/gpu/testing/gpu_fixture.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

// Takes one from the counter b, and sets the condition a: whether anything is left.
constexpr std::string_view kCountDown = R"(.version 8.3
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {
  .reg .b64 %condition, %counter, %left;
  .reg .b32 %goes_on;
  .reg .pred %p;
  ld.param.u64 %condition, [a];
  ld.param.u64 %counter, [b];
  ld.global.u64 %left, [%counter];
  sub.u64 %left, %left, 1;
  st.global.u64 [%counter], %left;
  setp.ne.u64 %p, %left, 0;
  selp.u32 %goes_on, 1, 0, %p;
  { .param .b64 h; .param .b32 v; st.param.b64 [h], %condition; st.param.b32 [v], %goes_on;
    call.uni cudaGraphSetConditional, (h, v); }
  ret;
}
)";

constexpr Isolation kAllPolicies[] = {Isolation::kProcess, Isolation::kShared, Isolation::kAuto};

class GpuConditions : public GpuFixture {
 protected:
  void StartWith(Isolation isolation) { Start({.isolation = isolation, .fenced = isolation != Isolation::kProcess}); }
  static uint64_t CounterOf(Client& client, uint64_t value) {
    const uint64_t counter = client.Allocate(sizeof value);
    client.Write(counter, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
    return counter;
  }
  // A loop of one kernel, or of none, as long as the condition is not 0. Returns the ticket of its end.
  static uint64_t Loop(Client& client, uint64_t condition, uint32_t kernel, uint64_t counter) {
    Space& space = client.space();
    EXPECT_TRUE(space.SetCondition(1, client.next_ticket(), condition, 1));
    EXPECT_TRUE(space.BeginConditional(1, client.next_ticket(), condition, wire::ConditionalKind::kWhile));
    EXPECT_TRUE(space.BeginBody(1, client.next_ticket(), 0));
    if (kernel != 0) client.Launch(1, kernel, 1, 1, {condition, counter, 0, 0});
    const uint64_t end = client.next_ticket();
    EXPECT_TRUE(space.EndConditional(1, end, false));
    return end;
  }
};

TEST_F(GpuConditions, KernelsDecideHowOftenALoopRuns) {
  for (const Isolation isolation : kAllPolicies) {
    SCOPED_TRACE(static_cast<int>(isolation));
    StartWith(isolation);
    const auto client = Serve("a");
    const auto condition = client->space().CreateCondition(0);
    ASSERT_TRUE(condition) << condition.error().text;
    const uint64_t counter = CounterOf(*client, 300);
    Loop(*client, *condition, client->Kernel(kCountDown), counter);
    ASSERT_TRUE(client->Synchronize(1));
    EXPECT_EQ(client->ReadValue<uint64_t>(counter), 0u);
    EXPECT_TRUE(client->sink().faults().empty());
    EXPECT_TRUE(client->space().DestroyCondition(*condition));
    EXPECT_FALSE(client->space().DestroyCondition(*condition));
  }
}

// What is decided is the server's, and its loop goes on behind what the last executor has done.
TEST_F(GpuConditions, ALoopGoesOnInTheNextExecutor) {
  Start({});
  const auto client = Serve();
  const auto condition = client->space().CreateCondition(0);
  ASSERT_TRUE(condition);
  const uint64_t counter = CounterOf(*client, 3);
  const uint32_t kernel = client->Kernel(kCountDown);
  ASSERT_TRUE(client->space().HostCall(1, client->next_ticket(), 7));  // in front of it, until the executor has ended
  Loop(*client, *condition, kernel, counter);
  ASSERT_TRUE(client->sink().WaitHostCalls(1));
  const pid_t executor = Executors().front();
  kill(executor, SIGKILL);
  EXPECT_TRUE(Becomes([&] { return Executors().empty() || Executors().front() != executor; }));
  ASSERT_TRUE(client->space().HostCallDone(1, 7));
  ASSERT_TRUE(client->Synchronize(1));
  EXPECT_EQ(client->ReadValue<uint64_t>(counter), 0u);
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuConditions, ALoopOverNothingHoldsUpNobody) {
  StartWith(Isolation::kShared);
  const auto client = Serve("a"), neighbour = Serve("a");
  const auto condition = client->space().CreateCondition(0);
  ASSERT_TRUE(condition);
  const uint64_t end = Loop(*client, *condition, 0, 0);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(neighbour->Computes());
  EXPECT_FALSE(client->sink().IsDone(1, end));
  client->space().Reset(0);
  EXPECT_TRUE(client->Computes());
  EXPECT_TRUE(neighbour->sink().faults().empty());
}

TEST_F(GpuConditions, HandlesThatAreNoneAreTheirClientsError) {
  StartWith(Isolation::kShared);
  const auto victim = Serve("a"), client = Serve("a");
  const auto theirs = victim->space().CreateCondition(0);
  ASSERT_TRUE(theirs);
  const uint64_t counter = CounterOf(*client, 5);
  // Set by a kernel: the fence sees a store to memory that is not the client's.
  client->Launch(1, client->Kernel(kCountDown), 1, 1, {*theirs, counter, 0, 0});
  ASSERT_TRUE(client->sink().WaitFaults(1));
  EXPECT_EQ(client->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  client->space().Reset(0);
  // Of a node.
  EXPECT_TRUE(client->space().BeginConditional(1, client->next_ticket(), *theirs, wire::ConditionalKind::kIf));
  EXPECT_TRUE(client->space().EndConditional(1, client->next_ticket(), false));
  ASSERT_TRUE(client->sink().WaitFaults(2));
  EXPECT_EQ(client->sink().faults()[1].status, cuda::CUDA_ERROR_INVALID_HANDLE);
  EXPECT_FALSE(client->space().DestroyCondition(*theirs));
  EXPECT_FALSE(client->space().Free(*theirs));
  EXPECT_FALSE(victim->space().Free(*theirs)) << "its memory is the device's";
  EXPECT_TRUE(victim->Computes());
}

TEST_F(GpuConditions, AClientHasAsManyAsItMay) {
  Start({});
  const auto client = Serve();
  uint64_t last = 0;
  for (uint32_t i = 0; i < wire::kMostConditions; ++i) {
    const auto condition = client->space().CreateCondition(0);
    ASSERT_TRUE(condition) << i;
    last = *condition;
  }
  const auto none = client->space().CreateCondition(0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(client->space().DestroyCondition(last));
  EXPECT_TRUE(Becomes([&] { return client->space().CreateCondition(0).has_value(); }));
}

}  // namespace
}  // namespace tutti::device::gpu
