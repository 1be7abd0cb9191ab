// Spaces that share an executor in which a kernel of one of them holds the whole device, with our own driver as the
// vendor's: it lets no other kernel of the context begin until that one's blocks have ended.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/gpu/testing/fenced_fixture.h"
#include "device/gpu/testing/stop_process.h"

namespace tutti::device::gpu {
namespace {

using namespace std::chrono_literals;

// Until the word is not 0, and with barriers, between which our driver leaves no block.
const std::string kHolds = KernelOf(
    "  .shared .align 8 .u64 seen;\n  mov.u32 %r0, %tid.x;\n  setp.ne.u32 %p0, %r0, 0;\n"
    "  @!%p0 atom.global.add.u64 %t2, [%b], 1;\n"
    "again:\n  @%p0 bra meet;\n  ld.volatile.global.u64 %t0, [%a];\n  st.shared.u64 [seen], %t0;\n"
    "meet:\n  bar.sync 0;\n  ld.shared.u64 %t1, [seen];\n  bar.sync 0;\n"
    "  setp.eq.u64 %p1, %t1, 0;\n  @%p1 bra again;\n");

class GpuStalls : public FencedFixture {
 protected:
  static constexpr uint64_t kSms = 2;  // of the fixture's device
  static constexpr uint32_t kBlocks = 64, kThreads = 1024;  // more than the device has room for

  // Until End.
  void HoldTheDevice() {
    word_ = culprit_->Allocate(2 * sizeof(uint64_t));
    const uint64_t begun = word_ + sizeof(uint64_t);
    culprit_->Launch(1, culprit_->Kernel(kHolds), kBlocks, kThreads, {word_, begun, 0, 0});
    while (culprit_->ReadValue<uint64_t>(begun) < kSms) std::this_thread::yield();
  }
  void End() {
    const uint64_t one = 1;
    culprit_->Write(word_, {reinterpret_cast<const uint8_t*>(&one), sizeof one});
  }

  // The same with words on the host: copies would have our driver take an SM from it, and give it to another one.
  struct Words {
    uint64_t word = 0, begun = 0;
  };
  static Words* Hold(Client& client, uint64_t blocks, uint32_t stream = 1) {
    const auto address = client.space().Allocate(0, wire::MemoryKind::kHost, sizeof(Words), 0);
    auto* const words = reinterpret_cast<Words*>(client.space().Reached(*address, sizeof(Words)));
    client.Launch(stream, client.Kernel(kHolds), static_cast<uint32_t>(blocks), kThreads,
                  {*address, *address + offsetof(Words, begun), 0, 0});
    return words;
  }
  static void Await(Words* words, uint64_t blocks) {
    while (std::atomic_ref(words->begun).load() < blocks) std::this_thread::yield();
  }
  static void End(Words* words) { std::atomic_ref(words->word).store(1); }

  // The executor that is kept ready: who goes elsewhere waits for it, until it is continued.
  pid_t StopTheNextOne() const {
    while (Executors().size() != 2) std::this_thread::yield();
    const pid_t next = Executors().back();
    StopProcess(next);
    return next;
  }

  uint64_t word_ = 0;
};

TEST_F(GpuStalls, ANeighbourGoesOnElsewhereAndWhoHoldsTheDeviceNoticesNothing) {
  HoldTheDevice();
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_LE(Moves(*neighbour_), 1u);
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_LE(Moves(*neighbour_), 1u);
  EXPECT_EQ(Moves(*culprit_), 0u);
  EXPECT_EQ(culprit_->space().counters(0).Get(metrics::Counter::executor_ends), 0u);
  End();
  EXPECT_TRUE(culprit_->Synchronize(1));
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_TRUE(culprit_->sink().faults().empty());
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// Once, and in their order: what was given with them before they could begin, and what was held back.
TEST_F(GpuStalls, AllThatWaitsIsDoneOnceAndInItsOrder) {
  const uint64_t counter = neighbour_->Allocate(2 * sizeof(uint64_t)), copy = counter + sizeof(uint64_t);
  const uint32_t add = neighbour_->Kernel(cts::kAdd);
  neighbour_->CreateStream(2);
  HoldTheDevice();
  for (uint64_t i = 1; i <= 3; ++i) {
    neighbour_->Launch(1, add, 2, 64, {counter, i, 0, 0});
    ASSERT_TRUE(neighbour_->space().Copy(
        1, neighbour_->next_ticket(),
        {.destination = copy, .source = counter, .row_bytes = sizeof(uint64_t), .rows = 1, .planes = 1}));
  }
  const uint64_t ticket = neighbour_->Mark(1);
  ASSERT_TRUE(neighbour_->space().Wait(2, neighbour_->next_ticket(), 1, ticket));
  neighbour_->Launch(2, add, 1, 1, {copy, 1000, 0, 0});
  ASSERT_TRUE(neighbour_->Synchronize(2));
  EXPECT_LE(Moves(*neighbour_), 1u);
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(counter), 128 * 6u);
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(copy), 128 * 6u + 1000);
  End();
  EXPECT_TRUE(culprit_->Synchronize(1));
  // In the executor that it has left, its threads have ended by now without having done anything.
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(counter), 128 * 6u);
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(copy), 128 * 6u + 1000);
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// What had ended before is not what has begun, also where the driver was given both in one piece.
TEST_F(GpuStalls, WhoHadSomethingDoneJustBeforeGoesOnElsewhere) {
  constexpr uint64_t kAdds = 16;  // one of which comes behind a block of the other's
  const uint64_t counter = neighbour_->Allocate(sizeof(uint64_t));
  const uint32_t add = neighbour_->Kernel(cts::kAdd);
  (void)culprit_->Kernel(kHolds);
  constexpr uint64_t kToken = 7;
  ASSERT_TRUE(neighbour_->space().HostCall(1, neighbour_->next_ticket(), kToken));
  ASSERT_TRUE(neighbour_->sink().WaitHostCalls(1));
  Words* const before = Hold(*neighbour_, 1);
  for (uint64_t i = 0; i < kAdds; ++i) neighbour_->Launch(1, add, 1, 1, {counter, 1, 0, 0});
  ASSERT_TRUE(neighbour_->space().HostCallDone(1, kToken));
  Await(before, 1);
  Words* const holds = Hold(*culprit_, kBlocks);
  Await(holds, 1);
  End(before);
  EXPECT_TRUE(neighbour_->Synchronize(1));
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(counter), kAdds);
  EXPECT_EQ(Moves(*neighbour_), 1u);
  End(holds);
  EXPECT_TRUE(culprit_->Synchronize(1));
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// It has begun, so that nothing can be withdrawn; and blocks that have begun are on a GPU beside each other.
TEST_F(GpuStalls, WhoseKernelHadBegunBeforeTheDeviceWasHeldGoesOnWhereItIs) {
  (void)culprit_->Kernel(kHolds);
  Words* const begun = Hold(*neighbour_, kBlocks);
  Await(begun, kSms);
  const uint64_t moves = Moves(*neighbour_);
  Words* const holds = Hold(*culprit_, kBlocks);
  std::this_thread::sleep_for(30ms);  // until the driver has that
  End(begun);
  Await(holds, 1);
  EXPECT_TRUE(neighbour_->Synchronize(1));
  EXPECT_EQ(std::atomic_ref(begun->begun).load(), kBlocks);
  EXPECT_EQ(Moves(*neighbour_), moves);
  End(holds);
  EXPECT_TRUE(culprit_->Synchronize(1));
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// Copies are done there whoever holds the device, also one that the driver was given in one piece with what is not.
TEST_F(GpuStalls, WhatIsCopiedFirstKeepsNobodyThere) {
  const uint64_t from = neighbour_->Allocate(2 * sizeof(uint64_t)), counter = from + sizeof(uint64_t);
  const uint32_t add = neighbour_->Kernel(cts::kAdd);
  const uint64_t seven = 7, token = 7;
  neighbour_->Write(from, {reinterpret_cast<const uint8_t*>(&seven), sizeof seven});
  HoldTheDevice();
  ASSERT_TRUE(neighbour_->space().HostCall(1, neighbour_->next_ticket(), token));
  ASSERT_TRUE(neighbour_->sink().WaitHostCalls(1));
  ASSERT_TRUE(neighbour_->space().Copy(
      1, neighbour_->next_ticket(),
      {.destination = counter, .source = from, .row_bytes = sizeof(uint64_t), .rows = 1, .planes = 1}));
  neighbour_->Launch(1, add, 1, 1, {counter, 1, 0, 0});
  ASSERT_TRUE(neighbour_->space().HostCallDone(1, token));
  EXPECT_TRUE(neighbour_->Synchronize(1));
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(counter), seven + 1);
  EXPECT_LE(Moves(*neighbour_), 1u);  // after the copy an SM of our driver may begin its kernel
  End();
  EXPECT_TRUE(culprit_->Synchronize(1));
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

TEST_F(GpuStalls, WhoseOwnKernelTakesLongStaysWhereItIs) {
  const uint64_t word = neighbour_->Allocate(2 * sizeof(uint64_t)), begun = word + sizeof(uint64_t);
  const std::string says_and_waits = KernelOf(
      "  st.volatile.global.u64 [%b], 1;\nagain:\n  ld.volatile.global.u64 %t0, [%a];\n"
      "  setp.eq.u64 %p0, %t0, 0;\n  @%p0 bra again;\n");
  neighbour_->Launch(1, neighbour_->Kernel(says_and_waits), 1, 1, {word, begun, 0, 0});
  while (neighbour_->ReadValue<uint64_t>(begun) == 0) std::this_thread::yield();
  const uint64_t moves = Moves(*neighbour_);
  std::this_thread::sleep_for(700ms);  // some looks
  EXPECT_EQ(Moves(*neighbour_), moves);
  EXPECT_TRUE(culprit_->Computes());
  neighbour_->CreateStream(2);
  neighbour_->Launch(2, neighbour_->Kernel(cts::kAdd), 1, 1, {word, 1, 0, 0});
  EXPECT_TRUE(neighbour_->Synchronize(1));
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// Unless the machine is so slow that one of them waits for as long as a stall takes.
TEST_F(GpuStalls, ClientsThatHoldTheDeviceInTurnsStayTogether) {
  const uint64_t counters[] = {culprit_->Allocate(sizeof(uint64_t)), neighbour_->Allocate(sizeof(uint64_t))};
  Client* const clients[] = {culprit_.get(), neighbour_.get()};
  const uint32_t kernels[] = {culprit_->Kernel(cts::kAdd), neighbour_->Kernel(cts::kAdd)};
  constexpr int kRounds = 20;
  const auto since = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 2; ++i) clients[i]->Launch(1, kernels[i], kBlocks, kThreads, {counters[i], 1, 0, 0});
  }
  for (Client* client : clients) EXPECT_TRUE(client->Synchronize(1));
  const bool may_have_stalled = std::chrono::steady_clock::now() - since > 100ms;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(clients[i]->ReadValue<uint64_t>(counters[i]), uint64_t{kRounds} * kBlocks * kThreads);
    EXPECT_TRUE(Moves(*clients[i]) == 0 || may_have_stalled);
  }
}

// Its executor waits with that until no kernel of the client runs, and one that does not begin would never have run.
TEST_F(GpuStalls, WhoFreesMemoryMeanwhileGoesOnElsewhere) {
  constexpr uint64_t kBytes = 8 << 20;
  const uint64_t counter = neighbour_->Allocate(sizeof(uint64_t)), freed = neighbour_->Allocate(kBytes);
  const uint64_t used = neighbour_->sink().memory_used(0);
  const uint32_t add = neighbour_->Kernel(cts::kAdd);
  HoldTheDevice();
  // Until a host function before it has ended the memory is not unmapped.
  constexpr uint64_t kToken = 7;
  neighbour_->CreateStream(2);
  ASSERT_TRUE(neighbour_->space().HostCall(2, neighbour_->next_ticket(), kToken));
  ASSERT_TRUE(neighbour_->sink().WaitHostCalls(1));
  ASSERT_TRUE(neighbour_->space().Free(freed));
  neighbour_->Launch(1, add, 1, 1, {counter, 1, 0, 0});
  std::this_thread::sleep_for(30ms);  // until the driver has that
  ASSERT_TRUE(neighbour_->space().HostCallDone(2, kToken));
  EXPECT_TRUE(neighbour_->Synchronize(1));
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(counter), 1u);
  EXPECT_TRUE(neighbour_->sink().WaitMemory(0, used - kBytes));
  EXPECT_TRUE(neighbour_->Computes());
  End();
  EXPECT_TRUE(culprit_->Synchronize(1));
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// What is freed as it goes over is not in the next executor, so that its addresses can be used again.
TEST_F(GpuStalls, WhoFreesMemoryAsItGoesOverHasTheAddressesAgain) {
  constexpr uint64_t kBytes = 2 << 20, kPlaces = 100;
  const uint64_t counter = neighbour_->Allocate(sizeof(uint64_t));
  const uint32_t add = neighbour_->Kernel(cts::kAdd);
  neighbour_->CreateStream(2);
  const auto shared = neighbour_->space().Share(neighbour_->Allocate(kBytes), Space::AtEnd::kKept);
  ASSERT_TRUE(shared);
  std::vector<uint64_t> places;
  const auto show = [&](uint64_t wish) {
    const auto place = neighbour_->space().Reserve(0, kBytes, 0, wish);
    const Status shown = place ? neighbour_->space().Map(*place, *shared, true) : std::unexpected(place.error());
    EXPECT_TRUE(shown) << shown.error().text;
    return place.value_or(0);
  };
  for (uint64_t i = 0; i < kPlaces; ++i) places.push_back(show(0));
  HoldTheDevice();
  neighbour_->Launch(1, add, 1, 1, {counter, 1, 0, 0});
  for (const uint64_t place : places) {
    ASSERT_TRUE(neighbour_->space().FreeInStream(2, neighbour_->next_ticket(), place));
    std::this_thread::sleep_for(3ms);
  }
  EXPECT_TRUE(neighbour_->Synchronize(1));
  EXPECT_TRUE(neighbour_->Synchronize(2));
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(counter), 1u);
  EXPECT_LE(Moves(*neighbour_), 1u);
  for (const uint64_t place : places) ASSERT_EQ(show(place), place);
  EXPECT_TRUE(neighbour_->Computes());
  End();
  EXPECT_TRUE(culprit_->Synchronize(1));
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// Variables are no part of what goes over. Here one is written when it is settled already that the client will leave.
TEST_F(GpuStalls, WhoWritesAVariableMeanwhileStaysWithIt) {
  const std::string image = KernelOf("  ld.const.u64 %t0, [five];\n  st.global.u64 [%a], %t0;\n",
                                     ".visible .const .align 8 .u64 five = 5;\n");
  const auto module = neighbour_->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  ASSERT_TRUE(module) << module.error().text;
  const uint32_t any[3] = {0, 0, 0};
  const auto kernel = neighbour_->space().Prepare(module->id, 0, any);
  ASSERT_TRUE(kernel) << kernel.error().text;
  const uint64_t seen = neighbour_->Allocate(sizeof(uint64_t)), seven = 7;
  const auto from = neighbour_->space().Allocate(0, wire::MemoryKind::kHost, sizeof seven, 0);
  std::memcpy(neighbour_->space().Reached(*from, sizeof seven), &seven, sizeof seven);
  (void)culprit_->Kernel(kHolds);
  // So that our driver gives an SM that it has taken for the copy back to whom it has taken it from.
  culprit_->CreateStream(2, {.priority = -5});
  neighbour_->CreateStream(2, {.priority = -5});
  const pid_t next = StopTheNextOne();
  Words* const holds = Hold(*culprit_, kBlocks, 2);
  Await(holds, kSms);
  neighbour_->Launch(1, kernel->id, 1, 1, {seen, 0, 0, 0});
  std::this_thread::sleep_for(500ms);  // until another executor is awaited
  ASSERT_TRUE(neighbour_->space().Copy(2, neighbour_->next_ticket(),
                                       {.destination = module->info.variables.at(0).address,
                                        .source = *from,
                                        .row_bytes = sizeof seven,
                                        .rows = 1,
                                        .planes = 1}));
  ASSERT_TRUE(neighbour_->Synchronize(2));
  kill(next, SIGCONT);
  std::this_thread::sleep_for(500ms);  // in which it would leave
  EXPECT_EQ(Moves(*neighbour_), 0u);
  End(holds);
  EXPECT_TRUE(neighbour_->Synchronize(1));
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(seen), seven);
  EXPECT_TRUE(culprit_->Synchronize(1));
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

TEST_F(GpuStalls, WhoComesWhileTheDeviceIsHeldComputes) {
  HoldTheDevice();
  EXPECT_TRUE(neighbour_->Computes());
  const auto third = Serve();
  EXPECT_TRUE(third->Computes());
  culprit_ = nullptr;
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_TRUE(third->Computes());
}

// Unless the machine is so slow that it is held up there, too.
TEST_F(GpuStalls, WhoHasWaitedForAnExecutorHasNotBeenHeldUpInIt) {
  const uint64_t counter = neighbour_->Allocate(sizeof(uint64_t));
  const uint32_t add = neighbour_->Kernel(cts::kAdd);
  const pid_t next = StopTheNextOne(), first = Executors().front();
  kill(first, SIGKILL);
  neighbour_->Launch(1, add, 1, 64, {counter, 1, 0, 0});
  std::this_thread::sleep_for(500ms);
  const auto since = std::chrono::steady_clock::now();
  kill(next, SIGCONT);
  EXPECT_TRUE(neighbour_->Synchronize(1));
  const bool may_have_stalled = std::chrono::steady_clock::now() - since > 100ms;
  EXPECT_TRUE(Moves(*neighbour_) == 0 || may_have_stalled);
  EXPECT_EQ(neighbour_->ReadValue<uint64_t>(counter), 64u);
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

// A GPU's driver does fills by kernels of its own.
class GpuStallsOfFills : public GpuStalls {
 protected:
  void SetUp() override {
    setenv("TUTTI_STRICT_MODES", "fills_wait", 1);
    GpuStalls::SetUp();
  }
  void TearDown() override {
    GpuStalls::TearDown();
    unsetenv("TUTTI_STRICT_MODES");
  }
};

// Its memory is of zeros, whoever computes: memory that is new, and memory that the program had before.
TEST_F(GpuStallsOfFills, WhoAllocatesMemoryHasItWhileTheDeviceIsHeld) {
  constexpr uint64_t kSmall = 4096, kLarge = 6 << 20, kSlabsOfSmall = 16;
  for (uint64_t i = 0; i <= kSlabsOfSmall; ++i) neighbour_->Allocate(kSmall);
  const uint64_t freed = neighbour_->Allocate(kSmall);
  neighbour_->Write(freed, std::vector<uint8_t>(kSmall, 7));
  ASSERT_TRUE(neighbour_->space().Free(freed));
  HoldTheDevice();
  std::promise<std::pair<uint64_t, uint64_t>> promise;
  auto allocated = promise.get_future();
  std::thread allocates([&] {
    const uint64_t small = neighbour_->Allocate(kSmall);
    promise.set_value({small, neighbour_->Allocate(kLarge)});
  });
  EXPECT_EQ(allocated.wait_for(20s), std::future_status::ready);
  End();
  allocates.join();
  const auto [small, large] = allocated.get();
  EXPECT_EQ(small, freed);
  EXPECT_EQ(neighbour_->Read(small, kSmall), std::vector<uint8_t>(kSmall));
  EXPECT_EQ(neighbour_->Read(large, kLarge), std::vector<uint8_t>(kLarge));
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_TRUE(culprit_->Synchronize(1));
}

}  // namespace
}  // namespace tutti::device::gpu
