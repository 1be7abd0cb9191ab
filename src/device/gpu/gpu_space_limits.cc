// Limits of the context that a client sets (cuCtxSetLimit), and what they take of its memory. What one asks for less of
// may be held for it until others' kernels have ended (executor/context_limits.h): it counts as the client's for as
// long, and the executor is asked again until it is lowered.
#include <algorithm>
#include <chrono>
#include <utility>

#include "cuda/device_attribute.h"
#include "cuda/limits.h"
#include "device/gpu/gpu_space.h"

namespace tutti::device::gpu {
namespace {

constexpr std::chrono::milliseconds kLook{20};

// What a driver takes for these only it knows.
bool TakesUnknown(int32_t limit) {
  return limit == cuda::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || limit == cuda::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
}

}  // namespace

// A driver has rules of its own for when a limit may change: one that it refuses stays as it was, and so does one for
// which the client has not the memory, or may not have it.
Status GpuSpace::SetKernelLimit(uint32_t, int32_t limit, uint64_t bytes) {
  if (TakesUnknown(limit) && bytes > cuda::kDefaultLimits[limit] && memory_->is_limited()) return {};
  std::lock_guard lock(limits_mutex_);
  const uint64_t before = CountedFor(limit), after = TakenBy(limit, bytes);
  if (after > before && !memory_->CountForDriver(after - before)) return {};
  const auto held = current_.WithOne([&] { return AskForLimit(limit, bytes, 0); });
  if (!NoteHeld(limit, bytes, held) && !std::exchange(lowers_aside_, true))
    aside_.PostIn(kLook, [this] { LowerLimitsAside(); });
  return {};
}

// Both with limits_mutex_, in CurrentExecutor::WithOne or Using.
Result<uint64_t> GpuSpace::AskForLimit(int32_t limit, uint64_t bytes, uint32_t flags) {
  TUTTI_ASSIGN(
      const CurrentExecutor::Reply reply,
      current_.Ask({.kind = executor::RequestKind::kSetLimit, .bytes = bytes, .limit = limit, .flags = flags}));
  set_limits_[limit] = bytes;
  return reply.answer.value;
}

bool GpuSpace::NoteHeld(int32_t limit, uint64_t bytes, const Result<uint64_t>& held) {
  const uint64_t before = CountedFor(limit), after = TakenBy(limit, bytes), most = std::max(before, after);
  // Whatever an executor says: it holds no less than it has been asked for, and no more than there was.
  const uint64_t kept = held ? std::clamp(TakenBy(limit, *held), after, most) : before;
  if (kept != before) counted_limits_[limit] = kept;
  memory_->ReleaseOfDriver(most - kept, false);
  return kept <= after;
}

uint64_t GpuSpace::CountedFor(int32_t limit) const {
  const auto counted = counted_limits_.find(limit);
  return counted == counted_limits_.end() ? 0 : counted->second;
}

// On threads that replace executors, too.
bool GpuSpace::LowerLimitsLocked() {
  const auto use = current_.Using();
  bool all = true;
  for (const auto& [limit, bytes] : std::map(set_limits_)) {
    if (CountedFor(limit) <= TakenBy(limit, bytes)) continue;
    all &= NoteHeld(limit, bytes, AskForLimit(limit, bytes, executor::kMayNotWait));
  }
  return all;
}

// One that is raised just now may take long, and who asks for memory waits for that no longer than a moment.
void GpuSpace::LowerLimits() {
  constexpr std::chrono::milliseconds kPatience{100};
  if (const std::unique_lock lock(limits_mutex_, kPatience); lock) LowerLimitsLocked();
}

void GpuSpace::LowerLimitsAside() {
  const std::unique_lock lock(limits_mutex_, std::try_to_lock);
  if (lock && LowerLimitsLocked())
    lowers_aside_ = false;
  else
    aside_.PostIn(kLook, [this] { LowerLimitsAside(); });
}

// A fresh context has others.
void GpuSpace::ResetLimits() {
  std::map<int32_t, uint64_t> limits;
  {
    std::lock_guard lock(limits_mutex_);
    limits = set_limits_;
  }
  for (const auto& [limit, bytes] : limits) (void)SetKernelLimit(0, limit, cuda::kDefaultLimits[limit]);
}

void GpuSpace::ForgetLimits() {
  std::lock_guard lock(limits_mutex_);
  for (const auto& [limit, bytes] : std::exchange(counted_limits_, {})) memory_->ReleaseOfDriver(bytes, false);
  set_limits_.clear();
}

// Of the device's memory, more than by default.
uint64_t GpuSpace::TakenBy(int32_t limit, uint64_t bytes) const {
  constexpr uint64_t kMost = 1ull << 50;  // more than any device has
  const uint64_t pieces = PiecesOf(limit);
  if (pieces == 0) return 0;
  const uint64_t added = bytes - std::min<uint64_t>(bytes, cuda::kDefaultLimits[limit]);
  return added > kMost / pieces ? kMost : added * pieces;
}

// How many of its size a context has: a stack for each thread that can be on the device at once. 0: what it takes, if
// anything, is not known.
uint64_t GpuSpace::PiecesOf(int32_t limit) const {
  const auto& attributes = executors_->device().attributes;
  switch (limit) {
    case cuda::CU_LIMIT_MALLOC_HEAP_SIZE:
    case cuda::CU_LIMIT_PRINTF_FIFO_SIZE: return 1;
    case cuda::CU_LIMIT_STACK_SIZE:
      return static_cast<uint64_t>(attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]) *
             static_cast<uint64_t>(std::max(attributes[cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR], 1));
    default: return 0;
  }
}

}  // namespace tutti::device::gpu
