// A device in simulated time, for what the scheduler promises about time: the real scheduler, SMs that run nothing for
// as long as their blocks take, and ticks of the ticker at any time. The result does not depend on the machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/clock.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {

// Not thread-safe; one at a time.
class MadeUpDevice {
 public:
  explicit MadeUpDevice(uint32_t sms)
      : ticker_([](uint64_t) { return kNever; }),
        scheduler_({.sms = sms}, &ticker_, &pool_, [] { return now_ns_; }),
        sms_(sms) {
    now_ns_ = 1'000'000'000;
    for (uint32_t i = 0; i < sms; ++i) scheduler_.sm(i).thread = &sms_[i].thread;
  }

  Scheduler& scheduler() { return scheduler_; }

  struct Client {
    SpaceShare share;
    uint64_t used_ns = 0;  // of all SMs
  };
  Client& NewClient(const ShareLimits& limits = {}) {
    Client& client = clients_.emplace_back();
    scheduler_.AddShare(&client.share);
    scheduler_.SetLimits(&client.share, limits);
    return client;
  }
  // More blocks than there is time for.
  void GiveWork(Client& client, uint64_t block_ns, uint32_t context = 0) {
    Work& work = work_.emplace_back();
    work.client = &client;
    work.block_ns = block_ns;
    work.task.share = &client.share;
    work.task.context = context;
    work.task.urgency = 5;
    work.task.total_blocks = 1ull << 40;
    work.task.habits = &work.habits;
    scheduler_.Perform(scheduler_.Submit(&work.task));
  }

  void Run(uint64_t ns) {
    for (const uint64_t end_ns = now_ns_ + ns; now_ns_ < end_ns;) {
      uint64_t next_ns = std::min(end_ns, tick_at_ns_);
      for (Sm& sm : sms_) {
        if (sm.work == nullptr) Take(sm);
        next_ns = std::min(next_ns, sm.until_ns);
      }
      now_ns_ = std::max(now_ns_, next_ns);
      for (Sm& sm : sms_) {
        if (sm.work != nullptr && sm.until_ns <= now_ns_) EndBlock(sm);
      }
      if (now_ns_ < tick_at_ns_) continue;
      scheduler_.Tick(now_ns_);
      tick_at_ns_ = now_ns_ + Ticker::kLeastPauseNs;
    }
  }

  // The client's part of the device's time in the next `ns`.
  double PartOf(const Client& client, uint64_t ns) {
    const uint64_t before_ns = client.used_ns;
    Run(ns);
    return static_cast<double>(client.used_ns - before_ns) / static_cast<double>(ns * sms_.size());
  }

 private:
  struct Work {
    Client* client;
    uint64_t block_ns;
    Task task;
    BlockHabits habits;
  };
  struct Sm {
    guest::GuestThread thread;
    Work* work = nullptr;
    Chunk chunk;
    uint64_t finished = 0;
    uint64_t until_ns = 0;  // the end of its block, or when it looks again
  };

  void Take(Sm& sm) {
    uint32_t seen;
    uint64_t retry_at_ns;
    if (!scheduler_.Take(StateOf(sm), &sm.chunk, &seen, &retry_at_ns)) {
      sm.until_ns = std::min(retry_at_ns, now_ns_ + Ticker::kLeastPauseNs);
      return;
    }
    const auto work = std::ranges::find(work_, sm.chunk.task, [](Work& w) { return &w.task; });
    sm.work = &*work;
    sm.finished = 0;
    sm.until_ns = now_ns_ + sm.work->block_ns;
  }

  // A preempted SM yields at a block's end.
  void EndBlock(Sm& sm) {
    sm.work->client->used_ns += sm.work->block_ns;
    if (++sm.finished < sm.chunk.count && sm.thread.WasToldTo(guest::StopReason::kNone)) {
      sm.until_ns = now_ns_ + sm.work->block_ns;
      return;
    }
    sm.work->habits.LearnTime(sm.finished * sm.work->block_ns, sm.finished);
    sm.work = nullptr;
    scheduler_.Finish(StateOf(sm), sm.chunk,
                      {.finished = sm.finished,
                       .rest_begin = sm.chunk.first + sm.finished,
                       .rest_end = sm.chunk.first + sm.chunk.count,
                       .end_ns = now_ns_});
  }

  SmState& StateOf(Sm& sm) { return scheduler_.sm(static_cast<uint32_t>(&sm - sms_.data())); }

  static inline uint64_t now_ns_ = 0;
  uint64_t tick_at_ns_ = 0;
  Ticker ticker_;
  BlockPool pool_;
  Scheduler scheduler_;
  std::vector<Sm> sms_;
  std::deque<Client> clients_;
  std::deque<Work> work_;
};

}  // namespace tutti::device::cpu
