// Unlike on a GPU, an SM's thread shares its core with the clients: their threads submit the work that the device runs,
// and need only microseconds between two kernels. So the thread asks for long slices and raises its nice value a
// little: a client that wakes up then preempts it at once, and need not wait, as beside a thread of the same weight,
// until the kernel's scheduler has compensated for the last few microseconds it ran.
#include "device/cpu/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
#include "cuda/result.h"
#include "device/cpu/cpu_space.h"
#include "device/cpu/exec/fault_report.h"
#include "device/cpu/schedule/sm_thread.h"
#include "os/cores.h"
#include "os/memory_nodes.h"
#include "os/thread.h"
#include "os/time_slice.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kLeastSpinNs = 5'000;
constexpr uint64_t kMostSpinNs = 200'000;
constexpr uint64_t kSliceNs = 10'000'000;  // a thread that wakes up, above all a client's, goes first
constexpr uint64_t kPureSpinNs = 20'000;  // then it yields in between
constexpr uint64_t kStolenNs = 50'000;  // between two looks at the clock: the core is wanted

void RunPiece(const void* transfer, uint64_t piece) { static_cast<const Transfer*>(transfer)->RunPiece(piece); }

const std::shared_ptr<const std::string>& TransferName() {
  static const auto* const name = new std::shared_ptr<const std::string>(new std::string("copy"));
  return *name;
}

}  // namespace

Worker::Worker(uint32_t device, uint32_t sm, uint32_t nice, std::vector<int> processors, Scheduler* scheduler,
               BlockPool* pool, IdleShared* idle, SmCores* cores, uint32_t number)
    : device_(device),
      sm_(sm),
      nice_(nice),
      processors_(std::move(processors)),
      scheduler_(scheduler),
      pool_(pool),
      idle_(idle),
      cores_(cores),
      number_(number) {
  scheduler->sm(sm).thread = &guest_;
  thread_ = os::StartThread(fmt::format("tutti-sm{}.{}", device, sm), [this] { Loop(); });
}

void Worker::RequestStop() {
  stopping_ = true;
  scheduler_->gate().Advance();
}

Worker::~Worker() { thread_.join(); }

void Worker::Loop() {
  os::StayOn(processors_);  // before it touches memory that it keeps
  os::ExpectMoves();
  const guest::GuestThreadScope scope(&guest_);
  cores_->Begins(number_, guest_.tid);
  const SmThread sm_thread(scheduler_, sm_);
  os::RequestTimeSlice(kSliceNs);
  os::BeNicer(nice_);
  SmState& sm = scheduler_->sm(sm_);
  run_ = pool_->Get();
  while (!stopping_.load(std::memory_order_relaxed)) {
    Chunk chunk;
    uint32_t seen = 0;
    uint64_t retry_at_ns = kNever;
    if (scheduler_->Take(sm, &chunk, &seen, &retry_at_ns)) {
      if (idle_since_ns_ != 0) EndIdleness(chunk.begin_ns);
      chunk.has_woken ? cores_->HasWoken(number_) : cores_->Runs(number_);
      RunChunk(chunk);
      PollRings();
    } else {
      Idle(seen, retry_at_ns);
    }
  }
  pool_->Put(run_);
}

void Worker::RunChunk(const Chunk& chunk) {
  if (chunk.may_be_long) LookAway();
  const guest::KernelDescriptor* const code = CodeOf(chunk);
  ChunkResult result = RunBlocks(chunk);
  NoteHeld();
  if (guest_.WasToldTo(guest::StopReason::kTimeLimit)) ReportTimeLimit(chunk);
  result.end_ns = NowNs();
  result.stolen_ns = StolenFrom(chunk, result.end_ns);
  Learn(chunk, result, code);
  if (trace_.enabled()) Record(chunk, result);
  CpuSpace* const space = chunk.task->share->space;
  CpuOperation* const operation = chunk.task->operation;
  if (!scheduler_->Finish(scheduler_->sm(sm_), chunk, result)) return;  // the Space may be destroyed from here on
  space->TaskDone(operation);
  scheduler_->Release(scheduler_->sm(sm_));
}

// One that was shorter has hardly lost its core: whoever gets that keeps it for longer.
uint64_t Worker::StolenFrom(const Chunk& chunk, uint64_t now_ns) {
  constexpr uint64_t kShortNs = 200'000;
  const uint64_t wall_ns = now_ns - chunk.begin_ns;
  if (!scheduler_->shares_cores()) {
    stolen_.Forget();
    return 0;
  }
  return wall_ns < kShortNs ? 0 : std::min(stolen_.Take(now_ns), wall_ns);
}

// Call it while the client's blocks count as running: once the client has ended, nobody looks at this SM any more.
void Worker::NoteHeld() {
  if (holds_much_ || run_->held_bytes() <= BlockPool::kLittleBytes) return;
  holds_much_ = true;
  pool_->NoteMuchHeld();
}

ChunkResult Worker::RunBlocks(const Chunk& chunk) {
  ChunkResult result;
  piece_end_ = 0;
  if (chunk.resumed != nullptr) {
    if (RunBlock(chunk, chunk.resumed, &result)) pool_->Put(chunk.resumed);
    return result;
  }
  Batch& batch = scheduler_->sm(sm_).batch;
  for (Batch::Blocks piece(chunk.first, chunk.piece_end); piece.first < piece.second; piece = batch.TakePiece()) {
    if (RunInOrder(chunk, piece, &result)) continue;
    result.rest_end = batch.TakeRest().second;
    break;
  }
  return result;
}

// False if the chunk ends here: what is left of it begins at result->rest_begin.
bool Worker::RunInOrder(const Chunk& chunk, Batch::Blocks piece, ChunkResult* result) {
  piece_end_ = piece.second;
  bool prepared = false;  // run_, for a block of this piece that has finished
  for (uint64_t index = piece.first; index < piece.second;) {
    if (prepared && run_->HasNewest()) {
      run_->PrepareNext(index);
    } else if (!PrepareBlock(chunk, index)) {
      result->rest_begin = BlockOrder::kNone;  // the client has failed: nothing of it goes on
      return false;
    }
    run_->GoOnTo(piece.second);
    const uint64_t finished_before = result->finished;
    prepared = chunk.task->is_kernel;
    guest::BlockRun* const run = run_;
    const bool is_free = RunBlock(chunk, run, result);
    const bool has_finished = result->finished != finished_before;
    result->finished += run->index() - index;
    index = result->rest_begin = run->index() + 1;
    if (!is_free) {
      run->GoOnTo(index);  // when it resumes, the others are not its own any more
      run_ = pool_->Get();
      prepared = false;
    }
    if (!has_finished || guest_.stop.load(std::memory_order_relaxed) != guest::StopReason::kNone) return false;
  }
  return true;
}

bool Worker::PrepareBlock(const Chunk& chunk, uint64_t index) {
  const Status ready = chunk.task->is_kernel ? run_->Prepare(chunk.task->kernel, index, sm_)
                                             : run_->PrepareCall(&RunPiece, &chunk.task->transfer, index);
  if (!ready) {
    const int status = ready.error().code != 0 ? ready.error().code : static_cast<int>(cuda::CUDA_ERROR_OUT_OF_MEMORY);
    ReportFault(chunk, {.status = status, .report = ready.error().text});
  }
  return ready.has_value();
}

// True if the run is free again; false if it resumes later.
bool Worker::RunBlock(const Chunk& chunk, guest::BlockRun* run, ChunkResult* result) {
  result->seen_ended = chunk.task->order.ended();
  guest::LeaveReason leave = run->Run(&guest_);
  if (leave == guest::LeaveReason::kYielded) leave = RunThroughYields(chunk, run, result);
  switch (leave) {
    case guest::LeaveReason::kFinished: ++result->finished; return true;
    case guest::LeaveReason::kFault:
    case guest::LeaveReason::kSignal:
      ReportFault(chunk, DescribeFault(run->running_block(), guest_.fault));
      run->GiveUp();
      return true;
    case guest::LeaveReason::kStopped:
      if (!guest::GoesOnLater(guest_.stop.load(std::memory_order_relaxed))) {
        run->GiveUp();
        return true;
      }
      break;
    case guest::LeaveReason::kYielded: result->yielded = true; break;
    case guest::LeaveReason::kGridBarrier: result->at_grid_barrier = true; break;
    case guest::LeaveReason::kRequest:  // BlockRun has performed it
    case guest::LeaveReason::kNewerCode:  // ... and has begun anew
    case guest::LeaveReason::kClusterBarrier:  // ClusterRun sees it, no worker
      break;
  }
  result->suspended = run;
  return false;
}

// The block has yielded. One that waits for memory gives up the SM only if something else can run.
guest::LeaveReason Worker::RunThroughYields(const Chunk& chunk, guest::BlockRun* run, ChunkResult* result) {
  guest::LeaveReason leave = guest::LeaveReason::kYielded;
  for (bool looks = !chunk.may_be_long;; looks = false) {
    const bool has_rest = run->index() + 1 < piece_end_ || scheduler_->sm(sm_).batch.left() != 0;
    if (leave != guest::LeaveReason::kYielded || scheduler_->ShouldGiveWay(*chunk.task, run->index(), has_rest))
      return leave;
    if (looks) LookAway();  // for an unknown time
    CpuRelax();
    result->seen_ended = chunk.task->order.ended();
    leave = run->Run(&guest_);
  }
}

void Worker::ReportFault(const Chunk& chunk, Fault fault) { chunk.task->share->space->Fail(device_, std::move(fault)); }

void Worker::ReportTimeLimit(const Chunk& chunk) {
  chunk.task->share->counters->Add(metrics::Counter::time_limit_hits);
  const std::string& kernel = *chunk.task->operation->kernel->name;
  ReportFault(chunk, {.status = cuda::CUDA_ERROR_LAUNCH_TIMEOUT,
                      .report = fmt::format("kernel {} has run longer than its limit of {:g} ms{}", kernel,
                                            static_cast<double>(chunk.kernel_limit_ns) / 1e6,
                                            chunk.task->is_quick ? ", which is longer for its first launches" : ""),
                      .kernel = kernel});
}

// The code that its blocks begin with, or its block has begun with; null: a copy.
const guest::KernelDescriptor* Worker::CodeOf(const Chunk& chunk) {
  if (!chunk.task->is_kernel) return nullptr;
  return chunk.resumed != nullptr ? &chunk.resumed->descriptor() : chunk.task->kernel.Newest();
}

void Worker::Learn(const Chunk& chunk, const ChunkResult& result, const guest::KernelDescriptor* code) {
  const uint64_t ran_ns = result.end_ns - chunk.begin_ns;
  if (result.yielded || result.finished != 0) chunk.task->habits->LearnWait(result.yielded);
  if (chunk.resumed == nullptr && result.suspended == nullptr && result.finished != 0) {
    LearnTime(*chunk.task, code, ran_ns, result.finished);
  } else if (ran_ns > chunk.task->habits->ns.load(std::memory_order_relaxed)) {
    LearnTime(*chunk.task, code, ran_ns, result.finished + 1);  // a block that takes longer than thought
  }
}

void Worker::Record(const Chunk& chunk, const ChunkResult& result) {
  const KernelInstance* const kernel = chunk.task->operation->kernel;
  trace_.Add({.label = chunk.task->share->space->label(),
              .kernel = kernel != nullptr ? kernel->name : TransferName(),
              .begin_ns = chunk.begin_ns,
              .end_ns = result.end_ns,
              .blocks = static_cast<uint32_t>(result.finished * chunk.task->run_blocks)});
}

bool Worker::PollRings() {
  return idle_->has_work.load(std::memory_order_acquire) && idle_->work.poll && idle_->work.poll();
}

// Lets another thread poll the rings while this SM is busy. What it still finds there is for others, who may sleep.
void Worker::LookAway() {
  if (!idle_->has_work.load(std::memory_order_acquire) || !idle_->work.leave) return;
  const SmAbsence absence;
  idle_->work.leave();
}

void Worker::Idle(uint32_t seen, uint64_t retry_at_ns) {
  if (const uint32_t generation = pool_->generation(); generation != generation_) {
    generation_ = generation;
    run_->Release();
    holds_much_ = false;
  }
  if (stopping_) return;  // looked at after `seen`: else the last wake-up could be missed
  if (idle_since_ns_ == 0) idle_since_ns_ = NowNs();
  if (Spin(seen, retry_at_ns) || Drowse(seen, retry_at_ns)) return;
  // The first device alone serves the doorbells: one ring should wake one worker, not one of every device.
  const bool has_rings = idle_->has_work.load(std::memory_order_acquire), serves = device_ == 0 && has_rings;
  if (serves && idle_->work.arm && idle_->work.arm()) return;
  if (!serves && has_rings && idle_->work.leave) idle_->work.leave();  // it polled while it was spinning
  cores_->Sleeps(number_);
  const uint64_t sleeps_at_ns = NowNs();
  const IdleGate::Woken woken = scheduler_->gate().Sleep(seen, retry_at_ns, !scheduler_->restricted());
  stolen_.Slept(NowNs() - sleeps_at_ns);
  cores_->Runs(number_);
  if (serves && idle_->work.woke) idle_->work.woke();
  // Also one that sleeps since before there were rings: when they came, others may have been woken in its place, and
  // nobody else is told of this one.
  if (woken.by_doorbell) ServeDoorbells();
}

// The gate reports each edge once, so look again before trusting the next one.
void Worker::ServeDoorbells() {
  if (!idle_->has_work.load(std::memory_order_acquire)) return;
  constexpr int kMostRounds = 8;
  pollfd doorbells{idle_->work.doorbell_epoll_fd, POLLIN, 0};
  for (int round = 0; round < kMostRounds; ++round) {
    if (idle_->work.rang) idle_->work.rang();
    if (poll(&doorbells, 1, 0) <= 0) return;
  }
}

void Worker::EndIdleness(uint64_t now_ns) {
  LearnIdleTime(now_ns - std::min(std::exchange(idle_since_ns_, 0), now_ns));
  if (scheduler_->shares_cores()) stolen_.Take(now_ns);  // it had no work: what others ran meanwhile is nobody's loss
}

// What spinning would have found, had it gone on: so that it begins again where work has become quick to come.
void Worker::LearnIdleTime(uint64_t idle_ns) {
  spin_ns_ = std::max(spin_ns_ / 2, kLeastSpinNs);
  if (idle_ns <= kMostSpinNs) spin_ns_ = std::min(std::max(spin_ns_, 2 * idle_ns), kMostSpinNs);
}

void Worker::LetOthersRun() {
  sched_yield();
  cores_->Runs(number_);
}

// Spins as long as work has lately come soon, and polls the rings meanwhile, if few others do.
bool Worker::Spin(uint32_t seen, uint64_t retry_at_ns) {
  const uint64_t begin_ns = NowNs();
  if (idle_->lookers.fetch_add(1) >= idle_->most_lookers && !idle_->IsUnwatched(begin_ns)) {
    idle_->lookers.fetch_sub(1);
    return false;
  }
  IdleGate& gate = scheduler_->gate();
  gate.spinners.fetch_add(1);
  bool found = false;
  for (uint64_t now_ns = begin_ns; !found && now_ns - idle_since_ns_ < spin_ns_; now_ns = NowNs()) {
    idle_->polled_ns.store(now_ns, std::memory_order_relaxed);
    for (int i = 0; i < 8 && !found; ++i) {
      found = gate.epoch() != seen || PollRings();
      CpuRelax();
    }
    found = found || now_ns >= retry_at_ns;
    if (now_ns - begin_ns > kPureSpinNs) LetOthersRun();
  }
  gate.spinners.fetch_sub(1);
  idle_->lookers.fetch_sub(1);
  return found;
}

// Beside one that polls. In short kernels of all SMs the others would spend more time waking up than working.
bool Worker::Drowse(uint32_t seen, uint64_t retry_at_ns) {
  if (idle_->drowsers.fetch_add(1) >= idle_->most_drowsers) {
    idle_->drowsers.fetch_sub(1);
    return false;
  }
  const bool has_rings = idle_->has_work.load(std::memory_order_acquire);
  if (has_rings && idle_->work.leave) idle_->work.leave();  // it has polled, and does not any more
  IdleGate& gate = scheduler_->gate();
  const uint64_t begin_ns = NowNs();
  uint64_t last_ns = begin_ns;
  bool looks = false;  // in the place of one that has got work, and whose chunk is no short one, or that has no core
  const auto is_over = [&, rounds = 0]() mutable {
    CpuRelax();
    if (++rounds % 8 != 0) return false;
    const uint64_t now_ns = NowNs();
    looks = gate.HasCore(last_ns, now_ns);
    if (looks) return true;
    if (now_ns - begin_ns > kPureSpinNs) LetOthersRun();
    if (now_ns - idle_since_ns_ >= spin_ns_ || now_ns - std::exchange(last_ns, now_ns) > kStolenNs) return true;
    looks = now_ns >= retry_at_ns || (has_rings && idle_->IsUnwatched(now_ns));
    return looks;
  };
  const bool woken = gate.Drowse(seen, !scheduler_->restricted(), is_over);
  idle_->drowsers.fetch_sub(1);
  return woken || looks;
}

}  // namespace tutti::device::cpu
