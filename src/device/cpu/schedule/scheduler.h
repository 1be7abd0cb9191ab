// Dispatches blocks of one device to its SMs: which Space's, which grid's, how many at once. Thread-safe; one short
// critical section per call. Knows nothing of streams: tasks are submitted when they may run, and reported when done.
//
//   scheduler.cc         dispatching chunks and taking their results
//   scheduler_limits.cc  what shares may use: limits, caps, who is offered to the policy
//   scheduler_stop.cc    preemption, and ending blocks
//   scheduler_parked.cc  tasks that only wait, set aside
//   scheduler_many.cc    what differs where many SMs run side by side
//   scheduler_peers.cc   its shares' parts of the device, beside other servers
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu/exec/block_pool.h"
#include "device/cpu/schedule/batch.h"
#include "device/cpu/schedule/errands.h"
#include "device/cpu/schedule/idle_gate.h"
#include "device/cpu/schedule/policy.h"
#include "device/cpu/schedule/scheduler_lock.h"
#include "device/cpu/schedule/ticker.h"
#include "guest/exec/guest_thread.h"

namespace tutti::device::cpu {

// What one SM does now.
struct SmState {
  uint32_t index = 0;
  uint32_t place = 0;  // where it begins grids whose blocks may begin in any order
  guest::GuestThread* thread = nullptr;
  bool away = false;            // its thread does something else, which may take long (sm_thread.h)
  bool coming = false;          // it has just left something, and looks next (OfferAgain)
  SpaceShare* share = nullptr;  // that counts this SM as running
  PeerGroup* group = nullptr;   // that counts it while it has a task
  uint64_t group_since_ns = 0;  // from when its time is yet to be counted there
  uint64_t group_counted_ns = 0;  // of the chunk, as if the SM had had a core all the time
  Task* task = nullptr;         // of which it runs a chunk
  uint64_t begin_ns = 0;
  uint64_t estimate_ns = 0;  // charged in advance
  uint32_t level = 0;        // of the task, as it began
  bool counted = false;      // by level: it has a task, and has not been told to stop
  Batch batch;               // of its chunk, what it has not begun
};

struct Chunk {
  Task* task = nullptr;
  // Blocks [first, first + count), none of them begun. The SM runs those before piece_end; the others are in its batch,
  // and may be taken away. So it always has a block that no one else can end: the task outlasts its Finish.
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t piece_end = 0;
  guest::BlockRun* resumed = nullptr;  // or one that resumes
  uint64_t begin_ns = 0;
  uint64_t kernel_limit_ns = 0;
  bool may_be_long = false;  // too long to put off polling the rings
  bool has_woken = false;  // an SM that slept, for what is left
};

// How a chunk ended.
struct ChunkResult {
  uint64_t finished = 0;  // blocks that ended
  uint64_t rest_begin = 0;  // [rest_begin, rest_end) were not begun
  uint64_t rest_end = 0;
  guest::BlockRun* suspended = nullptr;  // a block that resumes later
  bool at_grid_barrier = false;  // ... when all others have reached the barrier
  bool yielded = false;  // ... it waits for memory that others write
  uint64_t seen_ended = 0;  //     and looked for it last when so many blocks of its task had ended
  uint64_t end_ns = 0;
  uint64_t stolen_ns = 0;  // of its time the core ran others (stolen_time.h)
};

// A share's limits on one device.
struct ShareLimits {
  double percentage = 100;
  uint32_t band = 0;
  SmSet sms = SmSet().set();
  uint64_t kernel_limit_ns = 0;
};

class Scheduler {
 public:
  static constexpr size_t kMostContextCaps = 1024;  // of one share
  static constexpr uint64_t kRemindNs = 10'000'000;  // after which a request that had no effect is repeated
  // How often clients below normal look whether other servers' clients want what they use: a system call each.
  static constexpr uint64_t kUrgentLookNs = 1'000'000;
  // From so many SMs on, each with a core, they take batches (scheduler_many.cc).
  static constexpr uint32_t kManySms = 16;

  struct Size {
    uint32_t sms = 1;
    uint32_t cores = kMaxSms;  // that run the SMs: SMs beyond do not spin
  };
  using Clock = uint64_t (*)();
  // With a clock, a timer and SMs of a driver's own (IdleGate::LieDown) it runs in simulated time, without threads
  // (testing/many_sms.h).
  Scheduler(const Size& size, LookTimer* ticker, BlockPool* pool, Clock clock = &NowNs, LockWatcher* watcher = nullptr);

  IdleGate& gate() { return gate_; }
  // Some work is not for every SM.
  bool restricted() const { return restricted_.load(std::memory_order_relaxed) != 0; }
  uint32_t sms() const { return static_cast<uint32_t>(sm_states_.size()); }
  SmState& sm(uint32_t index) { return sm_states_[index]; }

  void SetPolicy(Policy policy);
  // Other servers' SMs use the same cores; null: none do. SMs' time is then the time that they have had a core, and
  // shares keep to their part of the device (scheduler_peers.cc). Not where SMs share cores among themselves.
  void SetPeers(TimePeers* peers);
  bool shares_cores() const { return shares_cores_.load(std::memory_order_relaxed); }

  void AddShare(SpaceShare* share);
  void RemoveShare(SpaceShare* share);  // it is quiet (WaitQuiet)
  // These two take effect from the next scheduling decision on.
  void SetLimits(SpaceShare* share, const ShareLimits& limits);
  // The part of the device that tasks of `context` may use together: at most 1, which is no cap. Fails beyond
  // kMostContextCaps.
  Status LimitContext(SpaceShare* share, uint32_t context, double part);

  // The task may run now. It is the scheduler's until Finish or Drop return it. Pass the result to Perform soon, with
  // no lock held; true if that has woken an SM that slept.
  [[nodiscard]] RescheduleRequest Submit(Task* task);
  bool Perform(const RescheduleRequest& request);

  // For the worker of `sm`: something to run, or false; then *seen is the epoch to sleep on, *retry_at_ns when to look
  // again in any case, or kNever.
  bool Take(SmState& sm, Chunk* chunk, uint32_t* seen, uint64_t* retry_at_ns);
  // The chunk has ended. True: so has its task, and the SM stays counted for the Space until Release, so that the Space
  // cannot be destroyed while its streams advance.
  bool Finish(SmState& sm, const Chunk& chunk, const ChunkResult& result);
  void Release(SmState& sm);

  // The thread of `sm`, which has no chunk, does something else, which may take long: what there is to run is for
  // others. And it is back, and will look for work. Called by that thread (sm_thread.h).
  void StepAway(SmState& sm);
  void ComeBack(SmState& sm);

  // Whether block `index` of `task`, which only waits, should yield: to an earlier block of the task, to other tasks,
  // or, when it is the task's turn, to any other block of it (`has_rest`: of its chunk). A lock-free hint.
  bool ShouldGiveWay(Task& task, uint64_t index, bool has_rest) const;

  // Starts nothing of the share any more, and abandons what runs. Returns the tasks that no SM runs; the others come
  // back from Finish.
  void Drop(SpaceShare* share, std::vector<Task*>* dropped);
  // Waits until no SM works for a dropped share; bounded, since what runs is abandoned.
  void WaitQuiet(SpaceShare* share);
  // A dropped, quiet share may begin work again.
  void Revive(SpaceShare* share);

  // Calls `look` for each task of the share that has begun, with the lock held: it must be short.
  void ForEachBegun(const SpaceShare* share, const std::function<void(const Task&)>& look);

  // Preempts blocks that others wait for, and ends what has run too long. Returns when that may next be necessary, as
  // of now, or kNever.
  uint64_t Tick(uint64_t now_ns);

 private:
  // A cap that waits for its budget.
  struct Throttled {
    SpaceShare* share;
    ContextCap* context;  // null: the share's own
    Cap& cap() const { return context != nullptr ? context->cap : share->cap; }
  };

  // scheduler.cc
  uint64_t ChunkBlocks(const Task& task, uint64_t available) const;
  uint32_t PlacesFor(const Task& task) const;
  static uint64_t PieceBlocks(const Task& task);
  static uint32_t UrgencyOf(const Task& task);
  void CountQueued(Task* task, bool queued);
  static void CountHeldUp(Task* task);
  void Enqueue(Task* task);
  void Dequeue(Task* task);
  RescheduleRequest Begin(SmState& sm, SpaceShare* share, Chunk* chunk, uint64_t now_ns);
  void GiveOut(SmState& sm, Task* task, Chunk* chunk, uint64_t now_ns);
  void CountChunk(Task* task, uint64_t now_ns);
  void Occupy(SmState& sm, Task* task, Chunk* chunk, uint64_t now_ns);
  bool HasAllCores() const;
  void EnqueueIfWork(Task* task);
  uint64_t EstimateNs(const Task& task, uint64_t blocks) const;
  void Return(Task* task, const ChunkResult& result);
  void PassGridBarrierIfComplete(Task* task);
  void Discard(guest::BlockRun* run);
  void DiscardAll(Task* task);
  void TaskEnds(SpaceShare* share, uint64_t now_ns);
  void CountWanted(SpaceShare* share, uint64_t now_ns);
  bool IdleSmHasNext(uint64_t now_ns) const;
  bool TellOthers(uint64_t now_ns);
  bool OneWillLook() const;
  bool Wake();  // true if it has woken one, and only one, that slept

  // scheduler_parked.cc
  bool IsCrowded(const Task& task) const;
  static bool WillWait(const Task& task);
  void Park(Task* task, bool first);
  void Unpark(Task* task);
  void UnparkOneOfEach();
  void ParkAgain(const SpaceShare* picked);
  SpaceShare* PickBesideParked(const SmState& sm, uint64_t now_ns);

  // scheduler_many.cc
  uint64_t BatchBlocks(const Task& task, uint64_t available) const;
  void CountLevel(SmState& sm);
  void UncountLevel(SmState& sm);
  bool MoreUrgentWaits(const SpaceShare& share) const;
  void LookForRoom(const SpaceShare& share, bool goes_on, uint64_t now_ns, RescheduleRequest* request);
  void OfferAgain(SmState& sm, SpaceShare* share);
  void TellOfRest(SmState& sm);
  void CountOpenBatches(SpaceShare* share);
  bool TakeFromOther(SmState& sm, Chunk* chunk);
  bool Steal(SmState& sm, SmState& other, Chunk* chunk, uint64_t now_ns);

  // scheduler_limits.cc
  bool UpdateOffer(SpaceShare* share);
  bool ChangeOffer(SpaceShare* share);
  void TakeBackOffer(SpaceShare* share);
  void ApplyPercentage(SpaceShare* share);
  void HoldCapped(SpaceShare* share);
  void ReleaseHeld(ContextCap* context);
  void Spend(const SmState& sm, uint64_t ran_ns, uint64_t now_ns);
  uint64_t WakeThrottled(uint64_t now_ns);
  void ForgetThrottled(const SpaceShare* share, const ContextCap* context);

  // scheduler_peers.cc
  PeerGroup* GroupFor(const SpaceShare& share);
  void JoinGroup(SpaceShare* share);
  void LeaveGroup(SpaceShare* share);
  void CountUsable(SpaceShare* share);
  double DemandOf(const PeerGroup& group) const;
  uint64_t OpenGroups(uint64_t now_ns);
  void HearUrgent(uint64_t now_ns);
  void JoinGroup(SmState& sm, uint64_t now_ns);
  void LeaveGroup(SmState& sm);
  static void SpendOfGroup(const SmState& sm, uint64_t ran_ns, uint64_t now_ns);
  bool TellOfRoom();
  void NoteDemand(uint64_t now_ns);
  void AdjustParts(uint64_t now_ns);
  bool MayBeUrged(const SmState& sm) const { return sm.group != nullptr && sm.group->band != 0; }

  // scheduler_stop.cc
  uint64_t GivesWayAtNs(const SmState& sm, uint64_t now_ns) const;
  uint64_t NextLookNs(const SmState& sm, uint64_t now_ns) const;
  uint64_t NextLookNs(uint64_t now_ns) const;
  const guest::GuestThread* MakeRoom(uint64_t now_ns);
  const guest::GuestThread* AskToStop(SmState& sm, guest::StopReason reason);
  void AbandonRunning(const SpaceShare* share);

  const Clock clock_;
  SchedulerLock mutex_;
  std::condition_variable_any quiet_;
  std::unique_ptr<SchedulingPolicy> policy_;
  std::vector<SpaceShare*> shares_;
  std::vector<Throttled> throttled_;
  uint64_t throttled_until_ns_ = kNever;  // of none of them the time has come before
  std::vector<SmState> sm_states_;
  std::vector<const guest::GuestThread*> to_interrupt_;  // the ticker's own
  uint32_t offered_ = 0;  // shares
  std::atomic<uint32_t> busy_{0};  // SMs with a task; written under the lock, read without it as a hint
  std::atomic<uint32_t> away_{0};  // SMs whose thread is away; likewise
  const uint32_t cores_;
  const bool many_;  // SMs that run side by side
  const uint64_t batch_ns_;  // that an SM takes at a time
  const uint32_t places_;  // of SMs
  RunningLevels running_levels_ = {};
  uint64_t looked_at_ns_ = 0;  // at all SMs
  uint32_t coming_ = 0;  // SMs
  bool unheard_ = false;  // something has been offered without a word to idle SMs
  uint64_t told_turn_ = 0;  // the policy's, that idle SMs have last been told of
  uint32_t told_epoch_ = 0;  // in which sleepers have last been woken by an SM that found nothing
  bool no_room_ = false;  // was found then, and nothing has come since
  uint32_t room_from_ = 0;  // MakeRoom's: the SM that it looks at first
  std::atomic<uint32_t> open_batches_{0};  // of all shares; a hint without the lock
  std::vector<SpaceShare*> parked_;  // that have parked tasks; always empty if each SM has a core
  std::vector<Task*> unparked_;  // UnparkOneOfEach's
  uint32_t since_parked_ = 0;  // chunks
  std::atomic<uint64_t> queued_tasks_{0};  // written under the lock, read without it as a hint
  std::atomic<bool> shares_cores_{false};
  TimePeers* peers_ = nullptr;
  std::vector<std::unique_ptr<PeerGroup>> groups_;  // while there are peers: of all shares
  std::vector<PeerGroup*> said_;  // in the order in which the peers were told
  bool says_busy_ = false;  // what was said last holds for longer
  uint64_t demand_at_ns_ = 0;
  uint64_t adjusted_at_ns_ = 0;
  std::atomic<uint32_t> restricted_{0};  // shares that may not use all SMs; likewise
  IdleGate gate_;
  LookTimer* const ticker_;
  BlockPool* const pool_;
};

}  // namespace tutti::device::cpu
