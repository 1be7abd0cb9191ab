// A client's Space on a GPU: its executor, memory, modules and streams.
//
// One lock guards the streams; it is held for the submission or completion of a record, and never while something is
// waited for: the pilot (Harvest) serves all clients. What waits for the executor (memory, modules) is called on
// threads that may wait, or is done aside: that it comes at all, and releases.
//
// What cannot be done on a GPU yet is refused with NOT_SUPPORTED and the reason (docs/reference/compatibility.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/common/stream_order/stream_engine.h"
#include "device/device.h"
#include "device/gpu/aside.h"
#include "device/gpu/check_transfer.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/executor_source.h"
#include "device/gpu/gpu_arrays.h"
#include "device/gpu/gpu_conditions.h"
#include "device/gpu/gpu_memory.h"
#include "device/gpu/gpu_modules.h"
#include "device/gpu/gpu_operation.h"
#include "device/gpu/lent_streams.h"
#include "device/gpu/remains.h"
#include "device/gpu/suspicion.h"
#include "device/gpu/time_gate.h"
#include "device/gpu/torn_records.h"
#include "executor/protocol/dispatch_queue.h"

namespace tutti::device::gpu {

class Pilot;

class GpuSpace final : public Space, private StreamEngine::Owner {
 public:
  struct Accounts {
    MemoryAccount* account = nullptr;  // the device's
    MemoryAccount* host = nullptr;
    uint64_t host_bytes = 0;  // of which a client may have so many
    FenceStore* fences = nullptr;  // null: kernels are not fenced
    Jit* jit = nullptr;  // with fences
    bool moves_out = false;  // for code that cannot be: to an executor of its own
    std::shared_ptr<const void> place;  // given back with the Space
  };
  // Its executor comes later. What it is given outlives it.
  static Result<std::unique_ptr<Space>> Create(ExecutorSource* executors, const Limits& limits, Sink* sink,
                                               const Accounts& accounts, Pilot* pilot, Remains* remains);
  ~GpuSpace() override;

  const wire::WindowShape& window() const override { return executors_->shape(); }
  uint64_t window_base() const override { return memory_->base(); }
  int window_fd() const override { return held_->window.file.get(); }
  uint8_t* Reached(uint64_t address, uint64_t bytes) override { return memory_->Reached(address, bytes); }
  bool memory_waits() const override { return true; }
  Result<uint64_t> Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) override;
  Status Free(uint64_t address) override;
  Result<uint64_t> Word(uint64_t address, uint32_t bytes, uint64_t add) override;
  Result<uint64_t> Reserve(uint32_t device, uint64_t bytes, uint64_t alignment, uint64_t wish) override;
  Result<std::shared_ptr<SharedMemory>> Share(uint64_t address, AtEnd end) override;
  Result<std::shared_ptr<SharedMemory>> CreateHostMemory(uint64_t bytes) override;
  Status Map(uint64_t address, std::shared_ptr<SharedMemory> memory, bool writable) override;
  Status Unmap(uint64_t address, uint64_t bytes) override;
  Result<uint64_t> CreateArray(const wire::ArrayCreateBody& array) override;
  Result<uint64_t> CreateTexture(const wire::TextureCreateBody& texture) override;
  Status DestroyTexture(const wire::TextureDestroyBody& texture) override;
  Status CreateStream(uint32_t stream, const StreamOptions& options) override;
  Status DestroyStream(uint32_t stream) override;
  Status Launch(uint32_t stream, uint64_t ticket, const Grid& grid) override;
  Status Copy(uint32_t stream, uint64_t ticket, const wire::CopyBody& copy) override;
  Status Fill(uint32_t stream, uint64_t ticket, const wire::FillBody& fill) override;
  Status RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) override;
  Status Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) override;
  Status HostCall(uint32_t stream, uint64_t ticket, uint64_t token) override;
  Status Mark(uint32_t stream, uint64_t ticket) override;
  Status FreeInStream(uint32_t stream, uint64_t ticket, uint64_t address) override;
  Status HostCallDone(uint32_t stream, uint64_t token) override;
  Result<uint64_t> CreateCondition(uint32_t device) override;
  Status DestroyCondition(uint64_t condition) override;
  Status SetCondition(uint32_t stream, uint64_t ticket, uint64_t condition, uint32_t value) override;
  Status BeginConditional(uint32_t stream, uint64_t ticket, uint64_t condition, wire::ConditionalKind kind) override;
  Status BeginBody(uint32_t stream, uint64_t ticket, uint32_t number) override;
  Status EndConditional(uint32_t stream, uint64_t ticket, bool no_more) override;
  Result<LoadedModule> LoadModule(uint32_t device, std::span<const uint8_t> image) override;
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3]) override;
  Result<uint32_t> BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads,
                               uint32_t dynamic_shared_bytes) override;
  Status UnloadModule(uint32_t module) override;
  void Reset(uint32_t device) override;
  void SetLimits(const Limits& limits) override;
  Status LimitContext(uint32_t, uint32_t, double) override { return {}; }
  Status LimitHeap(uint32_t, uint64_t) override { return {}; }  // comes as a kernel limit, too
  Status SetKernelLimit(uint32_t device, int32_t limit, uint64_t bytes) override;
  void Abandon() override;
  metrics::ClientCounters& counters(uint32_t) override { return counters_; }

  // For the pilot. Completes what is done, and fails the Space if its executor has; true if there was something.
  bool Harvest(uint64_t now_ns, uint64_t computing);
  // The pilot's, too. Whether the client waits for anything, and for how long it has.
  bool has_work() const { return has_work_.load(std::memory_order_relaxed); }
  void CountWanted(uint64_t passed_ns) { counters_.Add(metrics::Counter::wanted_ns, passed_ns); }
  // Whether the executor has been given something that is not done.
  bool busy() const { return busy_.load(std::memory_order_relaxed); }
  // Of which some are kernels: they take turns with those of others. Copies do not.
  bool computes() const { return computes_.load(std::memory_order_relaxed); }
  // Counts the time that its work has had until now, where so many compute, at least one.
  void CountTime(uint64_t now_ns, uint64_t computing);
  // The executor's process may have ended: a look that costs a system call.
  void LookForEnd();
  // The pilot is about to sleep: the executor is to wake it, by what becomes readable; -1 if there is none.
  int AwaitWake();
  // When it is to be looked at again if nothing wakes the pilot before, or kNever: its limits let it have more then, or
  // end what does not end.
  uint64_t look_at_ns() const { return look_at_ns_.load(std::memory_order_relaxed); }
  bool is_below_normal() const { return gate_.below_normal(); }
  // Whether clients of normal priority have work on the GPU now: those below wait.
  void LetPrecede(bool normal_has_work);
  // It is readable.
  void Woken();

 private:
  // What its executor's driver may use for longer than it is there.
  struct Held {
    std::shared_ptr<const void> place;
    ExecutorSource::Window window;
    HostShare host;
    std::unique_ptr<GpuMemory> memory;
  };
  GpuSpace(ExecutorSource* executors, std::shared_ptr<Held> held, Sink* sink, const Accounts& accounts, Pilot* pilot,
           Remains* remains);
  Begun Start(Operation* operation) override;
  void Join(Operation* operation, const Stream& other) override;
  void NotePoint(const Stream& stream) override;
  bool Time(Operation* event) override;
  void Store(Operation* operation) override;
  void TaskOver(Operation*) override {}
  uint32_t ValueOf(uint32_t, uint64_t condition) const override { return conditions_.ValueOf(condition); }
  void SetValueOf(uint32_t, uint64_t condition, uint32_t value) override { conditions_.Set(condition, value); }
  int32_t DeviceError(uint32_t) const override { return error_; }

  Result<Stream*> FindStream(uint32_t number) const;
  Result<GpuOperation*> NewTask(uint64_t ticket, uint64_t argument_bytes = 0);
  template <typename Set>
  Status SubmitSimple(Operation::Kind kind, uint32_t stream, uint64_t ticket, Set set);
  uint64_t PiecesOf(int32_t limit) const;
  uint64_t TakenBy(int32_t limit, uint64_t bytes) const;
  Result<uint64_t> AskForLimit(int32_t limit, uint64_t bytes, uint32_t flags);
  bool NoteHeld(int32_t limit, uint64_t bytes, const Result<uint64_t>& held);  // true: no more than asked for
  uint64_t CountedFor(int32_t limit) const;
  // That could not be lowered while others' kernels ran. True: all are lowered.
  bool LowerLimitsLocked();
  void LowerLimits();
  void LowerLimitsAside();
  void ResetLimits();
  void ForgetLimits();
  bool Holds(uint64_t address, uint64_t bytes, bool writes);
  bool HoldsSide(const Extent& side, const wire::ArrayLayout::Rows& rows, bool writes);  // of a copy
  Status MayHaveArrays();
  void CheckCondition(uint64_t condition);
  bool IsSharedWord(const wire::FillBody& fill) const;
  void JoinTo(Operation* operation, uint32_t other);
  LentStreams::Lent& Lend(const Stream& stream);
  void Give(LentStreams::Lent& lent, const LentStreams::Held& record);
  bool MayGive(const LentStreams::Lent& lent, const LentStreams::Held& record) const;
  void GiveNow(LentStreams::Lent& lent, const LentStreams::Held& record);
  // As far as there is room. True if there may be more to give at once: the pilot serves others, too.
  bool GiveWhatIsHeld();
  // The next one that is done, an event with its time; null: there is none.
  Operation* TakeDone(LentStreams::Lent& lent);
  // Hands on what kernels have printed; false if the executor says what cannot be.
  bool TakeTexts();
  // With the lock, where the executor has something.
  void Charge(uint64_t now_ns, uint64_t computing, bool has_computed);
  void LookForEndlessKernel();
  uint64_t NextLookNs() const;
  // What the executor's streams do now, or as soon as it comes to it.
  bool ComputesNow() const;
  void FailLocked(const Error& error);
  // What a new one has of the last: there was none; what a reset keeps; all of it.
  enum class Takes : uint8_t { kNothing, kWhatStays, kAll };
  void AcquireExecutor(Takes takes, const CurrentExecutor::Replacement& replacing);
  Status HandOver(ExecutorLink& executor, Takes takes);
  Status HandOverLimits(ExecutorLink& executor);
  void NoteRefusal(const ExecutorLink& executor);
  // Of its executor. What a fenced kernel has recorded is kept for FailLocked.
  std::optional<Error> FailureLocked();
  void LookForEndLocked();
  void LoseExecutor(Error error);
  void ForgetWhatWasGiven();
  // The executor has ended, or `context_is_lost`: of a process that fails for all that have a place there. The client
  // goes on with another one, if that is right, else the executor is lost.
  void NoteEnd(const Error& why, bool context_is_lost);
  void NoteWhatWasUnderWay(std::span<const LeftRecord> left, bool context_is_lost);
  void NoteWhatWasGiven();
  // False: what the executor says cannot be.
  bool TakeLastMarks();
  std::vector<LeftRecord> WhatIsLeft() const;
  std::optional<Error> WhyNotElsewhere(const Error& why, bool context_is_lost, std::span<const LeftRecord> left) const;
  void BeginAgain(std::span<const LeftRecord> left);
  void GoOnElsewhere(const PlaceEnd& last, const Error& why, size_t again);
  // An executor that is to end is left for another one, with nothing lost: that is made ready, what the driver has is
  // awaited, and nothing more is given to it, and then the client has what it has in the other one.
  enum class Leaving : uint8_t { kNo, kLooks, kPrepares, kDrains, kWithdraws, kMoves };
  void LookWhetherToLeave();
  void PrepareToLeave();
  void MoveOver();
  void ArriveIn(std::shared_ptr<ExecutorLink> next);
  // So is one in which another's kernel holds the device: what has not begun there is withdrawn, and done in the next.
  bool MayWithdraw() const;
  bool IsStalled(uint64_t now_ns) const;
  uint64_t NextLookForStallNs() const;
  bool CanWithdraw() const;
  void AskWhetherItHasBegun(uint64_t now_ns);
  void LookForAnswer(uint64_t now_ns);
  void PrepareForStalled(uint64_t now_ns);
  bool HasMover();
  void AwaitMover();
  void LeaveWhatHasNotBegun();
  void GoOnIn(std::shared_ptr<ExecutorLink> next);
  void StayForNow();
  bool StaysBound(uint64_t now_ns);
  // To an executor of its own, and waits until it is there. Not on its own thread.
  Status MoveOut();
  void UnloadAside(const GpuModules::Unloaded& unloaded);
  void UnloadNext();
  bool IsAlone();
  std::optional<std::string> WhyBound() const;
  void Replace();
  void Recover();
  LentStreams NoStreams() const;
  void UnlockAndRunDeferred(std::unique_lock<std::mutex>* lock);

  metrics::ClientCounters counters_;
  std::atomic<bool> has_work_{false}, busy_{false}, computes_{false};
  std::atomic<uint64_t> look_at_ns_{kNever};
  std::atomic<uint64_t> kernel_limit_ns_{0};  // 0: none
  Sink* const sink_;
  Pilot* const pilot_;
  ExecutorSource* const executors_;
  Remains* const remains_;
  const std::shared_ptr<Held> held_;
  CurrentExecutor current_;
  GpuMemory* memory_ = nullptr;  // held_'s
  std::timed_mutex limits_mutex_;  // held while one is changed, for as long as that takes; before CurrentExecutor's
  std::map<int32_t, uint64_t> counted_limits_;  // what they take, by CUlimit, above the default; limits_mutex_
  // That the executor has. Written with limits_mutex_, in CurrentExecutor::WithOne or Using.
  std::map<int32_t, uint64_t> set_limits_;
  bool lowers_aside_ = false;  // limits_mutex_
  GpuModules modules_;
  std::mutex unloads_mutex_;
  std::deque<GpuModules::Unloaded> unloads_;  // that the executor has still loaded; the first is being asked for
  GpuArrays arrays_;
  GpuConditions conditions_;
  const bool moves_out_;

  std::mutex mutex_;
  StreamEngine engine_;
  LentStreams lent_;
  TimeGate gate_;
  uint64_t held_back_ = 0;  // records in all of them
  uint64_t ahead_ = 0;  // records given, not done
  uint64_t computing_ = 0;  // of these
  uint64_t charged_until_ns_ = 0;  // for their time
  uint32_t vain_wakes_ = 0;  // by the executor, since something was done
  uint64_t without_progress_ns_ = 0;  // of time on the GPU, with one of these
  std::shared_ptr<ExecutorLink> executor_;  // null: has not come yet, or is lost
  executor::DispatchWriter dispatch_;  // to it
  int32_t error_ = 0;  // sticky
  std::optional<Fault> fault_;  // why, if a fenced kernel has said so
  bool lost_ = false;  // until Reset
  uint32_t replaced_in_vain_ = 0;  // executors, since something was done, or one has lasted
  uint64_t replaced_ns_ = 0;
  Suspicion suspicion_;
  Leaving leaving_ = Leaving::kNo;
  std::shared_ptr<ExecutorLink> next_;  // that is ready
  uint64_t leave_at_ns_ = 0;  // kNo: not before; kLooks, kDrains, kWithdraws: not after
  uint64_t computed_ns_ = 0;  // when something was done last that computes, or there was none
  bool is_stalled_ = false;  // why it leaves
  uint32_t refused_moves_ = 0;  // since one has succeeded
  bool wants_out_ = false;  // of an executor that it shares
  bool muted_ = false;
  std::stop_source gone_;

  // Last: what they do uses the rest.
  std::unique_ptr<Aside> mover_;  // null: nothing has had to be withdrawn yet; the lock
  Aside aside_;
};

template <typename Set>
Status GpuSpace::SubmitSimple(Operation::Kind kind, uint32_t stream_number, uint64_t ticket, Set set) {
  std::unique_lock lock(mutex_);
  TUTTI_ASSIGN(Stream* const stream, FindStream(stream_number));
  TUTTI_TRY(StreamEngine::Admit(stream, kind));
  TUTTI_ASSIGN(Operation* const operation, engine_.NewOperation(kind, ticket));
  set(operation);
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

}  // namespace tutti::device::gpu
