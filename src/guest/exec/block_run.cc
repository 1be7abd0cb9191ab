#include "guest/exec/block_run.h"

#include <bit>
#include <cstring>

#include "base/checked.h"
#include "guest/exec/cluster_run.h"
#include "guest/exec/guest_services.h"
#include "guest/exec/guest_switch.h"
#include "guest/exec/sanitizers.h"

namespace tutti::guest {
namespace {

// Stack that services and signal handlers may use on top of the kernel's demand.
constexpr size_t kServiceStackBytes = 8 << 10;
constexpr size_t kCallStackBytes = 32 << 10;
// What must be left of the stack for a kernel to call a function: that function's frame, and services. A larger frame
// hits the guard page.
constexpr size_t kCalledFunctionBytes = kServiceStackBytes + kPreemptBytes + (16 << 10);

uint32_t FirstBits(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

}  // namespace

BlockRun::BlockRun() = default;

BlockRun::~BlockRun() {
  for (Fiber& fiber : fibers_) {
    if (fiber.sanitizer != nullptr) SanitizerDestroyFiber(fiber.sanitizer);
  }
}

uint64_t BlockRun::held_bytes() const { return own_bytes() + (led_ != nullptr ? led_->held_bytes() : 0); }

uint64_t BlockRun::held_mappings() const { return own_mappings() + (led_ != nullptr ? led_->held_mappings() : 0); }

void BlockRun::Release() {
  led_.reset();
  stacks_.Release();
  shared_.Release();
  local_.Release();
}

Status BlockRun::Prepare(const KernelLaunch& launch, uint64_t index, uint32_t sm) {
  index_ = index;
  if (launch.cluster_blocks() == 1) return PrepareOne(launch, index, sm, {});
  if (led_ == nullptr) led_ = std::make_unique<ClusterRun>(this);
  return led_->Prepare(launch, index, sm);
}

Status BlockRun::PrepareAsMember(const KernelLaunch& launch, uint64_t block, uint32_t sm, const InCluster& place) {
  return PrepareOne(launch, block, sm, place);
}

Status BlockRun::PrepareOne(const KernelLaunch& launch, uint64_t block, uint32_t sm, const InCluster& place) {
  const KernelDescriptor& kernel = *launch.Newest();
  const uint32_t warps = launch.warps();
  const bool yields = (kernel.flags & kYields) != 0;
  if (owner_ != launch.owner) {
    shared_.Clean();
    local_.Clean();
    owner_ = launch.owner;
  }
  TUTTI_TRY(stacks_.Require(yields ? warps : 1, kernel.stack_bytes + kServiceStackBytes + kPreemptBytes));
  if (place.view == nullptr) {
    TUTTI_TRY(shared_.Require(launch.shared_bytes()));
  }
  const uint64_t warp_local_bytes = uint64_t{kernel.local_bytes} * kWarpSize;
  TUTTI_TRY(local_.Require(warp_local_bytes * warps));

  launch_ = &launch;
  descriptor_ = &kernel;
  function_ = nullptr;
  cluster_ = place.cluster;
  uint8_t* const shared = place.view != nullptr ? place.view : shared_.data();
  uint32_t at[3], at_cluster[3];
  launch.BlockAt(block, at, at_cluster);
  const uint64_t reach_begin = launch.ReachBegin();
  block_ = BlockState{
                               // every member is named, so that none is zeroed first
      .services = &kGuestServices,
      .params = launch.params,
      .module_base = launch.module_base,
      .constants_base = launch.constants_base,
      .shared = shared,
      .shared_bytes = launch.shared_bytes(),
      .dynamic_shared_bytes = launch.dynamic_shared_bytes,
      .window_base = launch.window_base,
      .window_bytes = launch.window_bytes,
      .reach_base = reach_begin,
      .reach_bytes = launch.ReachEnd() - reach_begin,
      .grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
      .block = {launch.block[0], launch.block[1], launch.block[2]},
      .ctaid = {at[0], at[1], at[2]},
      .smid = sm,
      .nsmid = launch.sm_count,
      .cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
      .cluster_ctaid = {at_cluster[0], at_cluster[1], at_cluster[2]},
      .explicit_cluster = launch.explicit_cluster ? 1u : 0u,
      .cluster_slots = place.view != nullptr ? launch.cluster_blocks() : 0,
      .slot_bytes = place.view != nullptr ? 1u << kSlotShift : 0,
      .cluster_views = reinterpret_cast<uint64_t>(place.view != nullptr ? place.first_view : shared),
      .dynamic_shared_offset = launch.dynamic_shared_offset(),
      .gridid = launch.grid_id,
      .cooperative_workspace = launch.cooperative_workspace,
      .code = &kernel,
      .newest = launch.PlaceOfNewest(),
      .writes = 0,
      .ctaid_end = at[0] + 1,
      .device = this,
  };
  for (uint32_t w = 0; w < warps; ++w) {
    warps_[w] = WarpState{
        .block = &block_,
        .warp = w,
        .lanes = 0,
        .local = local_.data() + w * warp_local_bytes,
        .local_bytes = kernel.local_bytes,
        .reserved = 0,
        .stack_limit = reinterpret_cast<uint64_t>(stacks_.low(yields ? w : 0)) + kCalledFunctionBytes,
        .device = this,
    };
  }
  Rewind();
  return {};
}

void BlockRun::PrepareNext(uint64_t index) {
  if (cluster_ != nullptr) {
    index_ = index;
    return cluster_->PrepareNext(index);
  }
  MoveTo(index);
  Rewind();
}

void BlockRun::MoveTo(uint64_t index) {
  if (index == index_ + 1) {
    if (++block_.ctaid[0] == launch_->grid[0]) {
      block_.ctaid[0] = 0;
      if (++block_.ctaid[1] == launch_->grid[1]) {
        block_.ctaid[1] = 0;
        ++block_.ctaid[2];
      }
    }
  } else {
    launch_->BlockAt(index, block_.ctaid, block_.cluster_ctaid);
  }
  index_ = index;
  block_.reach_base = launch_->ReachBegin();
  block_.reach_bytes = launch_->ReachEnd() - block_.reach_base;
}

void BlockRun::PrepareNextAsMember(uint64_t block) {
  launch_->BlockAt(block, block_.ctaid, block_.cluster_ctaid);
  block_.reach_base = launch_->ReachBegin();
  block_.reach_bytes = launch_->ReachEnd() - block_.reach_base;
  Rewind();
}

void BlockRun::SetLanes() {
  const uint32_t last = launch_->warps() - 1;
  for (uint32_t w = 0; w < last; ++w) warps_[w].lanes = ~0u;
  warps_[last].lanes = FirstBits(launch_->threads() - last * kWarpSize);
}

void BlockRun::Rewind() {
  const bool yields = (descriptor_->flags & kYields) != 0;
  SetLanes();
  block_.writes = launch_->newest == nullptr ? 1 : 0;  // nothing to wait for: nothing better is to come
  awaits_writes_ = false;
  releases_ = 0;
  if (yields) barriers_.Reset(launch_->warps(), launch_->threads(), cluster_ != nullptr);
  last_errors_.Clear();
  PrepareFibers(yields ? launch_->warps() : 1);
}

Status BlockRun::PrepareCall(void (*function)(const void*, uint64_t), const void* argument, uint64_t index) {
  TUTTI_TRY(stacks_.Require(1, kCallStackBytes + kPreemptBytes));
  launch_ = nullptr;
  descriptor_ = nullptr;
  cluster_ = nullptr;
  function_ = function;
  argument_ = argument;
  index_ = index;
  PrepareFibers(1);
  return {};
}

void BlockRun::PrepareFibers(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    Fiber& fiber = fibers_[i];
    fiber.run = this;
    fiber.started = false;
    fiber.context = NewContext(stacks_.top(i), &FiberMain, &fiber);
    if (fiber.sanitizer == nullptr) fiber.sanitizer = SanitizerCreateFiber();
  }
  code.store(GuestCode::kService, std::memory_order_relaxed);
  running_ = 0;
  runnable_ = unfinished_ = FirstBits(count);
  fruitless_yields_ = 0;
  downwards_ = false;
  at_grid_ = 0;
  end_ = 0;
  row_.Begin();
}

void BlockRun::GoOnTo(uint64_t end) {
  end_ = end;
  if (function_ == nullptr) OpenRow();
}

// How far the code may go on by itself. Blocks of a cluster run by turns, and warps with contexts of their own too.
TUTTI_NO_SANITIZE void BlockRun::OpenRow() {
  constexpr uint32_t kOneByOne = kYields | kEndsLanes | kCooperative;
  if (!kAsyncLeave || cluster_ != nullptr || (descriptor_->flags & kOneByOne) != 0) return;
  const uint64_t of_row = launch_->grid[0] - block_.ctaid[0] - 1;
  const uint64_t wanted = end_ > index_ + 1 ? end_ - index_ - 1 : 0;
  row_.GoOn(static_cast<uint32_t>(of_row < wanted ? of_row : wanted));
}

// Its code has been left, or calls a service: index_ and ctaid say which block it is in.
TUTTI_NO_SANITIZE void BlockRun::NoteProgress() {
  const uint32_t ended = row_.NoteProgress();
  if (ended == 0) return;
  index_ += ended;
  last_errors_.Clear();
}

void BlockRun::GiveUp() {
  if (cluster_ == nullptr) return GiveUpAlone();
  cluster_->GiveUp();
}

void BlockRun::GiveUpAlone() {
  for (uint32_t left = unfinished_; left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(left));
    if (!fibers_[i].started) continue;
    SanitizerForgetStack(stacks_.low(i), stacks_.stack_bytes());
    if (fibers_[i].sanitizer != nullptr) SanitizerDestroyFiber(fibers_[i].sanitizer);
    fibers_[i].sanitizer = nullptr;
  }
  unfinished_ = runnable_ = 0;
}

TUTTI_NO_SANITIZE static LeaveReason EnterGuest(GuestThread* thread, void* fiber, [[maybe_unused]] void* sanitizer) {
  thread->entered.store(true, std::memory_order_relaxed);
  TUTTI_SANITIZER_SWITCH(sanitizer);
  tutti_guest_switch(&thread->own_context, fiber);
  thread->entered.store(false, std::memory_order_relaxed);
  if (thread->leave == LeaveReason::kSignal)
    TUTTI_SANITIZER_SWITCH(thread->own_fiber);  // a signal handler could not tell the sanitizer
  return thread->leave;
}

LeaveReason BlockRun::Run(GuestThread* thread) {
  return cluster_ == nullptr ? RunAlone(thread) : cluster_->Run(thread);
}

LeaveReason BlockRun::RunAlone(GuestThread* thread) {
  thread_ = thread;
  thread->run = this;
  for (;;) {
    const LeaveReason leave = EnterGuest(thread, fibers_[running_].context, fibers_[running_].sanitizer);
    if (function_ == nullptr) NoteProgress();
    if (leave == LeaveReason::kNewerCode) {
      if (BeginAnew()) continue;
      thread->fault = {.kind = static_cast<uint32_t>(FaultKind::kLaunchFailed), .text = "no memory to begin it anew"};
      return LeaveReason::kFault;
    }
    if (leave != LeaveReason::kRequest) return leave;
    PerformRequest();
    if (thread->stop.load(std::memory_order_relaxed) != StopReason::kNone) return LeaveReason::kStopped;
  }
}

TUTTI_NO_SANITIZE void BlockRun::FiberMain(void* raw_fiber) {
  auto* const fiber = static_cast<Fiber*>(raw_fiber);
  BlockRun* const run = fiber->run;
  fiber->started = true;
  do {
    run->BackToGuestCode();
    if (run->function_ != nullptr) {
      run->function_(run->argument_, run->index_);
    } else {
      const KernelDescriptor& kernel = *run->descriptor_;
      if ((kernel.flags & kYields) != 0) {
        kernel.run(&run->warps_[fiber - run->fibers_], 1);
      } else {
        kernel.run(run->warps_, run->launch_->warps());
      }
    }
    run->BeginService();
  } while (run->GoOn());
  run->FinishFiber();
}

// On the guest's stack, when a context has ended: true if it is to run the next index. Which thread this is may have
// changed since the context began.
TUTTI_NO_SANITIZE bool BlockRun::GoOn() {
  if (function_ == nullptr) NoteProgress();
  if (index_ + 1 >= end_ || cluster_ != nullptr) return false;
  if (thread_->stop.load(std::memory_order_relaxed) != StopReason::kNone) return false;
  if (function_ != nullptr) {
    ++index_;
    return true;
  }
  const uint32_t flags = descriptor_->flags;
  if ((flags & kYields) != 0 || !HasNewest()) return false;
  MoveTo(index_ + 1);
  row_.Begin();
  OpenRow();
  if ((flags & kEndsLanes) != 0) SetLanes();
  last_errors_.Clear();
  return true;
}

// What it is to go on to stays.
Status BlockRun::BeginAnew() {
  const uint64_t end = end_;
  GiveUpAlone();
  TUTTI_TRY(PrepareOne(*launch_, index_, block_.smid, {}));
  GoOnTo(end);
  return {};
}

TUTTI_NO_SANITIZE void BlockRun::BeginService() { ToServiceCode(*this); }

TUTTI_NO_SANITIZE void BlockRun::BackToGuestCode() { ToGuestCode(*this); }

TUTTI_NO_SANITIZE void BlockRun::LeaveAsAsked() { LeaveGuest(thread_, LeaveReason::kStopped); }

TUTTI_NO_SANITIZE void BlockRun::FinishFiber() {
  unfinished_ &= ~(1u << running_);
  runnable_ &= ~(1u << running_);
  if (unfinished_ == 0) {
    LeaveGuest(thread_, LeaveReason::kFinished);
  } else {
    Release(barriers_.WarpFinished(running_));
    if (cluster_ != nullptr) cluster_->CompleteBarrierIfDue();
    if (runnable_ == 0) {
      LeaveWithoutRunnable("barrier that no warp can complete");
    } else {
      SwitchTo(NextRunnable());
    }
  }
  __builtin_unreachable();  // nothing resumes a finished context
}

// After the switch back, which may be on another thread, nothing cached before is valid.
TUTTI_NO_SANITIZE void BlockRun::SwitchTo(uint32_t fiber) {
  Fiber& from = fibers_[running_];
  Fiber& to = fibers_[fiber];
  running_ = fiber;
  TUTTI_SANITIZER_SWITCH(to.sanitizer);
  tutti_guest_switch(&from.context, to.context);
}

uint32_t BlockRun::NextRunnable() const {
  if (downwards_) {
    const uint32_t below = runnable_ & FirstBits(running_);
    return 31 - static_cast<uint32_t>(std::countl_zero(below != 0 ? below : runnable_));
  }
  const uint32_t above = running_ == 31 ? 0 : runnable_ & ~FirstBits(running_ + 1);
  return static_cast<uint32_t>(std::countr_zero(above != 0 ? above : runnable_));
}

void BlockRun::PassGridBarrier() {
  if (cluster_ == nullptr) return PassGridBarrierAlone();
  cluster_->PassGridBarrier();
}

void BlockRun::PassGridBarrierAlone() {
  if (at_grid_ == 0) return;
  runnable_ |= at_grid_;
  at_grid_ = 0;
  running_ = static_cast<uint32_t>(std::countr_zero(runnable_));
}

uint64_t BlockRun::Perform(const ServiceRequest& request) {
  request_ = request;
  LeaveGuest(thread_, LeaveReason::kRequest);
  return request_.result;
}

TUTTI_NO_SANITIZE void BlockRun::Fail(const FaultRecord& fault) {
  thread_->fault = fault;
  LeaveGuest(thread_, LeaveReason::kFault);
  __builtin_unreachable();
}

void BlockRun::PerformRequest() {
  KernelHost& host = *launch_->host;
  const uint64_t* a = request_.arguments;
  switch (request_.kind) {
    case ServiceRequest::Kind::kPrint:
      request_.result = static_cast<uint64_t>(static_cast<int64_t>(host.Print(*this, a[0], a[1])));
      break;
    case ServiceRequest::Kind::kAllocate: request_.result = host.HeapAllocate(a[0]); break;
    case ServiceRequest::Kind::kRelease: host.HeapRelease(a[0]); break;
    case ServiceRequest::Kind::kSetCondition:
      request_.result = host.SetCondition(a[0], static_cast<uint32_t>(a[1])) ? 1 : 0;
      break;
    case ServiceRequest::Kind::kDeviceRuntime: request_.result = CallRuntime(static_cast<uint32_t>(a[0]), a[1]); break;
    case ServiceRequest::Kind::kAssert: {
      KernelHost::Assertion assertion{.message = a[0],
                                      .file = a[1],
                                      .function = a[3],
                                      .line = static_cast<uint32_t>(a[2]),
                                      .block = {block_.ctaid[0], block_.ctaid[1], block_.ctaid[2]},
                                      .thread = {}};
      ThreadOf(request_.warp, request_.lane, assertion.thread);
      host.AssertFailed(*this, assertion);
      break;
    }
  }
}

// The words are written back whatever they are: what the kernel does not want it does not read.
uint64_t BlockRun::CallRuntime(uint32_t number, uint64_t words) {
  RuntimeCall call{.function = static_cast<RuntimeFunction>(number & ~kPerThreadStream),
                   .per_thread_stream = (number & kPerThreadStream) != 0,
                   .block = index_,
                   .thread = request_.warp * kWarpSize + request_.lane,
                   .words = {}};
  uint8_t* const local = Local(words, sizeof call.words);
  if (call.function >= RuntimeFunction::kCount || local == nullptr)
    return static_cast<uint64_t>(RuntimeError::kInvalidValue);
  if (call.function == RuntimeFunction::kGetLastError) return last_errors_.Take(call.thread);
  if (call.function == RuntimeFunction::kPeekAtLastError) return last_errors_.Peek(call.thread);
  std::memcpy(call.words.data(), local, sizeof call.words);
  launch_->host->CallRuntime(*launch_, &call);
  std::memcpy(local, call.words.data(), sizeof call.words);
  const auto error = static_cast<uint32_t>(call.error);
  if (error != 0) last_errors_.Set(call.thread, error);
  const auto result = kRuntimeSignatures[static_cast<uint32_t>(call.function)].result;
  return result == RuntimeResult::kAddress ? call.address : error;
}

// Null where the block's threads have no local memory.
uint8_t* BlockRun::Local(uint64_t address, size_t bytes) const {
  const uint64_t local_bytes = uint64_t{descriptor_->local_bytes} * kWarpSize * launch_->warps();
  const uint64_t offset = address - reinterpret_cast<uint64_t>(local_.data());
  return InRange<uint64_t>(offset, bytes, local_bytes) ? local_.data() + offset : nullptr;
}

bool BlockRun::Read(uint64_t address, void* out, size_t bytes) const {
  const auto inside = [address, bytes](const void* begin, uint64_t size) {
    return InRange<uint64_t>(address - reinterpret_cast<uint64_t>(begin), bytes, size);
  };
  const uint64_t local_bytes = uint64_t{descriptor_->local_bytes} * kWarpSize * launch_->warps();
  const bool readable = inside(reinterpret_cast<const void*>(launch_->window_base), launch_->window_bytes) ||
                        inside(block_.shared, block_.shared_bytes) || inside(local_.data(), local_bytes) ||
                        inside(launch_->params, launch_->param_bytes);
  if (readable) std::memcpy(out, reinterpret_cast<const void*>(address), bytes);
  return readable;
}

void BlockRun::GoOnWithRunnable() {
  if ((runnable_ >> running_ & 1) == 0) running_ = static_cast<uint32_t>(std::countr_zero(runnable_));
}

const BlockRun& BlockRun::running_block() const { return cluster_ == nullptr ? *this : cluster_->running_block(); }

void BlockRun::ThreadOf(uint32_t warp, uint32_t lane, uint32_t thread[3]) const {
  const uint32_t linear = warp * kWarpSize + lane;
  thread[0] = linear % block_.block[0];
  thread[1] = linear / block_.block[0] % block_.block[1];
  thread[2] = linear / block_.block[0] / block_.block[1];
}

}  // namespace tutti::guest
