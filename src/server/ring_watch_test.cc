// Every record is found, whoever looks, sleeps or works: the threads here do what the workers of a device do.
#include "server/ring_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/clock.h"

namespace tutti::server {
namespace {

using wire::Doorbell;

// A ring that holds numbers only, with a producer that follows the client's side of the doorbell protocol.
class FakeRing final : public WatchedRing {
 public:
  FakeRing() : bell_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  void Added(uint32_t) override {}
  bool Consume() override {
    EXPECT_FALSE(inside_.exchange(true)) << "two threads in one ring";
    const uint64_t published = published_.load(std::memory_order_seq_cst);
    const bool found = consumed_.load(std::memory_order_relaxed) != published;
    consumed_.store(published, std::memory_order_release);
    inside_ = false;
    return found;
  }
  bool Peek() override {
    return published_.load(std::memory_order_seq_cst) != consumed_.load(std::memory_order_relaxed);
  }
  void SetBell(Doorbell state) override { bell_.store(static_cast<uint32_t>(state), std::memory_order_seq_cst); }
  int doorbell_fd() const override { return bell_fd_.get(); }

  void Produce(bool wait_hint) {
    published_.fetch_add(1, std::memory_order_seq_cst);
    const auto bell = static_cast<Doorbell>(bell_.load(std::memory_order_seq_cst));
    if (bell == Doorbell::kWatched || (bell == Doorbell::kLingering && !wait_hint)) return;
    if (bell_.exchange(0, std::memory_order_seq_cst) != 0) {
      rung_.fetch_add(1);
      eventfd_write(bell_fd_.get(), 1);
    }
  }
  // No bounded sleeps here as in the client library: a lost record stays lost.
  bool AwaitConsumed() {
    const uint64_t give_up_ns = NowNs() + 10'000'000'000;
    while (consumed_.load(std::memory_order_acquire) != published_.load()) {
      if (NowNs() > give_up_ns) return false;
      std::this_thread::yield();
    }
    return true;
  }
  Doorbell bell() const { return static_cast<Doorbell>(bell_.load()); }
  uint64_t rung() const { return rung_; }

 private:
  os::Fd bell_fd_;
  std::atomic<uint32_t> bell_{0};
  std::atomic<uint64_t> published_{0};
  std::atomic<uint64_t> consumed_{0};
  std::atomic<uint64_t> rung_{0};
  std::atomic<bool> inside_{false};
};

// A device's worker: spins, sleeps, wakes for work of its own, and runs blocks for a while now and then.
class Worker {
 public:
  Worker(device::Backend::IdleWork idle, uint32_t seed, uint64_t busy_ns)
      : idle_(std::move(idle)),
        random_(seed),
        busy_ns_(busy_ns),
        work_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        thread_([this] { Run(); }) {}
  ~Worker() {
    stop_ = true;
    eventfd_write(work_.get(), 1);
    thread_.join();
  }
  void GiveWork() { eventfd_write(work_.get(), 1); }

 private:
  void Run() {
    while (!stop_) {
      const uint64_t spin_until_ns = NowNs() + random_() % 20'000;
      bool found = false;
      do found = idle_.poll();
      while (!found && NowNs() < spin_until_ns);
      if (found || random_() % 4 == 0) {
        idle_.leave();
        BeBusy();
      } else if (!idle_.arm()) {
        Sleep();
      }
    }
    idle_.poll();
    idle_.leave();
  }
  void BeBusy() {
    const uint64_t until_ns = NowNs() + (busy_ns_ == 0 ? 0 : random_() % busy_ns_);
    while (NowNs() < until_ns) std::this_thread::yield();
  }
  void Sleep() {
    pollfd wait[] = {{idle_.doorbell_epoll_fd, POLLIN, 0}, {work_.get(), POLLIN, 0}};
    poll(wait, 2, -1);
    idle_.woke();
    if (wait[0].revents != 0) idle_.rang();
    eventfd_t count;
    if (eventfd_read(work_.get(), &count) == 0) BeBusy();
  }

  device::Backend::IdleWork idle_;
  std::minstd_rand random_;
  uint64_t busy_ns_;
  os::Fd work_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::unique_ptr<RingWatch> NewWatch() { return std::move(RingWatch::Create().value()); }

TEST(RingWatch, LookoutAloneFindsEveryRecord) {
  FakeRing ring;
  const auto watch = NewWatch();
  const uint32_t number = watch->Add(&ring).value();
  for (int i = 0; i < 300; ++i) {
    ring.Produce(i % 2 == 0);
    ASSERT_TRUE(ring.AwaitConsumed()) << i;
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  watch->Remove(number);
}

TEST(RingWatch, QuietRingIsArmed) {
  FakeRing ring;
  const auto watch = NewWatch();
  const uint32_t number = watch->Add(&ring).value();
  for (int i = 0; i < 1000 && ring.bell() != Doorbell::kArmed; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(ring.bell(), Doorbell::kArmed);
  watch->Remove(number);
}

// It polled, and has been running blocks since, which took longer than was thought.
TEST(RingWatch, ALookerThatDoesNotComeBackLeavesNoRecordUnnoticed) {
  FakeRing ring;
  const auto watch = NewWatch();
  const auto idle = watch->idle_work();
  idle.poll();
  const uint32_t number = watch->Add(&ring).value();
  for (int i = 0; i < 5; ++i) {
    for (int ms = 0; ms < 1000 && ring.bell() != Doorbell::kArmed; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(ring.bell(), Doorbell::kArmed) << "it went cold";
    ring.Produce(true);
    ASSERT_TRUE(ring.AwaitConsumed()) << i;
  }
  idle.leave();
  watch->Remove(number);
}

// Never runs dry while it is looked at, so it does not go cold by itself.
class EndlessRing final : public WatchedRing {
 public:
  void Added(uint32_t) override {}
  bool Consume() override { return true; }
  bool Peek() override { return false; }
  void SetBell(Doorbell state) override { bell_ = state; }
  int doorbell_fd() const override { return bell_fd_.get(); }
  Doorbell bell() const { return bell_; }

 private:
  os::Fd bell_fd_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::atomic<Doorbell> bell_{Doorbell::kArmed};
};

TEST(RingWatch, PollingThreadWatchesAndTheLastToLeaveArms) {
  EndlessRing ring;
  const auto watch = NewWatch();
  const auto idle = watch->idle_work();
  idle.poll();  // from here on the lookout leaves the ring to this thread
  const uint32_t number = watch->Add(&ring).value();
  ASSERT_TRUE(idle.poll());
  EXPECT_EQ(ring.bell(), Doorbell::kWatched);
  std::thread other([&] {
    idle.poll();
    idle.leave();
  });
  other.join();
  EXPECT_EQ(ring.bell(), Doorbell::kWatched) << "one still looks";
  idle.leave();
  EXPECT_NE(ring.bell(), Doorbell::kWatched);
  watch->Remove(number);
}

// Publishes a record at the worst moment: between the last look and the armed bell.
class LateRing final : public WatchedRing {
 public:
  void Added(uint32_t) override {}
  bool Consume() override {
    found_ = found_ || late_;
    return std::exchange(late_, false);
  }
  bool Peek() override { return late_; }
  void SetBell(Doorbell state) override { late_ = late_ || (state == Doorbell::kArmed && surprises_-- > 0); }
  int doorbell_fd() const override { return bell_fd_.get(); }
  void SurpriseOnce() { surprises_ = 1; }
  bool found() const { return found_; }

 private:
  os::Fd bell_fd_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  bool late_ = false, found_ = false;
  int surprises_ = 0;
};

TEST(RingWatch, RecordThatComesWhileTheBellIsArmedKeepsTheSleeperAwake) {
  LateRing ring;
  const auto watch = NewWatch();
  const auto idle = watch->idle_work();
  idle.poll();  // from here on the lookout leaves the ring to this thread
  const uint32_t number = watch->Add(&ring).value();
  idle.poll();
  watch->WithLock(number, [&] { ring.SurpriseOnce(); });
  // Unless the lookout has found it already: it looks, too, where this thread is late.
  const bool stays_awake = idle.arm();
  if (stays_awake) idle.poll();
  bool found = false;
  for (int ms = 0; ms < 2000 && !found; ++ms) {
    watch->WithLock(number, [&] { found = ring.found(); });
    if (!found) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(found) << (stays_awake ? "this thread looked in vain" : "this thread slept");
  while (idle.arm()) idle.poll();
  idle.woke();
  watch->Remove(number);
}

void Stress(size_t workers, size_t rings, uint64_t busy_ns) {
  std::vector<std::unique_ptr<FakeRing>> all;
  const auto watch = NewWatch();
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < rings; ++i) {
    all.push_back(std::make_unique<FakeRing>());
    numbers.push_back(watch->Add(all.back().get()).value());
  }
  {
    std::vector<std::unique_ptr<Worker>> threads;
    for (size_t i = 0; i < workers; ++i)
      threads.push_back(std::make_unique<Worker>(watch->idle_work(), 1 + i, busy_ns));
    std::vector<std::thread> producers;
    for (size_t i = 0; i < rings; ++i) {
      producers.emplace_back([&, i] {
        std::minstd_rand random(static_cast<uint32_t>(100 + i));
        for (int round = 0; round < 1500; ++round) {
          for (size_t burst = random() % 4; burst > 0; --burst) all[i]->Produce(false);
          all[i]->Produce(random() % 2 == 0);
          if (!threads.empty() && random() % 16 == 0) threads[random() % threads.size()]->GiveWork();
          ASSERT_TRUE(all[i]->AwaitConsumed()) << "ring " << i << ", round " << round;
          if (random() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
        }
      });
    }
    for (auto& producer : producers) producer.join();
  }
  for (const uint32_t number : numbers) watch->Remove(number);
}

TEST(RingWatch, NoRecordIsLostWithoutWorkers) { Stress(0, 2, 0); }
TEST(RingWatch, NoRecordIsLostWithOneWorker) { Stress(1, 2, 100'000); }
TEST(RingWatch, NoRecordIsLostWithManyWorkers) { Stress(3, 3, 50'000); }

TEST(RingWatch, RemovedRingIsNeverTouchedAgain) {
  const auto watch = NewWatch();
  const Worker worker(watch->idle_work(), 1, 1000);
  for (int i = 0; i < 500; ++i) {
    auto ring = std::make_unique<FakeRing>();
    const uint32_t number = watch->Add(ring.get()).value();
    ring->Produce(true);
    watch->Remove(number);
    ring.reset();
  }
}

TEST(RingWatch, RefusesMoreRingsThanItHasPlacesFor) {
  const auto watch = NewWatch();
  std::vector<std::unique_ptr<FakeRing>> rings;
  std::vector<uint32_t> numbers;
  Result<uint32_t> number = 0u;
  for (uint32_t i = 0; i < RingWatch::kCapacity + 1; ++i) {
    rings.push_back(std::make_unique<FakeRing>());
    if (rings.back()->doorbell_fd() < 0) break;  // fewer open files are allowed here than there are places
    number = watch->Add(rings.back().get());
    if (!number) break;
    numbers.push_back(*number);
  }
  for (const uint32_t taken : numbers) watch->Remove(taken);
  if (numbers.size() == RingWatch::kCapacity) {
    EXPECT_EQ(number.error().code, 808);
  }
}

}  // namespace
}  // namespace tutti::server
