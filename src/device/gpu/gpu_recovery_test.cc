// What becomes of a client whose executor ends: killed, or with the context that another client has lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "cuda/result.h"
#include "device/gpu/slabs.h"
#include "device/gpu/testing/gpu_fixture.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

class GpuRecovery : public GpuFixture {
 protected:
  // In which a client has a value, that it may find again.
  struct Kept {
    uint64_t address = 0, counter = 0;
    std::vector<uint8_t> bytes;
    uint32_t add = 0;
  };
  static Kept Keep(Client& client) {
    Kept kept{.address = client.Allocate(3 * kMebibyte),
              .counter = client.Allocate(sizeof(uint64_t)),
              .bytes = std::vector<uint8_t>(3 * kMebibyte, 0x5a),
              .add = client.Kernel(cts::kAdd)};
    client.Write(kept.address, kept.bytes);
    client.Launch(1, kept.add, 1, 1, {kept.counter, 7, 0, 0});
    EXPECT_TRUE(client.Synchronize(1));
    return kept;
  }
  // With the kernel that was loaded before.
  static void ExpectKept(Client& client, const Kept& kept) {
    EXPECT_EQ(client.Read(kept.address, kept.bytes.size()), kept.bytes);
    client.Launch(1, kept.add, 1, 1, {kept.counter, 1, 0, 0});
    EXPECT_TRUE(client.Synchronize(1));
    EXPECT_EQ(client.ReadValue<uint64_t>(kept.counter), 8u);
    EXPECT_TRUE(client.sink().faults().empty()) << client.sink().faults()[0].report;
  }
  void KillExecutor() {
    const pid_t executor = Executors().front();
    kill(executor, SIGKILL);
    EXPECT_TRUE(Becomes([&] { return Executors().empty() || Executors().front() != executor; }));
  }
  static void ExpectFault(Client& client, const std::string& says) {
    ASSERT_TRUE(client.sink().WaitFaults(1));
    EXPECT_NE(client.sink().faults()[0].report.find(says), std::string::npos) << client.sink().faults()[0].report;
  }
  static Status CopyInStream(Client& client, uint32_t stream, uint64_t to, uint64_t from, uint64_t bytes) {
    return client.space().Copy(stream, client.next_ticket(),
                               {.destination = to, .source = from, .row_bytes = bytes, .rows = 1, .planes = 1});
  }
  static constexpr size_t kOfAStart = 8;  // files of an executor that is being started, or is not yet
  static size_t OpenFiles() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
};

TEST_F(GpuRecovery, AnIdleClientGoesOnWhenItsExecutorIsKilled) {
  Start({});
  const auto client = Serve();
  const Kept kept = Keep(*client);
  KillExecutor();
  ExpectKept(*client, kept);
  EXPECT_TRUE(client->Computes()) << "with a module that it loads now";
  EXPECT_TRUE(client->space().Free(kept.address));
}

TEST_F(GpuRecovery, ANeighbourGoesOnWhenAKernelFaults) {
  Start({.isolation = Isolation::kShared});
  const auto one = Serve("a"), two = Serve("a"), three = Serve("a");
  const Kept kept = Keep(*two);
  TouchNothing(*one);
  ASSERT_TRUE(one->sink().WaitFaults(1));
  ExpectKept(*two, kept);
  EXPECT_TRUE(three->Computes());
  EXPECT_TRUE(BecomeExecutors(2)) << "both in one, and the next one";
  one->space().Reset(0);
  EXPECT_TRUE(one->Computes());
  EXPECT_TRUE(BecomeExecutors(2));
}

// Whatever a driver leaves unsaid of other calls.
TEST_F(GpuRecovery, ANeighbourGoesOnWhereNoNewEventTellsOfAFault) {
  Start({.isolation = Isolation::kShared, .modes = "quiet_events"});
  const auto one = Serve("a"), two = Serve("a");
  const Kept kept = Keep(*two);
  TouchNothing(*one);
  ASSERT_TRUE(one->sink().WaitFaults(1));
  ExpectKept(*two, kept);
}

TEST_F(GpuRecovery, WhatWasNotBegunRunsOnceAndInItsOrder) {
  Start({});
  const auto client = Serve();
  const Kept kept = Keep(*client);
  const uint64_t seen = client->Allocate(sizeof(uint64_t));
  client->CreateStream(2);
  StopProcess(Executors().front());
  constexpr uint64_t kLaunches = 100;
  for (uint64_t i = 0; i < kLaunches; ++i) client->Launch(1, kept.add, 1, 1, {kept.counter, 1, 0, 0});
  const uint64_t behind = client->Mark(1);
  client->Launch(1, kept.add, 1, 1, {kept.counter, 1000, 0, 0});
  ASSERT_TRUE(client->space().Wait(2, client->next_ticket(), 1, behind));
  ASSERT_TRUE(CopyInStream(*client, 2, seen, kept.counter, sizeof(uint64_t)));
  KillExecutor();
  EXPECT_TRUE(client->Synchronize(2));
  EXPECT_TRUE(client->Synchronize(1));
  EXPECT_GE(client->ReadValue<uint64_t>(seen), 7 + kLaunches);
  EXPECT_EQ(client->ReadValue<uint64_t>(kept.counter), 7 + kLaunches + 1000);
  EXPECT_TRUE(client->sink().faults().empty());
}

// A driver ends its process in each second copy.
TEST_F(GpuRecovery, ACopyThatWasUnderWayIsDoneAgain) {
  Start({.plan = "cuMemcpyAsync=exit:3@2"});
  const auto client = Serve();
  const uint64_t from = client->Allocate(kMebibyte), to = client->Allocate(kMebibyte);
  client->Write(from, std::vector<uint8_t>(kMebibyte, 3));
  ASSERT_TRUE(CopyInStream(*client, 1, to, from, kMebibyte));
  EXPECT_TRUE(client->Synchronize(1));
  EXPECT_TRUE(client->sink().faults().empty());
  EXPECT_EQ(client->Read(to, kMebibyte), std::vector<uint8_t>(kMebibyte, 3));
}

TEST_F(GpuRecovery, ACopyOntoItselfIsNotDoneAgain) {
  Start({.plan = "cuMemcpyAsync=exit:3@2"});
  const auto client = Serve();
  const uint64_t at = client->Allocate(kMebibyte);
  client->Write(at, std::vector<uint8_t>(kMebibyte, 3));
  ASSERT_TRUE(CopyInStream(*client, 1, at, at + 256, kMebibyte / 2));
  ExpectFault(*client, "a copy or fill was under way that writes what is read for it");
}

TEST_F(GpuRecovery, AnAllocationThatItsExecutorDoesNotLiveToAnswerIsMadeInTheNext) {
  Start({});
  const auto client = Serve();
  StopProcess(Executors().front());
  Result<uint64_t> address = Fail("");
  std::thread waits([&] { address = client->space().Allocate(0, wire::MemoryKind::kDevice, 4 * kMebibyte, 0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // either way it is to succeed
  KillExecutor();
  waits.join();
  ASSERT_TRUE(address) << address.error().text;
  EXPECT_EQ(client->Read(*address, 64), std::vector<uint8_t>(64));
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuRecovery, AClientWithVariablesThatMayBeWrittenIsTold) {
  Start({});
  const auto client = Serve();
  client->Kernel(cts::kVariables);
  KillExecutor();
  EXPECT_TRUE(client->Computes()) << "nothing was launched: they are as they were";
  EXPECT_TRUE(client->sink().faults().empty());
  KillExecutor();
  ExpectFault(*client, "its kernels may have written variables of a module");
}

// They are no part of what ends with the driver.
TEST_F(GpuRecovery, ManagedVariablesAreInTheNextExecutorAsTheyWere) {
  for (const Options& options : {Options{}, Options{.isolation = Isolation::kShared, .fenced = true}}) {
    SCOPED_TRACE(options.fenced);
    Start(options);
    const auto client = Serve("a");
    const std::string_view image = cts::kManaged;
    const auto module = client->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
    ASSERT_TRUE(module) << module.error().text;
    ASSERT_EQ(module->info.variables.size(), 1u);
    const uint64_t address = module->info.variables[0].address;
    const auto* const words = reinterpret_cast<const volatile uint32_t*>(client->space().Reached(address, 8));
    ASSERT_NE(words, nullptr);
    const uint32_t shape[3] = {0, 0, 0};
    const auto kernel = client->space().Prepare(module->id, 0, shape);
    ASSERT_TRUE(kernel) << kernel.error().text;
    for (const uint32_t sum : {3u, 6u}) {
      client->Launch(1, kernel->id, 1, 1, {0, 3, 0, 0});
      EXPECT_TRUE(client->Synchronize(1));
      EXPECT_EQ(words[0], cts::kValueOfM);
      EXPECT_EQ(words[1], sum);
      KillExecutor();
    }
    EXPECT_TRUE(client->Computes());
    EXPECT_TRUE(client->sink().faults().empty());
    EXPECT_TRUE(client->space().UnloadModule(module->id));
  }
}

TEST_F(GpuRecovery, ManagedVariablesAreAlignedAsTheySay) {
  constexpr std::string_view kImage =
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".visible .global .align 65536 .attribute(.managed) .u32 a[2];\n"
      ".visible .global .align 8192 .attribute(.managed) .u32 b = 7;\n"
      ".visible .entry k() { .reg .b32 %v; ld.global.u32 %v, [b]; st.global.u32 [a], %v; ret; }\n";
  for (const Options& options : {Options{}, Options{.isolation = Isolation::kShared, .fenced = true}}) {
    SCOPED_TRACE(options.fenced);
    Start(options);
    const auto client = Serve("a");
    const auto module = client->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(kImage.data()), kImage.size()});
    ASSERT_TRUE(module) << module.error().text;
    ASSERT_EQ(module->info.variables.size(), 2u);
    for (const auto& variable : module->info.variables)
      EXPECT_EQ(variable.address % (variable.name == "a" ? 65536 : 8192), 0u) << variable.name;
  }
}

TEST_F(GpuRecovery, AClientWhoseMemoryHasNoDescriptorsIsTold) {
  Start({});
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit few{.rlim_cur = 256, .rlim_max = files.rlim_max};  // of which a Space has 16 for its memory
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto client = Serve();
  std::vector<uint64_t> more;
  for (int i = 0; i < 18; ++i) more.push_back(client->Allocate(kSlabBytes));
  const auto shared = client->space().Share(more.back(), Space::AtEnd::kKept);
  EXPECT_TRUE(shared) << shared.error().text;
  ASSERT_TRUE(client->space().Free(more[0]));
  for (int i = 1; i < 4; ++i) ASSERT_TRUE(client->space().Free(more[static_cast<size_t>(i)]));
  KillExecutor();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  ExpectFault(*client, "RLIMIT_NOFILE");
}

// The system's errors have no CUresult.
TEST_F(GpuRecovery, AClientForWhoseExecutorTheServerHasNoFilesIsTold) {
  Start({});
  const auto client = Serve();
  const pid_t executor = Executors().front();
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  kill(executor, SIGKILL);
  const bool told = client->sink().WaitFaults(1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_TRUE(told);
  EXPECT_NE(client->sink().faults()[0].status, 0) << client->sink().faults()[0].report;
  EXPECT_TRUE(client->Synchronize(1)) << "what is submitted is over";
  EXPECT_FALSE(client->space().Allocate(0, wire::MemoryKind::kDevice, kMebibyte, 0));
  client->space().Reset(0);
  EXPECT_TRUE(client->Computes());
}

TEST_F(GpuRecovery, AStormOfKillsLeavesNothingBehind) {
  Start({});
  const auto client = Serve();
  const Kept kept = Keep(*client);
  ASSERT_TRUE(BecomeExecutors(2));
  const uint64_t memory = used();
  const size_t files = OpenFiles();
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    KillExecutor();
    client->Launch(1, kept.add, 1, 1, {kept.counter, 1, 0, 0});
    ASSERT_TRUE(client->Synchronize(1));
  }
  EXPECT_EQ(client->ReadValue<uint64_t>(kept.counter), 7u + kRounds);
  ASSERT_TRUE(BecomeExecutors(2));
  EXPECT_TRUE(Becomes([&] { return OpenFiles() <= files + kOfAStart; })) << OpenFiles() << " of " << files;
  EXPECT_EQ(used(), memory);
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuRecovery, AStormOfFaultsLeavesNothingBehindInANeighbour) {
  Start({.isolation = Isolation::kShared});
  const auto one = Serve("a"), two = Serve("a");
  const Kept kept = Keep(*two);
  one->Kernel(cts::kAdd);
  ASSERT_TRUE(BecomeExecutors(2));
  const uint64_t memory = two->sink().memory_used(0);
  constexpr size_t kRounds = 12;
  size_t files = 0;
  for (size_t round = 1; round <= kRounds; ++round) {
    const pid_t executor = Executors().front();
    cts::Client culprit(backend_.get(), Limits{.sharers = "a"});
    culprit.CreateStream(1);
    TouchNothing(culprit);
    ASSERT_TRUE(culprit.sink().WaitFaults(1));
    ASSERT_TRUE(Becomes([&] { return Executors().front() != executor; }));
    culprit.Destroy();
    two->Launch(1, kept.add, 1, 1, {kept.counter, 1, 0, 0});
    ASSERT_TRUE(two->Synchronize(1));
    ASSERT_TRUE(BecomeExecutors(2));
    if (round == 2) files = OpenFiles();  // there are ten more
  }
  EXPECT_EQ(two->ReadValue<uint64_t>(kept.counter), 7 + kRounds);
  EXPECT_TRUE(Becomes([&] { return OpenFiles() <= files + kOfAStart; })) << OpenFiles() << " of " << files;
  EXPECT_EQ(two->sink().memory_used(0), memory);
  for (const auto* const client : {&one, &two})
    for (const auto& fault : (*client)->sink().faults()) ADD_FAILURE() << fault.report;
}

TEST_F(GpuRecovery, TheOthersLeaveAKernelWithoutEndAndItsExecutorEnds) {
  Start({.isolation = Isolation::kShared});
  auto endless = Serve("a");
  const auto two = Serve("a"), three = Serve("a");
  const Kept kept = Keep(*two);
  Spin(*endless);
  EndByTimeLimit(*endless);
  EXPECT_TRUE(BecomeExecutors(2)) << "without the one that the kernel was in";
  ExpectKept(*two, kept);
  EXPECT_TRUE(three->Computes());
  endless->space().Reset(0);
  EXPECT_TRUE(endless->Computes());
  EXPECT_TRUE(BecomeExecutors(2)) << "they share again";
}

TEST_F(GpuRecovery, WhatOneLeavesThatHasGoneIsGivenBackWhenTheOthersHaveLeft) {
  Start({.isolation = Isolation::kShared});
  auto endless = Serve("a");
  const auto two = Serve("a");
  Spin(*endless);
  const uint64_t word = Spin(*two);
  endless.reset();
  EXPECT_GT(used(), two->sink().memory_used(0)) << "it waits for the kernel of one";
  EndSpin(*two, word);
  EXPECT_TRUE(Becomes([&] { return used() == two->sink().memory_used(0); }));
  EXPECT_TRUE(two->Synchronize(1));
  EXPECT_TRUE(two->sink().faults().empty());
  EXPECT_TRUE(two->Computes());
}

TEST_F(GpuRecovery, AClientThatLeavesAnExecutorLosesNoRecordAndRunsNoneTwice) {
  Start({.isolation = Isolation::kShared});
  auto endless = Serve("a");
  const auto two = Serve("a");
  const uint64_t counter = two->Allocate(sizeof(uint64_t));
  const uint32_t add = two->Kernel(cts::kAdd);
  Spin(*endless);
  const pid_t first = Executors().front();
  endless->space().SetLimits({.kernel_ns = 20'000'000});
  uint64_t launches = 0;
  const auto launch = [&] {
    for (int i = 0; i < 100; ++i, ++launches) two->Launch(1, add, 1, 1, {counter, 1, 0, 0});
    return two->Synchronize(1);
  };
  EXPECT_TRUE(Becomes([&] { return launch() && Executors().front() != first; }));
  EXPECT_TRUE(launch());
  EXPECT_EQ(two->ReadValue<uint64_t>(counter), launches);
  EXPECT_TRUE(two->sink().faults().empty());
}

TEST_F(GpuRecovery, AResetAfterItsExecutorHasEndedIsOfTheNext) {
  Start({});
  const auto client = Serve();
  kill(Executors().front(), SIGKILL);
  client->space().Reset(0);
  EXPECT_TRUE(client->Computes());
}

TEST_F(GpuRecovery, AClientMayEndWhileItGoesOnElsewhere) {
  Start({});
  auto client = Serve();
  for (int i = 0; i < 3; ++i) {
    kill(Executors().front(), SIGKILL);
    client.reset();
    EXPECT_EQ(used(), 0u);
    client = Serve();
  }
}

}  // namespace
}  // namespace tutti::device::gpu
