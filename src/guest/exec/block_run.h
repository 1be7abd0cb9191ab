// One running block: its state, its warps, their stacks and barriers. A worker enters it with Run; it can be left and
// re-entered any number of times, by different workers, until it has finished or is given up.
//
// Blocks of a cluster of several run together on one thread, by turns (cluster_run.h). For whoever prepares, runs and
// keeps them they are one BlockRun: that of the first block, which leads the others.
//
// A kernel without yield points runs as one context that executes all warps one after the other. A kernel with them has
// one context (fiber) per warp; a warp that waits switches directly to the next one that can run.
//
// A block that finds newer code of its kernel while it has written nothing that others can see may begin anew in that:
// to them it is as if it had only begun now.
//
// Not thread-safe: one worker at a time. What is marked "on the guest's stack" is called by the services only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "guest/cpu/kernel_abi.h"
#include "guest/exec/block_row.h"
#include "guest/exec/guest_buffer.h"
#include "guest/exec/guest_stack.h"
#include "guest/exec/guest_thread.h"
#include "guest/exec/kernel_launch.h"
#include "guest/exec/last_errors.h"
#include "guest/exec/standing_runs.h"
#include "guest/exec/warp_barrier.h"

namespace tutti::guest {

class ClusterRun;

inline constexpr uint32_t kMaxWarps = 32;

// What a service asks the worker to do on the worker's own stack, where it may lock and allocate.
struct ServiceRequest {
  enum class Kind : uint32_t { kPrint, kAllocate, kRelease, kAssert, kSetCondition, kDeviceRuntime } kind;
  uint32_t warp;
  uint32_t lane;
  uint64_t arguments[4];
  uint64_t result;
};

class BlockRun final : public GuestMemory {
 public:
  BlockRun();
  ~BlockRun() override;
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  // Makes it the `index`th block or cluster (KernelLaunch::runs) of a launch, or the `index`th call of a function,
  // ready to Run. `launch` and `argument` must outlive the run.
  Status Prepare(const KernelLaunch& launch, uint64_t index, uint32_t sm);
  // The same, cheaper, for another index of the launch and SM that it was last prepared for, and that has finished, as
  // long as it HasNewest: most of Prepare is the same for all blocks of a launch.
  void PrepareNext(uint64_t index);
  // Its code is what blocks of its launch begin with now.
  bool HasNewest() const { return descriptor_ == launch_->Newest(); }
  Status PrepareCall(void (*function)(const void*, uint64_t), const void* argument, uint64_t index);
  // Since it was prepared: Run goes on to the indices below `end`, in their order, each as PrepareNext makes it ready,
  // where a block is one context: then none has to be left and entered. It stops after the one that is running if the
  // thread was asked to, or there is newer code; code that goes through a row of the grid by itself (block_row.h) when
  // it has done that, or is interrupted. index() says how far it has come; those before have finished.
  void GoOnTo(uint64_t end);

  // Runs the guest on the calling thread (which has a GuestThreadScope) until it is left, and returns why. Requests
  // have been performed already.
  LeaveReason Run(GuestThread* thread);
  // The block was left and will not be re-entered: drops what is on its stacks.
  void GiveUp();

  // The memory that an idle run holds for its next block.
  uint64_t held_bytes() const;
  uint64_t held_mappings() const;
  // Frees that memory. The run has finished, or was given up.
  void Release();

  const KernelLaunch* launch() const { return launch_; }
  const KernelDescriptor& descriptor() const { return *descriptor_; }  // of a kernel: the code that it began with
  uint64_t index() const { return index_; }
  // The block of the cluster whose code was running last; without a cluster itself.
  const BlockRun& running_block() const;
  // Of a kernel: what its code sees of the block.
  const BlockState& state() const { return block_; }
  // The one whose code was running last.
  uint32_t running_warp() const { return running_; }
  // Coordinates of a thread in the block.
  void ThreadOf(uint32_t warp, uint32_t lane, uint32_t thread[3]) const;
  // What the guest was left for.
  FaultKind KindOf(const FaultRecord& fault) const;
  // Releases the warps that wait at the grid's barrier.
  void PassGridBarrier();

  // By ClusterRun, which is one of these blocks' or is running them.
  struct InCluster {
    ClusterRun* cluster;
    uint8_t* view;
    uint8_t* first_view;
  };
  Status PrepareAsMember(const KernelLaunch& launch, uint64_t block, uint32_t sm, const InCluster& place);
  void PrepareNextAsMember(uint64_t block);
  LeaveReason RunAlone(GuestThread* thread);
  // Its last warp waits, and others have been released since.
  void GoOnWithRunnable();
  void GiveUpAlone();
  void PassGridBarrierAlone();
  bool has_ended() const { return unfinished_ == 0; }
  bool CanRun() const { return runnable_ != 0; }
  bool IsAtGrid() const { return at_grid_ != 0 && at_grid_ == unfinished_; }
  uint64_t own_bytes() const { return stacks_.bytes() + shared_.bytes() + local_.bytes(); }
  uint64_t own_mappings() const { return 2 * uint64_t{stacks_.count()} + 2; }

  // What PTX can name: the client's window, the block's shared and local memory, its parameters. Not the stacks: they
  // are not cleared between clients.
  bool Read(uint64_t address, void* out, size_t bytes) const override;

  // Async-signal-safe.
  bool HasStackLeft(uint64_t stack_pointer, size_t bytes) const {
    const auto low = reinterpret_cast<uint64_t>(stacks_.low(running_));
    return stack_pointer >= low + bytes && stack_pointer <= low + stacks_.stack_bytes();
  }
  bool IsStackGuard(uint64_t address) const { return stacks_.IsGuard(address); }
  // By the handler that has interrupted its code: that begins no further block by itself. Async-signal-safe.
  void EndRow() { row_.EndHere(); }

  // On the guest's stack. Between these two our own code runs and is not preempted; a pending request takes effect at
  // the end.
  void BeginService();
  void BackToGuestCode();
  void LeaveAsAsked();
  GuestThread* thread() const { return thread_; }
  void** context_of_running_fiber() { return &fibers_[running_].context; }
  WarpBarriers& barriers() { return barriers_; }
  void Release(uint32_t warps) {
    runnable_ |= warps;
    fruitless_yields_ = 0;
    releases_ += awaits_writes_ ? 1 : 0;
  }
  // Called in the warp that completes a barrier of the block: makes all warps runnable, in ascending or descending
  // order (BarrierMode).
  void GoOnInOrder(uint32_t released, bool downwards);
  void WaitForRelease();  // makes the running warp not runnable and switches away until it is released
  void YieldWarp();  // lets other warps, then other blocks run
  void BeginAnewIfItCan();  // returns if it cannot
  void AwaitWrites();  // GuestServices::await_writes
  void ArriveAtGrid(uint32_t warp);
  ClusterRun* cluster() const { return cluster_; }  // null: the block's only
  uint64_t Perform(const ServiceRequest& request);
  [[noreturn]] void Fail(const FaultRecord& fault);

  // Whose code runs on the guest's stack. A member of the block and not of the thread, because a block that is
  // preempted on its way into a service resumes on another thread. Written by that code and by the signal handlers that
  // interrupt it.
  std::atomic<GuestCode> code{GuestCode::kService};

  BlockRun* next = nullptr;  // in a list of standing or free runs
  // While it is parked or preempted: for StandingRuns only.
  struct Standing {
    StandingRuns::Kind kind = StandingRuns::Kind::kReady;
    uint32_t position = 0;
    uint64_t seen = 0;
    BlockRun* previous = nullptr;
  } standing;

 private:
  struct Fiber {
    void* context = nullptr;
    void* sanitizer = nullptr;
    BlockRun* run = nullptr;
    bool started = false;
  };

  Status PrepareOne(const KernelLaunch& launch, uint64_t block, uint32_t sm, const InCluster& place);
  void MoveTo(uint64_t index);
  void SetLanes();
  void OpenRow();
  void NoteProgress();
  bool GoOn();
  Status BeginAnew();
  void BeginToWrite();
  void Rewind();  // resets what running a block has changed: all lanes present, no barrier reached
  void PrepareFibers(uint32_t count);
  void SwitchTo(uint32_t fiber);
  void LeaveWithoutRunnable(const char* mistake);
  uint32_t NextRunnable() const;
  void PerformRequest();
  uint64_t CallRuntime(uint32_t number, uint64_t words);
  uint8_t* Local(uint64_t address, size_t bytes) const;
  [[noreturn]] void FinishFiber();
  [[noreturn]] static void FiberMain(void* fiber);

  GuestThread* thread_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
  const KernelDescriptor* descriptor_ = nullptr;  // of launch_, when the block began
  uint64_t index_ = 0;
  uint64_t end_ = 0;  // of the indices that Run goes on to
  void (*function_)(const void*, uint64_t) = nullptr;
  const void* argument_ = nullptr;

  uint32_t running_ = 0;  // fiber
  uint32_t runnable_ = 0;  // fibers, running one included
  uint32_t unfinished_ = 0;  // fibers
  uint32_t fruitless_yields_ = 0;
  bool awaits_writes_ = false;  // some warp does
  uint32_t releases_ = 0;  // of warps by others, meanwhile
  bool downwards_ = false;  // order of the warps since the last barrier of the block
  uint32_t at_grid_ = 0;  // warps that wait at the grid's barrier
  ServiceRequest request_{};
  LastErrors last_errors_;

  BlockState block_{};
  BlockRow row_{&block_};
  WarpState warps_[kMaxWarps];
  Fiber fibers_[kMaxWarps];
  WarpBarriers barriers_;
  GuestStacks stacks_;
  GuestBuffer shared_;
  GuestBuffer local_;
  uint64_t owner_ = 0;
  ClusterRun* cluster_ = nullptr;  // that it is a block of
  std::unique_ptr<ClusterRun> led_;  // kept for the next cluster that it leads
};

}  // namespace tutti::guest
