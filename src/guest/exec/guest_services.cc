// Each service is our code on a guest's stack, so it may neither lock nor allocate: the block can be abandoned at any
// switch, and the stack is small. Anything more is passed to the worker as a request.
#include "guest/exec/guest_services.h"

#include <x86intrin.h>

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "guest/exec/block_run.h"
#include "guest/exec/cluster_run.h"

namespace tutti::guest {
namespace {

BlockRun& RunOf(WarpState* warp) { return *static_cast<BlockRun*>(warp->block->device); }

// A section in which the thread must not be preempted; checks at its end for a request that came meanwhile.
class ServiceScope {
 public:
  explicit ServiceScope(BlockRun& run) : run_(run) { run_.BeginService(); }
  ~ServiceScope() { run_.BackToGuestCode(); }

 private:
  BlockRun& run_;
};

void RequireWarpContexts(BlockRun& run) {
  if ((run.descriptor().flags & kYields) != 0) return;
  run.Fail({.kind = static_cast<uint32_t>(FaultKind::kLaunchFailed),
            .text = "barrier in a kernel that was compiled as one that has none"});
}

void RequireNamedBarrier(BlockRun& run, const WarpState* warp, uint32_t id, uint32_t threads) {
  if (id < kNamedBarriers && threads <= kMaxWarps * kWarpSize) return;
  run.Fail({.kind = static_cast<uint32_t>(FaultKind::kIllegalInstruction),
            .warp = warp->warp,
            .text = "barrier with an invalid number or thread count"});
}

void Arrive(BlockRun& run, const WarpBarriers::Arrival& arrival, bool downwards = false) {
  RequireWarpContexts(run);
  uint32_t released = 0;
  if (!run.barriers().Arrive(arrival, &released)) {
    if (arrival.wait) run.WaitForRelease();
  } else if (arrival.wait && run.barriers().IsOfBlock(arrival.threads)) {
    run.GoOnInOrder(released, downwards);
  } else {
    run.Release(released);
  }
}

void ArriveOrWait(BlockRun& run, const WarpBarriers::Arrival& arrival, BarrierMode mode) {
  if (mode != BarrierMode::kWait) {
    Arrive(run, arrival, mode == BarrierMode::kArriveAndWaitDown);
    return;
  }
  RequireWarpContexts(run);
  if (!run.barriers().Await(arrival.id, arrival.warp)) run.WaitForRelease();
}

bool Waits(BarrierMode mode) { return mode != BarrierMode::kArrive; }

void Barrier(WarpState* warp, uint32_t mask, uint32_t id, uint32_t threads, BarrierMode mode) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  RequireNamedBarrier(run, warp, id, threads);
  ArriveOrWait(
      run, {.id = id, .warp = warp->warp, .mask = mask, .live = warp->lanes, .threads = threads, .wait = Waits(mode)},
      mode);
}

void ClusterBarrier(WarpState* warp, uint32_t mask, BarrierMode mode) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  ArriveOrWait(
      run,
      {.id = kClusterBarrier, .warp = warp->warp, .mask = mask, .live = warp->lanes, .threads = 0, .wait = Waits(mode)},
      mode);
  if (mode == BarrierMode::kArrive && run.cluster() != nullptr) run.cluster()->CompleteBarrierIfDue();
}

void WarpGroupBarrier(WarpState* warp, uint32_t mask) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  const uint32_t* block = warp->block->block;
  const uint32_t threads = block[0] * block[1] * block[2], group = warp->warp / kWarpsOfGroup;
  const uint32_t here = std::min(threads - group * kWarpsOfGroup * kWarpSize, kWarpsOfGroup * kWarpSize);
  Arrive(run, {.id = kFirstWarpGroupBarrier + group,
               .warp = warp->warp,
               .mask = mask,
               .live = warp->lanes,
               .threads = here,
               .wait = true});
}

uint32_t BarrierReduce(WarpState* warp, uint32_t mask, uint32_t id, uint32_t threads, uint32_t op, uint32_t votes) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  RequireNamedBarrier(run, warp, id, threads);
  Arrive(run, {.id = id,
               .warp = warp->warp,
               .mask = mask,
               .live = warp->lanes,
               .threads = threads,
               .wait = true,
               .votes = votes});
  return run.barriers().outcome(warp->warp).Reduce(static_cast<BarrierReduction>(op));
}

uint32_t BarrierEnter(WarpState* warp, uint32_t mask, uint32_t id, uint32_t threads, uint32_t votes) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  RequireNamedBarrier(run, warp, id, threads);
  RequireWarpContexts(run);
  const uint32_t phase = run.barriers().phase(id);
  uint32_t released = 0;
  const bool complete = run.barriers().Arrive({.id = id,
                                               .warp = warp->warp,
                                               .mask = mask,
                                               .live = warp->lanes,
                                               .threads = threads,
                                               .wait = false,
                                               .votes = votes},
                                              &released);
  if (complete && run.barriers().IsOfBlock(threads)) {
    run.GoOnInOrder(released, false);
  } else if (complete) {
    run.Release(released);
  }
  return phase;
}

uint32_t BarrierPass(WarpState* warp, uint32_t mask, const uint32_t* ids, const uint32_t* phases, uint32_t blocks) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  WarpBarriers& barriers = run.barriers();
  for (;;) {
    uint32_t passed = 0, open = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
      const uint32_t id = ids[lane];
      RequireNamedBarrier(run, warp, id, 0);
      if (barriers.IsOver(id, phases[lane])) {
        passed |= 1u << lane;
      } else {
        open |= 1u << id;
      }
    }
    uint32_t released = 0;
    bool completed = false;
    const auto for_each_open = [open](auto&& body) {
      for (uint32_t ids_left = open; ids_left != 0; ids_left &= ids_left - 1)
        body(static_cast<uint32_t>(std::countr_zero(ids_left)));
    };
    for_each_open([&](uint32_t id) {
      uint32_t of_this = 0;
      completed |= barriers.LanesEnded(id, warp->warp, warp->lanes, &of_this);
      released |= of_this;
    });
    if (completed) {
      run.Release(released);
      continue;
    }
    if (passed != 0 || blocks == 0) return passed;
    for_each_open([&](uint32_t id) { barriers.Wait(id, warp->warp); });
    run.WaitForRelease();
    for_each_open([&](uint32_t id) { barriers.StopWaiting(id, warp->warp); });
  }
}

uint32_t BarrierOutcome(WarpState* warp, uint32_t id, uint32_t op) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  RequireNamedBarrier(run, warp, id, 0);
  return run.barriers().last_outcome(id).Reduce(static_cast<BarrierReduction>(op));
}

void Yield(WarpState* warp) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  run.YieldWarp();
}

void Fault(WarpState* warp, FaultKind kind, uint32_t lane, uint64_t address, uint32_t location) {
  BlockRun& run = RunOf(warp);
  run.code.store(GuestCode::kService, std::memory_order_relaxed);
  run.Fail({.kind = static_cast<uint32_t>(kind),
            .warp = warp->warp,
            .lane = lane,
            .location = location,
            .address = address});
}

void Mistake(WarpState* warp, WarpMistake what, uint32_t lane, uint32_t lanes, uint32_t location) {
  BlockRun& run = RunOf(warp);
  run.code.store(GuestCode::kService, std::memory_order_relaxed);
  run.Fail({.kind = static_cast<uint32_t>(FaultKind::kLaunchFailed),
            .warp = warp->warp,
            .lane = lane,
            .location = location,
            .lanes = lanes,
            .text = TextOf(what)});
}

int32_t Print(WarpState* warp, uint32_t lane, uint64_t format, uint64_t arguments) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  return static_cast<int32_t>(run.Perform({.kind = ServiceRequest::Kind::kPrint,
                                           .warp = warp->warp,
                                           .lane = lane,
                                           .arguments = {format, arguments, 0, 0},
                                           .result = 0}));
}

uint64_t Allocate(WarpState* warp, uint64_t bytes) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  return run.Perform({.kind = ServiceRequest::Kind::kAllocate,
                      .warp = warp->warp,
                      .lane = 0,
                      .arguments = {bytes, 0, 0, 0},
                      .result = 0});
}

void Release(WarpState* warp, uint64_t address) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  run.Perform({.kind = ServiceRequest::Kind::kRelease,
               .warp = warp->warp,
               .lane = 0,
               .arguments = {address, 0, 0, 0},
               .result = 0});
}

void AssertFail(WarpState* warp, uint32_t lane, uint64_t message, uint64_t file, uint32_t line, uint64_t function,
                uint32_t location) {
  BlockRun& run = RunOf(warp);
  {
    const ServiceScope scope(run);
    run.Perform({.kind = ServiceRequest::Kind::kAssert,
                 .warp = warp->warp,
                 .lane = lane,
                 .arguments = {message, file, line, function},
                 .result = 0});
  }
  Fault(warp, FaultKind::kAssert, lane, 0, location);
}

void SetCondition(WarpState* warp, uint32_t lane, uint64_t condition, uint32_t value, uint32_t location) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  const bool set = run.Perform({.kind = ServiceRequest::Kind::kSetCondition,
                                .warp = warp->warp,
                                .lane = lane,
                                .arguments = {condition, value, 0, 0},
                                .result = 0}) != 0;
  if (set) return;
  run.Fail({.kind = static_cast<uint32_t>(FaultKind::kLaunchFailed),
            .warp = warp->warp,
            .lane = lane,
            .location = location,
            .text = "cudaGraphSetConditional with a handle of no graph of this process on this device:",
            .has_value = true,
            .value = condition});
}

uint64_t DeviceRuntime(WarpState* warp, uint32_t lane, uint32_t function, uint64_t words) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  return run.Perform({.kind = ServiceRequest::Kind::kDeviceRuntime,
                      .warp = warp->warp,
                      .lane = lane,
                      .arguments = {function, words, 0, 0},
                      .result = 0});
}

void BeginAnew(WarpState* warp) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  run.BeginAnewIfItCan();
}

void AwaitWrites(WarpState* warp) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  RequireWarpContexts(run);
  run.AwaitWrites();
}

uint64_t GlobalTimer(WarpState*) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t Clock(WarpState*) { return __rdtsc(); }

uint32_t MayTouch(WarpState* warp, uint64_t address, uint64_t bytes, uint32_t writes) {
  const KernelLaunch& launch = *RunOf(warp).launch();
  return launch.reach_end == nullptr || launch.host->MayTouch(address, bytes, writes != 0) ? 1 : 0;
}

void GridBarrier(WarpState* warp, uint32_t) {
  BlockRun& run = RunOf(warp);
  const ServiceScope scope(run);
  if (!run.launch()->cooperative) {
    run.Fail({.kind = static_cast<uint32_t>(FaultKind::kLaunchFailed),
              .warp = warp->warp,
              .text = "grid barrier in a kernel that was not launched cooperatively"});
  }
  RequireWarpContexts(run);
  run.ArriveAtGrid(warp->warp);
}

}  // namespace

const char* TextOf(WarpMistake what) {
  switch (what) {
    case WarpMistake::kShuffle: return "shfl.sync names lanes that are elsewhere in the kernel";
    case WarpMistake::kVote: return "vote.sync names lanes that are elsewhere in the kernel";
    case WarpMistake::kMatch: return "match.sync names lanes that are elsewhere in the kernel";
    case WarpMistake::kRedux: return "redux.sync names lanes that are elsewhere in the kernel";
    case WarpMistake::kElect: return "elect.sync names lanes that are elsewhere in the kernel";
    case WarpMistake::kWarpBarrier: return "bar.warp.sync names lanes that are elsewhere in the kernel";
    case WarpMistake::kBarrierNumbers:
      return "lanes of a warp reduce at one barrier instruction and name different barriers";
  }
  return "operation that its warp cannot do";
}

const GuestServices kGuestServices = {
    .barrier = &Barrier,
    .barrier_reduce = &BarrierReduce,
    .yield = &Yield,
    .fault = &Fault,
    .print = &Print,
    .allocate = &Allocate,
    .release = &Release,
    .assert_fail = &AssertFail,
    .global_timer = &GlobalTimer,
    .clock = &Clock,
    .cluster_barrier = &ClusterBarrier,
    .mistake = &Mistake,
    .grid_barrier = &GridBarrier,
    .may_touch = &MayTouch,
    .barrier_enter = &BarrierEnter,
    .barrier_pass = &BarrierPass,
    .barrier_outcome = &BarrierOutcome,
    .set_condition = &SetCondition,
    .device_runtime = &DeviceRuntime,
    .warp_group_barrier = &WarpGroupBarrier,
    .begin_anew = &BeginAnew,
    .await_writes = &AwaitWrites,
};

}  // namespace tutti::guest
