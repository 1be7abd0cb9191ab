// Spaces that share an executor, with our own driver as the vendor's: what is one's own, what one's end or fault is to
// the others, and that it is nothing to those in another executor.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "cuda/limits.h"
#include "cuda/result.h"
#include "device/gpu/testing/gpu_fixture.h"
#include "image/testing_cubin.h"
#include "os/memory.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

class GpuShared : public GpuFixture {
 protected:
  void Start(uint32_t most_shared, const char* plan = nullptr, size_t most_programs = 60) {
    GpuFixture::Start(
        {.isolation = Isolation::kShared, .most_shared = most_shared, .plan = plan, .most_programs = most_programs});
  }
};

TEST_F(GpuShared, ThoseOfAGroupShareAnExecutorAtAddressesOfTheirOwn) {
  Start(8);
  const auto one = Serve("a"), two = Serve("a"), other = Serve("b"), alone = Serve("");
  EXPECT_TRUE(BecomeExecutors(4)) << "of a, of b, of the one that shares with nobody, and the next one";
  const uint64_t bytes = one->space().window().bytes;
  const uint64_t apart = std::max(one->space().window_base(), two->space().window_base()) -
                         std::min(one->space().window_base(), two->space().window_base());
  EXPECT_GE(apart, bytes);
  for (const auto* client : {&one, &two, &other, &alone}) EXPECT_TRUE((*client)->Computes());
}

TEST_F(GpuShared, AnExecutorThatIsFullIsFollowedByAnother) {
  Start(2);
  const auto one = Serve("a"), two = Serve("a"), three = Serve("a"), four = Serve("a");
  EXPECT_TRUE(BecomeExecutors(3));
  for (const auto* client : {&one, &two, &three, &four}) EXPECT_TRUE((*client)->Computes());
}

TEST_F(GpuShared, ThoseWhoComeAtOnceWaitForOneExecutor) {
  Start(8);
  const auto first = Serve("b");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Client>(backend_.get(), Limits{.sharers = "a"}));
  for (const auto& client : clients) {
    client->CreateStream(1);
    EXPECT_TRUE(client->Computes());
  }
  EXPECT_TRUE(BecomeExecutors(3));
}

TEST_F(GpuShared, ACopyOfAnothersMemoryIsRefused) {
  Start(8);
  const auto one = Serve("a"), two = Serve("a");
  const uint64_t secret = two->Allocate(kMebibyte), own = one->Allocate(kMebibyte);
  const wire::CopyBody copy{.destination = own, .source = secret, .row_bytes = 64, .rows = 1, .planes = 1};
  ASSERT_TRUE(one->space().Copy(1, one->next_ticket(), copy));
  ASSERT_TRUE(one->sink().WaitFaults(1));
  EXPECT_EQ(one->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_TRUE(two->Computes());
  EXPECT_TRUE(two->sink().faults().empty());
}

TEST_F(GpuShared, AClientThatEndsLeavesTheOthersRunningAndGivesBackWhatItHad) {
  Start(8);
  auto one = Serve("a");
  const auto two = Serve("a");
  EXPECT_TRUE(one->Computes());
  ASSERT_TRUE(one->space().Allocate(0, wire::MemoryKind::kHost, kMebibyte, 0));
  const uint64_t word = Spin(*two);
  const uint64_t base = one->space().window_base(), before = two->sink().memory_used(0);
  one.reset();
  EXPECT_EQ(used(), before) << "what is left is the other one's";
  EndSpin(*two, word);
  EXPECT_TRUE(two->Synchronize(1));
  const auto next = Serve("a");
  EXPECT_EQ(next->space().window_base(), base) << "in its place";
  EXPECT_TRUE(next->Computes());
  EXPECT_TRUE(two->sink().faults().empty());
  EXPECT_TRUE(BecomeExecutors(2));
}

// As they do that wait for all that runs in the context before they free memory or unload a module.
TEST_F(GpuShared, TheEndOfAClientAsksTheDriverForNothingThatMayWaitForAnothersKernels) {
  GpuFixture::Start({.isolation = Isolation::kShared,
                     .plan = "cuMemFree_v2=hang,cuMemFreeHost=hang,cuModuleUnload=hang",
                     .fenced = true});
  const auto two = Serve("a");
  const uint64_t word = Spin(*two), before = used();
  auto one = Serve("a");
  EXPECT_TRUE(one->Computes());
  const uint64_t base = one->space().window_base();
  one.reset();
  EXPECT_EQ(used(), before) << "it is over";
  const auto next = Serve("a");
  EXPECT_EQ(next->space().window_base(), base) << "in its place";
  EXPECT_TRUE(next->Computes());
  EndSpin(*two, word);
  EXPECT_TRUE(two->Synchronize(1));
  EXPECT_TRUE(two->sink().faults().empty());
}

constexpr std::string_view kWithTable =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .b8 table[33554432];\n"
    ".visible .entry k() { ret; }\n";

// The driver, which would end with its executor, might not give it back for as long as others' kernels run.
TEST_F(GpuShared, AModuleForWhichTheClientHasNotTheMemoryIsNotLoaded) {
  Start(8, "cuModuleLoadDataEx=exit:3");
  const auto one = Serve("a");
  one->space().SetLimits({.memory_bytes = {16 * kMebibyte}});
  const auto module =
      one->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(kWithTable.data()), kWithTable.size()});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY) << module.error().text;
  EXPECT_TRUE(one->sink().faults().empty());
  EXPECT_EQ(one->sink().memory_used(0), kMebibyte);
}

// Whatever its table of symbols says.
TEST_F(GpuShared, VariablesWithoutNamesCount) {
  Start(8);
  const auto one = Serve("a");
  auto image =
      image::CubinBuilder(80)
          .Add(image::kCarriedPtxSection,
               image::AsCarried(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"))
          .Add(".nv.global", "x", SHF_ALLOC)
          .Build();
  image::CubinBuilder::ChangeSection(&image, 3, [](Elf64_Shdr& section) {
    section.sh_type = SHT_NOBITS;
    section.sh_size = 8 * kMebibyte;
  });
  const uint64_t before = one->sink().memory_used(0);
  const auto module = one->space().LoadModule(0, image);
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_EQ(one->sink().memory_used(0), before + 8 * kMebibyte);
  EXPECT_TRUE(one->space().UnloadModule(module->id));
  EXPECT_TRUE(Becomes([&] { return one->sink().memory_used(0) == before; }));
  EXPECT_TRUE(one->space().LoadModule(0, image));
  one->space().SetLimits({.memory_bytes = {before + 15 * kMebibyte}});
  EXPECT_FALSE(one->space().LoadModule(0, image));
}

// The main thread is the first; two of each place follow.
TEST_F(GpuShared, APlaceInWhichTheContextCannotBeUsedEndsAlone) {
  for (const char* const plan : {"cuCtxSetCurrent=fail:201@4", "cuCtxSetCurrent=fail:201@5"}) {
    SCOPED_TRACE(plan);
    Start(8, plan);
    const auto one = Serve("a");
    EXPECT_TRUE(one->Computes());
    const pid_t executor = Executors().front();
    const auto two = std::make_unique<Client>(backend_.get(), Limits{.sharers = "a"});
    two->CreateStream(1);
    // Its first request may meet the end of one place, and that of the next, if one has to leave as well.
    EXPECT_TRUE(Becomes([&] { return two->space().Allocate(0, wire::MemoryKind::kDevice, 4096, 0).has_value(); }));
    EXPECT_TRUE(two->Computes());
    EXPECT_TRUE(one->Computes());
    EXPECT_EQ(Executors().front(), executor) << "it has not ended";
    for (const auto* const client : {&one, &two})
      for (const auto& fault : (*client)->sink().faults()) ADD_FAILURE() << fault.report;
  }
}

// It may wait for a neighbour's kernel, so it counts until it is unloaded; and nothing else of the client waits for it.
TEST_F(GpuShared, ModulesThatAreUnloadedCountUntilTheyAre) {
  constexpr uint64_t kTable = 17 * kMebibyte;  // more than a client may leave
  const std::string image = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .b8 table[" +
                            std::to_string(kTable) + "];\n.visible .entry k() { ret; }\n";
  Start(8);
  const auto one = Serve("a"), two = Serve("a");
  const uint64_t before = one->sink().memory_used(0);
  std::vector<uint32_t> modules;
  for (int i = 0; i < 2; ++i) {
    const auto module = one->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
    ASSERT_TRUE(module) << module.error().text;
    modules.push_back(module->id);
  }
  const uint64_t word = Spin(*two), loaded = one->sink().memory_used(0);
  EXPECT_GE(loaded, before + 2 * kTable);
  for (const uint32_t module : modules) EXPECT_TRUE(one->space().UnloadModule(module));
  const uint64_t address = one->Allocate(kMebibyte);
  EXPECT_TRUE(one->space().Free(address));
  EXPECT_TRUE(Becomes([&] { return one->sink().memory_used(0) == loaded; })) << "freed, behind what is unloaded";
  EXPECT_TRUE(one->Computes());
  EXPECT_GE(one->sink().memory_used(0), loaded);
  EndSpin(*two, word);
  EXPECT_TRUE(two->Synchronize(1));
  EXPECT_TRUE(two->Synchronize(2));
  EXPECT_TRUE(Becomes([&] { return one->sink().memory_used(0) < before + kTable; }));
}

// What is wrong with it is seen when it is loaded, and others' kernels keep the driver from unloading it.
TEST_F(GpuShared, AModuleThatIsLoadedInVainCountsUntilItIsUnloaded) {
  constexpr uint64_t kTable = 17 * kMebibyte;  // more than a client may leave
  constexpr int kTooMany = 65537;  // variables
  std::string image =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .b8 table[" + std::to_string(kTable) + "];\n";
  for (int i = 0; i < kTooMany; ++i) image += ".visible .global .b32 v" + std::to_string(i) + ";\n";
  Start(8);
  const auto one = Serve("a"), two = Serve("a");
  const uint64_t before = one->sink().memory_used(0), word = Spin(*two);
  auto loads = std::async(std::launch::async, [&] {
    return one->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  });
  EXPECT_TRUE(Becomes([&] { return one->sink().memory_used(0) >= before + kTable; }));
  one->space().SetLimits({.memory_bytes = {before + kTable}});
  EXPECT_FALSE(one->space().Allocate(0, wire::MemoryKind::kDevice, kMebibyte, 0)) << "the driver has it";
  EXPECT_NE(loads.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EndSpin(*two, word);
  const auto module = loads.get();
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED) << module.error().text;
  EXPECT_EQ(one->sink().memory_used(0), before);
  EXPECT_TRUE(one->Computes());
}

// Its end waits for room to leave what it had, and it can end.
TEST_F(GpuShared, AClientEndsWhileItsModuleWaitsToBeUnloaded) {
  Start(8);
  auto one = Serve("a");
  const auto two = Serve("a");
  const auto module =
      one->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(kWithTable.data()), kWithTable.size()});
  ASSERT_TRUE(module) << module.error().text;
  const uint64_t word = Spin(*two);
  EXPECT_TRUE(one->space().UnloadModule(module->id));
  one.reset();
  EndSpin(*two, word);
  EXPECT_TRUE(two->Synchronize(1));
  EXPECT_TRUE(Becomes([&] { return used() == two->sink().memory_used(0); }));
  EXPECT_TRUE(two->Computes());
  EXPECT_TRUE(two->sink().faults().empty());
}

// To lower it the driver may wait for all that runs in the context.
TEST_F(GpuShared, WhatALimitOfTheContextTakesCountsUntilItIsLowered) {
  Start(8);
  const auto one = Serve("a"), two = Serve("a");
  constexpr uint64_t kMore = 16 * kMebibyte;
  const uint64_t before = one->sink().memory_used(0), heap = cuda::kDefaultLimits[cuda::CU_LIMIT_MALLOC_HEAP_SIZE];
  const auto limit_heap = [&](uint64_t bytes) {
    ASSERT_TRUE(one->space().SetKernelLimit(0, cuda::CU_LIMIT_MALLOC_HEAP_SIZE, bytes));
  };
  limit_heap(heap + kMore);
  const uint64_t word = Spin(*two);
  limit_heap(heap);
  EXPECT_EQ(one->sink().memory_used(0), before + kMore);
  one->space().SetLimits({.memory_bytes = {before + kMore}});
  const auto allocate = [&] { return one->space().Allocate(0, wire::MemoryKind::kDevice, kMebibyte, 0).has_value(); };
  EXPECT_FALSE(allocate());
  EndSpin(*two, word);
  EXPECT_TRUE(two->Synchronize(1));
  EXPECT_TRUE(two->Synchronize(2));
  EXPECT_TRUE(Becomes(allocate)) << "nothing runs, so it is lowered";
  EXPECT_EQ(one->sink().memory_used(0), before + kMebibyte);
}

// Whether or not the client asks for anything then: others may need it.
TEST_F(GpuShared, WhatALimitOfTheContextTookIsFreeWhenItIsLowered) {
  Start(8);
  const auto one = Serve("a"), two = Serve("a");
  const uint64_t before = one->sink().memory_used(0), heap = cuda::kDefaultLimits[cuda::CU_LIMIT_MALLOC_HEAP_SIZE];
  const uint64_t word = Spin(*two);
  for (const uint64_t more : {16, 8, 0})
    ASSERT_TRUE(one->space().SetKernelLimit(0, cuda::CU_LIMIT_MALLOC_HEAP_SIZE, heap + more * kMebibyte));
  EXPECT_EQ(one->sink().memory_used(0), before + 16 * kMebibyte);
  EndSpin(*two, word);
  EXPECT_TRUE(Becomes([&] { return one->sink().memory_used(0) == before; }));
}

// The driver would take memory for these that nobody can count.
TEST_F(GpuShared, LimitsThatTakeWhatIsNotKnownAreNotRaisedForAClientWithAMemoryLimit) {
  Start(8, "cuCtxSetLimit=exit:3");
  const auto one = Serve("a");
  const pid_t executor = Executors().front();
  one->space().SetLimits({.memory_bytes = {16 * kMebibyte}});
  for (const auto limit : {cuda::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, cuda::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH})
    ASSERT_TRUE(one->space().SetKernelLimit(0, limit, cuda::kDefaultLimits[limit] + 1));
  EXPECT_TRUE(one->Computes());
  EXPECT_EQ(Executors().front(), executor);
  one->space().SetLimits({});
  ASSERT_TRUE(one->space().SetKernelLimit(0, cuda::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 4096));
  EXPECT_TRUE(Becomes([&] { return Executors().front() != executor; }));
}

// By the second call that sets one, which ends the executor here.
TEST_F(GpuShared, ALimitThatTakesNoMemoryIsAsInAFreshContextAfterAReset) {
  Start(8, "cuCtxSetLimit=exit:3@2");
  const auto one = Serve("a");
  ASSERT_TRUE(one->space().SetKernelLimit(0, cuda::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 100));
  EXPECT_TRUE(one->Computes());
  const pid_t executor = Executors().front();
  one->space().Reset(0);
  EXPECT_TRUE(Becomes([&] { return Executors().front() != executor; }));
}

// By the second call that sets one, which ends the executor here.
TEST_F(GpuShared, AContextHasAsMuchAsAFreshOneForWhoComesNext) {
  Start(8, "cuCtxSetLimit=exit:3@2");
  const auto one = Serve("a");
  const auto limit_launches = [&](uint64_t count) {
    ASSERT_TRUE(one->space().SetKernelLimit(0, cuda::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, count));
  };
  limit_launches(100);
  const pid_t executor = Executors().front();
  limit_launches(100);
  EXPECT_TRUE(one->Computes());
  EXPECT_EQ(Executors().front(), executor) << "it is there already";
  const auto two = std::make_unique<Client>(backend_.get(), Limits{.sharers = "a"});
  EXPECT_TRUE(Becomes([&] { return Executors().front() != executor; }));
}

TEST_F(GpuShared, TheLastOneToEndEndsTheExecutor) {
  Start(8);
  auto one = Serve("a"), two = Serve("a");
  ASSERT_TRUE(BecomeExecutors(2));
  one.reset();
  two.reset();
  EXPECT_TRUE(BecomeExecutors(1)) << "the next one";
  EXPECT_EQ(used(), 0u);
}

TEST_F(GpuShared, WhatADriverRefusesOfOneIsNothingToTheOthers) {
  Start(8, "cuLaunchKernelEx=fail:1@5");
  const auto one = Serve("a"), two = Serve("a");
  const uint64_t counter = one->Allocate(sizeof(uint64_t));
  const uint32_t add = one->Kernel(cts::kAdd);
  for (int i = 0; i < 5; ++i) one->Launch(1, add, 1, 1, {counter, 1, 0, 0});
  ASSERT_TRUE(one->sink().WaitFaults(1));
  EXPECT_EQ(one->sink().faults()[0].status, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(two->Computes());
  one->space().Reset(0);
  EXPECT_TRUE(one->Computes()) << "in another place of the same";
  EXPECT_TRUE(two->sink().faults().empty());
  EXPECT_TRUE(BecomeExecutors(2));
}

TEST_F(GpuShared, AFaultOfTheContextIsThatOfAllWithKernelsInItAndOfNobodyElse) {
  Start(8);
  const auto one = Serve("a"), two = Serve("a"), other = Serve("b");
  Spin(*two);
  TouchNothing(*one);
  ASSERT_TRUE(one->sink().WaitFaults(1));
  ASSERT_TRUE(two->sink().WaitFaults(1)) << "a driver does not say whose it was";
  EXPECT_EQ(one->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(two->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(two->sink().faults()[0].report.find("a kernel of the program was under way"), std::string::npos)
      << two->sink().faults()[0].report;
  EXPECT_TRUE(other->Computes());
  EXPECT_TRUE(other->sink().faults().empty());
  one->space().Reset(0);
  two->space().Reset(0);
  EXPECT_TRUE(one->Computes());
  EXPECT_TRUE(two->Computes());
  EXPECT_TRUE(BecomeExecutors(3)) << "they share again";
}

// It waits for its kernel, and is seen by nobody, until the context is lost for those who stay.
TEST_F(GpuShared, AFaultBehindTheEndOfItsClientIsThatOfKernelsAlone) {
  Start(8);
  auto one = Serve("a");
  const auto two = Serve("a"), idle = Serve("a");
  Spin(*two);
  const auto word = one->space().Allocate(0, wire::MemoryKind::kHost, sizeof(uint64_t), 0);
  ASSERT_TRUE(word);
  const auto window = os::Mapping::Shared(one->space().window_fd(), one->space().window().host_bytes);
  ASSERT_TRUE(window);
  auto* const reached = reinterpret_cast<uint64_t*>(window->data() + (*word - one->space().window_base()));
  one->Launch(1, one->Kernel(cts::kAwait), 1, 1, {*word, 0, 0, 0});
  TouchNothing(*one);
  AwaitGiven(*one);
  one.reset();
  std::atomic_ref(*reached).store(1);
  ASSERT_TRUE(two->sink().WaitFaults(1));
  EXPECT_EQ(two->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_TRUE(idle->Computes());
  EXPECT_TRUE(idle->sink().faults().empty());
  two->space().Reset(0);
  EXPECT_TRUE(two->Computes());
}

TEST_F(GpuShared, AnExecutorThatIsKilledIsTheFaultOfThoseWithKernelsInIt) {
  Start(8);
  const auto one = Serve("a"), two = Serve("a");
  const pid_t executor = Executors().front();
  const auto other = Serve("b");
  Spin(*one);
  kill(executor, SIGKILL);
  ASSERT_TRUE(one->sink().WaitFaults(1));
  EXPECT_EQ(one->sink().faults()[0].status, cuda::CUDA_ERROR_DEVICE_UNAVAILABLE);
  for (const auto* const client : {&two, &other}) {
    EXPECT_TRUE((*client)->Computes());
    EXPECT_TRUE((*client)->sink().faults().empty());
  }
  one->space().Reset(0);
  EXPECT_TRUE(one->Computes());
}

TEST_F(GpuShared, ATimeLimitEndsOneAlone) {
  Start(8);
  const auto endless = Serve("a"), two = Serve("a");
  Spin(*endless);
  EndByTimeLimit(*endless);
  EXPECT_EQ(endless->sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_TRUE(endless->Synchronize(1));
  EXPECT_TRUE(two->Computes());
  EXPECT_TRUE(two->sink().faults().empty());
}

// What it has stays in use until the others have gone, too, if they cannot leave: no driver takes a kernel off the GPU.
TEST_F(GpuShared, AKernelWithoutEndOfOneThatHasGoneEndsWithItsExecutor) {
  Start(8);
  auto endless = Serve("a"), two = Serve("a");
  Bind(*two);
  Spin(*endless);
  const uint64_t of_one = endless->sink().memory_used(0);
  endless.reset();
  EXPECT_TRUE(two->Computes());
  EXPECT_EQ(used(), of_one + two->sink().memory_used(0));
  auto next = Serve("a");
  EXPECT_TRUE(BecomeExecutors(3)) << "nobody comes to it any more";
  EXPECT_TRUE(next->Computes());
  two.reset();
  EXPECT_TRUE(Becomes([&] { return used() == next->sink().memory_used(0); }));
  EXPECT_TRUE(BecomeExecutors(2));
}

TEST_F(GpuShared, WhatAPartyLeavesIsOfItsPartOfThePlaces) {
  Start(8, nullptr, 4);
  auto endless = Serve("a", "user 1"), two = Serve("a", "user 1");
  Bind(*two);
  Spin(*endless);
  endless.reset();
  cts::RecordingSink sink;
  const auto third = backend_->CreateSpace({.sharers = "a", .party = "user 1"}, &sink, "one too many");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, cuda::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED);
  EXPECT_TRUE(Serve("b", "user 2")->Computes());
  two.reset();
  EXPECT_TRUE(Becomes([&] { return used() == 0; }));
  EXPECT_TRUE(Serve("a", "user 1")->Computes());
}

// Its memory is in use twice, and stays counted once, until the first executor has ended.
TEST_F(GpuShared, AKernelWithoutEndOfOneThatWasResetOutlivesItsClient) {
  Start(8);
  auto endless = Serve("a"), two = Serve("a");
  Bind(*two);
  Spin(*endless);
  EndByTimeLimit(*endless);
  endless->space().Reset(0);
  EXPECT_TRUE(endless->Computes());
  EXPECT_TRUE(BecomeExecutors(3));
  const uint64_t of_one = endless->sink().memory_used(0);
  endless.reset();
  EXPECT_EQ(used(), of_one + two->sink().memory_used(0));
  two.reset();
  EXPECT_TRUE(Becomes([&] { return used() == 0; }));
  EXPECT_TRUE(BecomeExecutors(1));
}

}  // namespace
}  // namespace tutti::device::gpu
