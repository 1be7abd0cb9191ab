// Several clients on the device at once.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/clock.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"
#include "guest/exec/sanitizers.h"
#include "os/fd.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

std::unique_ptr<Backend> NewBackend(uint32_t devices = 1, uint32_t sms = 2) {
  return CreateCpuBackend({.devices = devices, .sms = sms, .memory_bytes = 4ull << 30}, NewTestCode());
}

TEST(Sharing, KernelsOfDifferentClientsRunAtTheSameTime) {
  const auto backend = NewBackend();
  Client a(backend.get()), b(backend.get());
  // Each waits for the other: alone neither could end.
  a.CreateStream(1);
  b.CreateStream(1);
  auto* const flag_a = a.Array<uint64_t>(2);
  auto* const flag_b = b.Array<uint64_t>(2);
  a.Launch(1, a.Kernel("wait"), 1, 32, {reinterpret_cast<uint64_t>(flag_a), reinterpret_cast<uint64_t>(flag_a + 1)});
  b.Launch(1, b.Kernel("wait"), 1, 32, {reinterpret_cast<uint64_t>(flag_b), reinterpret_cast<uint64_t>(flag_b + 1)});
  std::atomic_ref(*flag_b).store(1);
  EXPECT_TRUE(b.Synchronize(1)) << "b passes although a still waits";
  std::atomic_ref(*flag_a).store(1);
  EXPECT_TRUE(a.Synchronize(1));
}

TEST(Sharing, StreamsOfOneClientOverlap) {
  const auto backend = NewBackend(1, 1);
  Client client(backend.get());
  client.CreateStream(1);
  client.CreateStream(2);
  auto* const words = client.Array<uint64_t>(4);
  const auto address = reinterpret_cast<uint64_t>(words);
  client.Launch(1, client.Kernel("wait"), 1, 32, {address, address + 8});
  client.Launch(2, client.Kernel("add"), 1, 32, {address, 1});  // sets the flag, on the same SM
  EXPECT_TRUE(client.Synchronize(1));
}

// At any instruction, also on the way out of a service: a grid that lost a block would never end.
TEST(Sharing, AGridThatCallsServicesAllTheTimeAndIsPreemptedAgainAndAgainEnds) {
  const auto backend = NewBackend(1, 1);
  Client background(backend.get(), {.priority = 1}), urgent(backend.get());
  constexpr uint32_t kBlocks = 200, kThreads = 32, kPreemptions = 5000;
  background.CreateStream(1);
  urgent.CreateStream(1);
  auto* const ended = background.Array<uint64_t>(1);
  background.Launch(1, background.Kernel("barriers"), kBlocks, kThreads, {reinterpret_cast<uint64_t>(ended), 5'000});
  for (uint32_t i = 0; i < kPreemptions && *ended < kBlocks * kThreads; ++i) {
    urgent.Launch(1, urgent.Kernel("empty"), 1, 32, {});
    ASSERT_TRUE(urgent.Synchronize(1));
  }
  ASSERT_TRUE(background.Synchronize(1));
  EXPECT_EQ(*ended, kBlocks * kThreads);
}

TEST(Sharing, TimeSlicesLetEverybodyFinish) {
  const auto backend = NewBackend();
  backend->SetPolicy(Policy::kTimeSlice);
  Client a(backend.get()), b(backend.get()), c(backend.get());
  for (Client* client : {&a, &b, &c}) {
    client->CreateStream(1);
    client->Launch(1, client->Kernel("slow"), 40, 32, {client->Allocate(8), 300'000});
  }
  EXPECT_TRUE(a.Synchronize(1));
  EXPECT_TRUE(b.Synchronize(1));
  EXPECT_TRUE(c.Synchronize(1));
}

TEST(Sharing, APartOfAnSmIsEnoughToFinish) {
  const auto backend = NewBackend();
  Client client(backend.get(), {.active_thread_percentage = 10});
  client.CreateStream(1);
  client.Launch(1, client.Kernel("slow"), 10, 32, {client.Allocate(8), 200'000});
  EXPECT_TRUE(client.Synchronize(1));
}

TEST(Sharing, DevicesWorkIndependentlyAndWaitForEachOther) {
  const auto backend = NewBackend(2, 1);
  Client client(backend.get());
  client.CreateStream(1, {.device = 0, .non_blocking = true});
  client.CreateStream(2, {.device = 1, .non_blocking = true});
  auto* const flag = client.Array<uint64_t>(2);
  const auto address = reinterpret_cast<uint64_t>(flag);
  const uint64_t first = client.Launch(1, client.Kernel("wait", 0), 1, 32, {address, address + 8});
  ASSERT_TRUE(client.space().Wait(2, client.next_ticket(), 1, first));
  const uint64_t second = client.Launch(2, client.Kernel("add", 1), 1, 1, {address + 8, 1});
  EXPECT_FALSE(client.sink().IsDone(2, second));
  std::atomic_ref(*flag).store(1);
  EXPECT_TRUE(client.sink().WaitDone(2, second));
  EXPECT_EQ(flag[1], 33u);
}

TEST(Sharing, TheTraceTellsWhatRanWhere) {
  const auto backend = NewBackend();
  backend->SetTracing(true);
  Client client(backend.get(), {}, "tracee");
  client.CreateStream(1);
  client.Launch(1, client.Kernel("slow"), 8, 32, {client.Allocate(8), 100'000});
  ASSERT_TRUE(client.Synchronize(1));
  client.Destroy();
  uint64_t blocks = 0;
  for (const auto& event : backend->TakeTrace()) {
    EXPECT_EQ(event.label, "tracee");
    EXPECT_EQ(event.kernel, "slow");
    EXPECT_LT(event.sm, 2u);
    EXPECT_LE(event.begin_ns, event.end_ns);
    blocks += event.blocks;
  }
  EXPECT_EQ(blocks, 8u);
  EXPECT_TRUE(backend->TakeTrace().empty());
}

// The server's side of idling: records arrive as a queue length, doorbells through an eventfd.
TEST(Idling, WorkersServeTheRingsAndAreWokenByTheBell) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event), 0);
  std::atomic<int> records{0}, served{0}, asleep{0}, rang{0};
  const auto backend = NewBackend(1, 1);  // its threads use the above until it is gone
  const auto serve = [&] {
    const int taken = records.exchange(0);
    served += taken;
    return taken != 0;
  };
  Backend::IdleWork work;
  work.poll = serve;
  work.arm = [&] {
    ++asleep;
    if (!serve()) return false;
    --asleep;
    return true;
  };
  work.doorbell_epoll_fd = epoll;
  work.woke = [&] { --asleep; };
  work.rang = [&] {
    uint64_t count;
    if (read(bell, &count, sizeof count) > 0) ++rang;
    serve();
  };
  backend->SetIdleWork(std::move(work));
  for (int i = 1; i <= 50; ++i) {
    if (i % 2 == 0) {
      while (asleep != 1) std::this_thread::yield();  // only the bell can help
    }
    ++records;
    const uint64_t one = 1;
    ASSERT_EQ(write(bell, &one, sizeof one), 8);
    for (int tries = 0; served < i && tries < 10'000; ++tries) usleep(1000);
    ASSERT_EQ(served, i);
  }
  EXPECT_GE(rang, 20);
  Client client(backend.get());
  client.CreateStream(1);
  client.Launch(1, client.Kernel("empty"), 1, 32, {});
  EXPECT_TRUE(client.Synchronize(1)) << "and work wakes them, too";
}

// Workers may sleep since before there were rings, and go on sleeping when others are told of these.
TEST(Idling, WhoeverADoorbellWakesServesIt) {
  constexpr int kBackends = 20, kRings = 40;
  for (int round = 0; round < kBackends; ++round) {
    const os::Fd bell(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), bells(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    ASSERT_EQ(epoll_ctl(bells.get(), EPOLL_CTL_ADD, bell.get(), &event), 0);
    std::atomic<int> rung{0}, served{0};
    const auto backend = NewBackend(1, 16);  // its threads use the above until it is gone
    usleep(10'000);
    Backend::IdleWork work;
    work.doorbell_epoll_fd = bells.get();
    work.rang = [&] {
      epoll_event events[1];
      if (epoll_wait(bells.get(), events, 1, 0) == 1) served = rung.load();
    };
    backend->SetIdleWork(std::move(work));
    for (int ring = 1; ring <= kRings; ++ring) {
      ++rung;
      ASSERT_EQ(eventfd_write(bell.get(), 1), 0);
      for (int tries = 0; served < ring && tries < 10'000; ++tries) usleep(100);
      ASSERT_EQ(served, ring) << "of backend " << round;
    }
  }
}

// Everything at once, a thread per client: correct results, in order, and nothing left behind.
TEST(Stress, ManyClientsManyStreams) {
  const auto backend = NewBackend(2, 2);
  constexpr int kClients = 6;
  constexpr int kRounds = 4;
  std::atomic<bool> stop{false};
  std::thread policies([&] {
    for (int i = 0; !stop; ++i) {
      backend->SetPolicy(i % 2 == 0 ? Policy::kTimeSlice : Policy::kShare);
      backend->SetTracing(i % 3 == 0);
      backend->TakeTrace();
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  });
  std::vector<std::thread> threads;
  for (int number = 0; number < kClients; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937 random(static_cast<unsigned>(number));
      for (int round = 0; round < kRounds; ++round) {
        Client client(backend.get(), {.active_thread_percentage = 25.0 + 25 * (number % 4)});
        constexpr uint32_t kStreams = 12;
        for (uint32_t s = 1; s <= kStreams; ++s) {
          client.CreateStream(
              s, {.device = s % 2, .priority = -static_cast<int32_t>(s % 6), .legacy = s <= 2, .non_blocking = s > 8});
        }
        auto* const counter = client.Array<uint64_t>(1);
        uint64_t expected = 0, last_ticket = 0;
        for (int i = 0; i < 300; ++i) {
          const uint32_t stream = 1 + random() % kStreams;
          const uint32_t device = stream % 2;
          switch (random() % 6) {
            case 0:
              ASSERT_TRUE(client.space().Wait(stream, client.next_ticket(), 1 + random() % kStreams, last_ticket));
              break;
            case 1: ASSERT_TRUE(client.space().RecordEvent(stream, client.next_ticket(), 1 + random() % 100)); break;
            case 2: ASSERT_TRUE(client.space().Free(client.Allocate(1 + random() % 20000))); break;
            case 3: {
              const uint64_t memory = client.Allocate(600'000);
              ASSERT_TRUE(client.space().Copy(
                  stream, client.next_ticket(),
                  {.destination = memory, .source = memory + 300'000, .row_bytes = 300'000, .rows = 1, .planes = 1}));
              ASSERT_TRUE(client.space().Free(memory));
              break;
            }
            default: {
              const uint32_t blocks = 1 + random() % 20;
              last_ticket = client.Launch(stream, client.Kernel("add", device), blocks, 64,
                                          {reinterpret_cast<uint64_t>(counter), 1});
              expected += blocks * 64;
            }
          }
        }
        if (round % 2 == 1) continue;  // goes away in the middle
        for (uint32_t s = 1; s <= kStreams; ++s) ASSERT_TRUE(client.Synchronize(s));
        EXPECT_EQ(std::atomic_ref(*counter).load(), expected);
        EXPECT_TRUE(client.sink().faults().empty());
        EXPECT_FALSE(client.sink().went_backwards());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  policies.join();
  EXPECT_EQ(backend->memory(0).used_bytes(), 0u);
  EXPECT_EQ(backend->memory(1).used_bytes(), 0u);
}

}  // namespace
}  // namespace tutti::device::cpu
