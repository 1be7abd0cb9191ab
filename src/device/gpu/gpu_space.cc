#include "device/gpu/gpu_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "device/gpu/pilot.h"

namespace tutti::device::gpu {
namespace {

constexpr const char* kNoHostMemory =
    "on a GPU memory of the host is not shared between processes, nor mapped at reserved addresses: cuMemHostAlloc and "
    "cuMemAllocManaged make memory that host code and kernels use";

// A killed process is gone in milliseconds, but for one that hangs in its driver; a place in an executor with others,
// when its kernels have ended.
constexpr int kEndPatienceMs = 1'000, kSharedPatienceMs = 10'000;
constexpr int kClosePatienceMs = 1'000;

uint32_t CapabilityOf(const wire::DeviceInfo& device) {
  return static_cast<uint32_t>(10 * device.attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] +
                               device.attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR]);
}

const Error kGone{.code = cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED, .text = "the client has gone"};

uint64_t LimitOf(const Limits& limits) { return limits.memory_bytes.empty() ? kNoMemoryLimit : limits.memory_bytes[0]; }

}  // namespace

Result<std::unique_ptr<Space>> GpuSpace::Create(ExecutorSource* executors, const Limits& limits, Sink* sink,
                                                const Accounts& accounts, Pilot* pilot, Remains* remains) {
  TUTTI_ASSIGN(ExecutorSource::Window window, executors->NewWindow(limits.sharers));
  const std::shared_ptr<Held> held(new Held{.place = accounts.place,
                                            .window = std::move(window),
                                            .host = HostShare(accounts.host, accounts.host_bytes),
                                            .memory = nullptr});
  std::unique_ptr<GpuSpace> space(new GpuSpace(executors, held, sink, accounts, pilot, remains));
  TUTTI_ASSIGN(held->memory,
               GpuMemory::Create(&space->current_, held->window.base, executors->shape(), held->window.file.get(),
                                 {.account = accounts.account,
                                  .host = &held->host,
                                  .groups = limits.memory_groups,
                                  .fenced = accounts.fences != nullptr},
                                 sink, &space->counters_));
  space->memory_ = held->memory.get();
  space->SetLimits(limits);
  TUTTI_TRY(space->aside_.Start());
  space->aside_.Post([space = space.get()] { space->AcquireExecutor(Takes::kNothing, {}); });
  pilot->Add(space.get());
  return space;
}

GpuSpace::GpuSpace(ExecutorSource* executors, std::shared_ptr<Held> held, Sink* sink, const Accounts& accounts,
                   Pilot* pilot, Remains* remains)
    : sink_(sink),
      pilot_(pilot),
      executors_(executors),
      remains_(remains),
      held_(std::move(held)),
      current_(sink),
      modules_(&current_, &held_->host, accounts.fences, accounts.jit, held_->window.group,
               CapabilityOf(executors->device())),
      arrays_(&current_),
      moves_out_(accounts.moves_out),
      engine_(this, sink, &GpuOperation::Make, MostBacklog(accounts.host_bytes), &held_->host),
      lent_(NoStreams()) {}

GpuSpace::~GpuSpace() {
  Abandon();
  if (memory_ != nullptr) memory_->EndWords();  // others may wait for them, and have nothing to do with what follows
  pilot_->Remove(this);
  aside_.Stop();  // which may still wait for one
  if (mover_ != nullptr) mover_->Stop();
  // Until the driver has freed what the accounts give to others now. Whoever has this end waits no longer than that.
  std::vector<PlaceEnd> left = current_.AwaitEnd(kEndPatienceMs);
  if (left.empty()) return;
  if (memory_ != nullptr) memory_->Orphan();
  remains_->Keep(std::move(left), held_);
}

LentStreams GpuSpace::NoStreams() const {
  return LentStreams(held_->window.group.empty() ? LentStreams::kMostOfUrgency : LentStreams::kMostOfUrgencyShared);
}

void GpuSpace::Abandon() {
  gone_.request_stop();  // others wait for an executor, too
  modules_.Cancel();
  std::unique_lock lock(mutex_);
  engine_.Mute();
  muted_ = true;
  LoseExecutor(kGone);
  UnlockAndRunDeferred(&lock);
}

void GpuSpace::UnlockAndRunDeferred(std::unique_lock<std::mutex>* lock) {
  dispatch_.Publish();
  has_work_.store(lent_.unfinished() != 0, std::memory_order_relaxed);
  busy_.store(ahead_ != 0 && executor_ != nullptr, std::memory_order_relaxed);
  look_at_ns_.store(NextLookNs(), std::memory_order_relaxed);
  if (!engine_.has_wakes() && !engine_.has_released()) return lock->unlock();
  const Wakes wakes = engine_.TakeWakes();
  // With the lock: who sees that the executor is lost, and then waits for `aside_`, waits for this.
  if (std::vector<Deferred> released = engine_.TakeReleased(); !released.empty()) {
    aside_.Post([this, released = std::move(released)]() mutable {
      for (const Deferred& item : released) {
        if (item.address == 0) continue;
        arrays_.Release(item.address, *memory_);  // before others are given its addresses
        memory_->Release(item.address);
      }
      released.clear();
    });
  }
  lock->unlock();
  wakes.Run(sink_);
}

// --- memory

Result<uint64_t> GpuSpace::Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) {
  if (device != 0) return tutti::Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  auto address = memory_->Allocate(kind, bytes, alignment);
  if (address || address.error().code != cuda::CUDA_ERROR_OUT_OF_MEMORY) return address;
  aside_.Wait();  // for what has been freed
  LowerLimits();
  return memory_->Allocate(kind, bytes, alignment);
}

Status GpuSpace::Free(uint64_t address) {
  TUTTI_TRY(memory_->Retire(address));
  arrays_.Retire(address, *memory_);
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = address, .kept = nullptr});
  UnlockAndRunDeferred(&lock);
  return {};
}

Result<uint64_t> GpuSpace::Word(uint64_t address, uint32_t bytes, uint64_t add) {
  if (const GpuMemory::Word shared = memory_->FindWord(address, bytes, add != 0); shared.in != nullptr)
    return shared.in->Add(shared.offset, bytes, add);
  uint8_t* const word = memory_->Reached(address, bytes);
  if (word == nullptr && !memory_->Contains(address, bytes, add != 0)) {
    return tutti::Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no memory of the client lies at {:#x}", address));
  }
  if (word == nullptr && add == 0) {
    TUTTI_ASSIGN(const CurrentExecutor::Reply read, current_.WithOne([&] {
      return current_.Ask({.kind = executor::RequestKind::kReadWord, .address = address, .bytes = bytes});
    }));
    return read.answer.value;
  }
  if (word == nullptr) {
    return tutti::Fail(
        cuda::CUDA_ERROR_NOT_SUPPORTED,
        fmt::format("an addition to the word at {:#x}: those in a GPU's memory are not supported yet", address));
  }
  const auto access = [&]<typename Value>(Value) -> uint64_t {
    std::atomic_ref reached(*reinterpret_cast<Value*>(word));
    return add == 0 ? reached.load(std::memory_order_acquire)
                    : reached.fetch_add(static_cast<Value>(add), std::memory_order_acq_rel);
  };
  return bytes == sizeof(uint64_t) ? access(uint64_t{}) : access(uint32_t{});
}

// Addresses that are wished for may just have been freed.
Result<uint64_t> GpuSpace::Reserve(uint32_t device, uint64_t bytes, uint64_t alignment, uint64_t wish) {
  if (device != 0) return tutti::Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  if (wish != 0) aside_.Wait();
  auto address = memory_->ReserveAddresses(bytes, alignment, wish);
  if (address || address.error().code != cuda::CUDA_ERROR_OUT_OF_MEMORY) return address;
  aside_.Wait();
  return memory_->ReserveAddresses(bytes, alignment, wish);
}

Result<std::shared_ptr<SharedMemory>> GpuSpace::Share(uint64_t address, AtEnd end) {
  return end == AtEnd::kLargest ? memory_->ShareWords(address) : memory_->Share(address);
}

Result<std::shared_ptr<SharedMemory>> GpuSpace::CreateHostMemory(uint64_t) {
  return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoHostMemory);
}

Status GpuSpace::Map(uint64_t address, std::shared_ptr<SharedMemory> memory, bool writable) {
  return memory_->Map(address, memory, writable);
}

Status GpuSpace::Unmap(uint64_t address, uint64_t bytes) { return memory_->Unmap(address, bytes); }

// --- modules

Result<PreparedKernel> GpuSpace::Prepare(uint32_t module, uint32_t kernel, const uint32_t*) {
  return modules_.Prepare(module, kernel);
}

Result<uint32_t> GpuSpace::BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads,
                                       uint32_t dynamic_shared_bytes) {
  return modules_.BlocksPerSm(module, kernel, block_threads, dynamic_shared_bytes);
}

void GpuSpace::SetLimits(const Limits& limits) {
  memory_->SetLimit(LimitOf(limits));
  kernel_limit_ns_.store(limits.kernel_ns, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  gate_.SetPercentage(limits.active_thread_percentage, NowNs());
  gate_.SetBelowNormal(limits.priority > 0);
  gate_.SetKernelLimit(limits.kernel_ns);
  UnlockAndRunDeferred(&lock);
  pilot_->Look();
}

// --- what is done, and how it ends

bool GpuSpace::Harvest(uint64_t now_ns, uint64_t computing) {
  std::unique_lock lock(mutex_);
  if (executor_ == nullptr || (lent_.unfinished() == 0 && !dispatch_.waits())) return false;
  if (const auto failure = FailureLocked()) {
    NoteEnd(*failure, executor_->FailsForAll() && !fault_);
    UnlockAndRunDeferred(&lock);
    return true;
  }
  const size_t streams = lent_.all().size();
  bool found = false, sound = !dispatch_.broken();
  uint64_t ended = 0, computed = 0;
  for (size_t i = 0; sound && i < streams; ++i) {
    LentStreams::Lent& lent = *lent_.all()[i];
    if (lent.unfinished.empty()) continue;
    const auto done = executor_->Done(lent.number, lent.given);
    sound = done.has_value();
    ended += done.value_or(lent.done) - lent.done;
    lent.done = done.value_or(lent.done);
    for (const LentStreams::Given& given : lent.unfinished) {
      if (given.sequence > lent.done) break;
      computed += Computes(*given.operation) ? 1 : 0;
    }
  }
  if (ended != 0) Charge(NowNs(), computing, computed != 0);  // it may have begun since the last time
  ahead_ -= ended;
  gate_.NoteDone(computed);
  gate_.Look(now_ns);
  sound = sound && TakeTexts();  // what was printed before that was done
  for (size_t i = 0; sound && i < streams; ++i) {
    LentStreams::Lent& lent = *lent_.all()[i];
    while (Operation* const operation = TakeDone(lent)) {
      computing_ -= Computes(*operation) ? 1 : 0;
      engine_.TaskDone(operation);
      found = true;
    }
  }
  if (computed != 0) {
    without_progress_ns_ = 0;
    computed_ns_ = NowNs();
  }
  if (found) vain_wakes_ = replaced_in_vain_ = 0;
  if (sound) {
    found |= GiveWhatIsHeld();
    computes_.store(ComputesNow(), std::memory_order_relaxed);
    if (leaving_ != Leaving::kNo || IsStalled(now_ns)) LookWhetherToLeave();
    if (executor_ != nullptr) LookForEndlessKernel();
  } else {
    LoseExecutor({.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's executor says what cannot be"});
  }
  UnlockAndRunDeferred(&lock);
  return found || !sound;
}

Operation* GpuSpace::TakeDone(LentStreams::Lent& lent) {
  const uint64_t sequence = lent.unfinished.empty() ? 0 : lent.unfinished.front().sequence;
  Operation* const operation = lent_.TakeDone(lent, lent.done);
  if (operation != nullptr && operation->kind == Operation::Kind::kEvent)
    operation->reached_ns = executor_->TimeOf(lent.number, sequence);
  return operation;
}

void GpuSpace::LookForEnd() {
  std::unique_lock lock(mutex_);
  LookForEndLocked();
  UnlockAndRunDeferred(&lock);
}

void GpuSpace::LookForEndLocked() {
  if (executor_ == nullptr) return;
  if (!executor_->HasEnded() && !executor_->Failure()) return LookWhetherToLeave();
  if (const auto failure = FailureLocked()) return NoteEnd(*failure, executor_->FailsForAll() && !fault_);
  const std::string words = executor_->executor()->LastWords();
  NoteEnd({.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
           .text = "the program's executor has ended" + (words.empty() ? words : ": " + words)},
          false);
}

bool GpuSpace::TakeTexts() {
  const auto texts = executor_->TakeTexts();
  if (!texts) return false;
  if (!texts->printed.empty()) sink_->Printed(texts->printed);
  if (!texts->failed.empty()) sink_->AssertFailed(texts->failed);
  return true;
}

int GpuSpace::AwaitWake() {
  std::lock_guard lock(mutex_);
  if (executor_ == nullptr) return -1;
  // One that rings without end is heard some times for each time that the pilot has slept.
  constexpr uint32_t kMostVainWakes = 16;
  if (vain_wakes_ >= kMostVainWakes) {
    vain_wakes_ /= 2;
    return -1;
  }
  executor_->Awaits();
  return executor_->wake_fd();
}

void GpuSpace::Woken() {
  std::unique_lock lock(mutex_);
  if (executor_ == nullptr) return;
  executor_->Hear();
  ++vain_wakes_;
  LookForEndLocked();
  UnlockAndRunDeferred(&lock);
}

// Everything that it has been given is over, whether it was done or not. Nothing begins before Reset.
void GpuSpace::LoseExecutor(Error error) {
  if (lost_) return;
  lost_ = true;
  // Of the system: it has no CUresult. Without one nothing would be over.
  if (error.code == 0) error.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE;
  current_.Lose(error);
  executor_ = nullptr;
  dispatch_ = executor::DispatchWriter();  // first: streams that fail may still give it something
  FailLocked(error);
  for (const auto& lent : lent_.all()) {
    while (Operation* const operation = lent_.TakeDone(*lent, ~0ull)) engine_.TaskDone(operation);
  }
  ForgetWhatWasGiven();
}

void GpuSpace::ForgetWhatWasGiven() {
  leaving_ = Leaving::kNo;
  leave_at_ns_ = 0;
  refused_moves_ = 0;
  is_stalled_ = false;
  next_ = nullptr;
  lent_ = NoStreams();
  held_back_ = ahead_ = computing_ = without_progress_ns_ = 0;
  vain_wakes_ = 0;
  computes_.store(false, std::memory_order_relaxed);
  gate_.NoteLoss();
  dispatch_ = executor::DispatchWriter();
}

void GpuSpace::FailLocked(const Error& error) {
  if (error_ != 0) return;
  error_ = error.code;
  if (!muted_) {
    counters_.Add(metrics::Counter::faults);
    sink_->Faulted(0, fault_ ? *fault_ : Fault{.status = error.code, .report = error.text});
  }
  engine_.Drain(0);
}

// An executor that is lost, or that does not come to an end, is replaced. So is one for which something is held back:
// nobody waits until the client's limits let it begin.
void GpuSpace::Reset(uint32_t device) {
  if (device != 0) return;
  constexpr uint64_t kPatienceNs = 20'000'000'000;
  constexpr std::chrono::microseconds kLook{200};
  const uint64_t since_ns = NowNs();
  bool lost = false;
  for (bool first = true;; first = false) {
    std::unique_lock lock(mutex_);
    if (first && error_ == 0) error_ = cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED;  // nothing new begins
    if (first) engine_.Drain(0);
    if (held_back_ != 0 && gate_.limited())
      LoseExecutor(
          {.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's limits hold back what it ends"});
    if (NowNs() - since_ns > kPatienceNs && lent_.unfinished() != 0) {
      if (executor_ != nullptr && !modules_.are_fenced()) executor_->executor()->HaveClientsLeave();
      LoseExecutor({.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's kernels do not end"});
    }
    const bool over = lost_ || lent_.unfinished() == 0;
    lost = lost_;
    if (over && !lost) Recover();
    UnlockAndRunDeferred(&lock);
    if (over) break;
    std::this_thread::sleep_for(kLook);
  }
  return lost ? Replace() : ResetLimits();
}

void GpuSpace::Replace() {
  aside_.Wait();  // for what still asks the last one
  AwaitMover();
  // The memory that it has is needed for the next one. The account has the client's memory once, so the GPU has it at
  // most twice: who leaves more stays lost.
  constexpr size_t kMostLeft = 1;
  if (current_.AwaitEnd(held_->window.group.empty() ? kEndPatienceMs : kSharedPatienceMs).size() > kMostLeft) return;
  const GpuModules::Forgotten modules = modules_.Forget();
  memory_->ReleaseOfDriver(modules.bytes, false);
  for (const uint64_t managed : modules.managed) {
    (void)memory_->Retire(managed, GpuMemory::Holder::kDevice);
    memory_->Release(managed);
  }
  arrays_.Forget(*memory_);
  ForgetLimits();
  // One that has another one's place would have what it sends closed beside it, and so on.
  if (!current_.AwaitClosed(kClosePatienceMs)) return;
  // While it is lost, whoever is about to ask fails at once: afterwards they would wait for this one.
  const auto replacing = current_.Replacing();
  {
    std::lock_guard lock(mutex_);
    if (muted_) return;
    current_.Await();
    lost_ = false;
    replaced_in_vain_ = 0;
    suspicion_.BeginAnew();
  }
  AcquireExecutor(Takes::kWhatStays, replacing);
  std::lock_guard lock(mutex_);
  if (!lost_) Recover();
}

void GpuSpace::Recover() {
  error_ = 0;
  fault_.reset();
  sink_->Recovered(0);
}

}  // namespace tutti::device::gpu
