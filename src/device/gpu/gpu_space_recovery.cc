// How a client goes on when its executor ends: killed, with its driver, or as the context is lost that it shares with
// others, one of which has done that.
//
// Memory outlives the executor, since the server holds descriptors of it, and so do the records that are not known to
// be done. Another executor maps the memory at the same addresses, loads the same modules, and is given those records,
// unless one may be torn that must not be done twice (device/gpu/torn_records.h), or something was left in the context
// that is not in the window (GpuModules::WhyBound). Then the client has the error, as has everybody whose kernel may
// have lost the context: a driver does not say whose it was.
//
// Memory is mapped only when what ran in the last executor has ended with it: until then it may still be written.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/log.h"
#include "cuda/result.h"
#include "cuda/types.h"
#include "device/gpu/fenced_fault.h"
#include "device/gpu/gpu_space.h"
#include "device/gpu/pilot.h"

namespace tutti::device::gpu {
namespace {

// Executors that end one behind the other, before anything is done in one of them and before it is this old.
constexpr uint32_t kMostInVain = 8;
constexpr uint64_t kOldNs = 10'000'000'000;
constexpr uint32_t kMostEnds = 3;  // of executors, that a record is under way at

// Others that have places in an executor with a lost context leave it as soon as they see that.
constexpr int kOthersLeaveMs = 200;
constexpr int kEndPatienceMs = 1'000;

// Without it no kernel fails, or computes anything else.
bool IsHintOrText(int32_t limit) {
  return limit == cuda::CU_LIMIT_PRINTF_FIFO_SIZE || limit == cuda::CU_LIMIT_MAX_L2_FETCH_GRANULARITY ||
         limit == cuda::CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

std::string NameOf(int32_t limit) {
  switch (limit) {
    case cuda::CU_LIMIT_STACK_SIZE: return "stack size";
    case cuda::CU_LIMIT_PRINTF_FIFO_SIZE: return "size of the printf FIFO";
    case cuda::CU_LIMIT_MALLOC_HEAP_SIZE: return "heap size";
    default: return fmt::format("limit {}", limit);
  }
}

}  // namespace

std::optional<Error> GpuSpace::FailureLocked() {
  auto failure = executor_->Failure();
  if (!failure) return failure;
  const auto record = executor_->FenceFault();
  if (!record) return failure;
  fault_ = DescribeFault(*record, modules_.FunctionOf(*record));
  return Error{.code = fault_->status, .text = fault_->report};
}

void GpuSpace::NoteEnd(const Error& why, bool context_is_lost) {
  const bool is_own = !context_is_lost && executor_->Failure();  // a record of its own that the driver refuses
  if (!is_own && !muted_) counters_.Add(metrics::Counter::executor_ends);
  if (is_own || muted_ || error_ != 0 || executor_->has_lied() || !current_.Is(executor_.get())) {
    if (!muted_) NoteWhatWasGiven();
    (void)TakeTexts();
    return LoseExecutor(why);
  }
  if (context_is_lost) executor_->executor()->TakeNoMore();
  if (!TakeLastMarks()) {
    return LoseExecutor(
        {.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's executor says what cannot be"});
  }
  const std::vector<LeftRecord> left = WhatIsLeft();
  NoteWhatWasUnderWay(left, context_is_lost);
  if (const auto error = WhyNotElsewhere(why, context_is_lost, left)) return LoseExecutor(*error);
  if (NowNs() - replaced_ns_ >= kOldNs) replaced_in_vain_ = 0;
  if (!context_is_lost || !left.empty()) ++replaced_in_vain_;  // else it is known to be another's doing
  replaced_ns_ = NowNs();
  const auto last = current_.Leave();
  if (!last) return LoseExecutor(why);
  BeginAgain(left);
  aside_.Post([this, last = *last, why, again = left.size()] { GoOnElsewhere(last, why, again); });
}

// A request ends its driver, or is answered; a context is lost by what runs in it.
void GpuSpace::NoteWhatWasUnderWay(std::span<const LeftRecord> left, bool context_is_lost) {
  bool any = !context_is_lost && executor_->RequestMayHaveEndedIt();
  for (const LeftRecord& record : left) {
    if (!record.may_have_begun || record.operation->kind != Operation::Kind::kTask) continue;
    ++static_cast<GpuOperation*>(record.operation)->ends;
    any = true;
  }
  if (any && !executor_->is_alone()) suspicion_.Note();
}

// Of one that does not go on: it has failed before, or says what cannot be. So all that is not done counts. That a
// place fails alone, or is ended from here, costs nobody else anything.
void GpuSpace::NoteWhatWasGiven() {
  const bool is_lost = executor_->FailsForAll();
  const bool ends_alone = executor_->Failure() || executor_->has_lied() || !current_.Is(executor_.get());
  if (executor_->is_alone() || (ends_alone && !is_lost)) return;
  if (ahead_ != 0 || executor_->RequestMayHaveEndedIt()) suspicion_.Note();
}

bool GpuSpace::TakeLastMarks() {
  const size_t streams = lent_.all().size();
  for (size_t i = 0; i < streams; ++i) {
    LentStreams::Lent& lent = *lent_.all()[i];
    const auto done = executor_->Done(lent.number, lent.given);
    if (!done) return false;
    lent.done = *done;
  }
  if (!TakeTexts()) return false;
  lent_.DeduceWhatIsDone();
  for (size_t i = 0; i < streams; ++i) {
    LentStreams::Lent& lent = *lent_.all()[i];
    while (Operation* const operation = TakeDone(lent)) {
      replaced_in_vain_ = 0;
      engine_.TaskDone(operation);
    }
  }
  return true;
}

std::vector<LeftRecord> GpuSpace::WhatIsLeft() const {
  std::vector<LeftRecord> left;
  for (const auto& lent : lent_.all()) {
    const uint64_t begun = executor_->MayHaveBegun(lent->number, lent->done, lent->given);
    for (const LentStreams::Given& given : lent->unfinished) {
      left.push_back({.operation = given.operation,
                      .may_have_begun = given.sequence <= begun,
                      .others_went_on = lent_.OthersWentOn(*lent, given),
                      .order = given.order});
    }
  }
  std::ranges::sort(left, {}, &LeftRecord::order);
  return left;
}

// Nothing: it can go on in another one.
std::optional<Error> GpuSpace::WhyNotElsewhere(const Error& why, bool context_is_lost,
                                               std::span<const LeftRecord> left) const {
  const auto torn = FindTorn(left);
  if (torn && torn->by_kernel && context_is_lost)
    return Error{.code = why.code, .text = why.text + "; " + torn->why + ", so it may have been its own"};
  std::optional<std::string> reason = torn ? std::optional(torn->why) : WhyBound();
  const auto ends_executors = [](const LeftRecord& record) {
    return record.operation->kind == Operation::Kind::kTask &&
           static_cast<const GpuOperation*>(record.operation)->ends >= kMostEnds;
  };
  if (!reason && std::ranges::any_of(left, ends_executors))
    reason = fmt::format("a copy or fill of it was under way as each of {} executors ended", kMostEnds);
  if (!reason && replaced_in_vain_ >= kMostInVain && NowNs() - replaced_ns_ < kOldNs)
    reason = fmt::format("{} executors have ended one behind the other", kMostInVain);
  if (!reason) return std::nullopt;
  if (context_is_lost) {
    return Error{
        .code = cuda::CUDA_ERROR_LAUNCH_FAILED,
        .text = fmt::format("another program has lost the context that they share ({}), and this one cannot go "
                            "on in another: {}",
                            why.text, *reason)};
  }
  return Error{.code = why.code,
               .text = fmt::format("{}, and the program cannot go on in another one: {}", why.text, *reason)};
}

std::optional<std::string> GpuSpace::WhyBound() const {
  if (!memory_->outlives_executors()) return "no more descriptors could be held of its memory (RLIMIT_NOFILE)";
  const auto by_arrays = arrays_.WhyBound();
  return by_arrays ? by_arrays : modules_.WhyBound();
}

// What is left is given again, in the order that it had, as soon as there is an executor.
void GpuSpace::BeginAgain(std::span<const LeftRecord> left) {
  executor_ = nullptr;
  ForgetWhatWasGiven();
  for (const LeftRecord& record : left) {
    Operation* const operation = record.operation;
    if (operation->kind == Operation::Kind::kWait)
      JoinTo(operation, operation->other_stream);
    else if (operation->kind == Operation::Kind::kEvent)
      Time(operation);
    else
      Start(operation);
    // An event was recorded behind it, which may be one of several processes: others wait for no more than that.
    for (const Operation* next = operation->next; next != nullptr && next != operation->stream->at && !next->issued;
         next = next->next) {
      if (next->kind != Operation::Kind::kEvent && next->kind != Operation::Kind::kStore) continue;
      NotePoint(*operation->stream);
      break;
    }
  }
}

Status GpuSpace::HandOver(ExecutorLink& executor, Takes takes) {
  if (takes == Takes::kNothing) return {};
  TUTTI_TRY(memory_->AttachTo(executor, takes == Takes::kAll));
  if (takes == Takes::kWhatStays) return {};
  TUTTI_TRY(HandOverLimits(executor));
  return modules_.LoadInto(executor);
}

// A driver has rules of its own for when a limit may change, and another context has other memory left. Without some of
// them kernels run as they did, if not as fast. One that shares asks a context of its own first: nothing runs there
// yet.
Status GpuSpace::HandOverLimits(ExecutorLink& executor) {
  for (const auto& [limit, bytes] : set_limits_) {
    const auto set = executor.Ask({.kind = executor::RequestKind::kSetLimit, .bytes = bytes, .limit = limit});
    if (set) continue;
    const bool ends = executor.HasEnded() || executor.Failure();
    const std::string what =
        fmt::format("its context refuses the {} of {} that the program has set", NameOf(limit), bytes);
    if (ends || !executor.is_alone() || !IsHintOrText(limit))
      return Fail(set.error().code, what + ": " + set.error().text);
    log::Info("A program goes on without a limit in another executor: {}: {}", what, set.error().text);
  }
  return {};
}

// On a thread that may wait. What a shared executor ends with, or refuses, is asked of one of its own.
void GpuSpace::AcquireExecutor(Takes takes, const CurrentExecutor::Replacement&) {
  Result<std::shared_ptr<ExecutorLink>> taken;
  Status attached;
  // Arrays may have come while the last one ended: no other has them.
  const auto bound = takes == Takes::kAll ? arrays_.WhyBound() : std::nullopt;
  if (bound) attached = Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, *bound);
  constexpr int kMostAttempts = 4;  // others may lose it meanwhile
  for (int attempt = 0; !bound && attempt < kMostAttempts; ++attempt) {
    taken = executors_->Take(
        &held_->window, suspicion_.is_alone(), [this](const auto& executor) { return current_.Expect(executor); },
        gone_.get_token());
    attached = !taken ? std::unexpected(taken.error()) : HandOver(**taken, takes);
    if (attached || !taken || (*taken)->has_lied()) break;
    if ((*taken)->Failure() && (*taken)->FailsForAll()) (*taken)->executor()->TakeNoMore();
    NoteRefusal(**taken);
    if (std::lock_guard lock(mutex_); lost_) return;  // what it would be given is over
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::unique_lock lock(mutex_);
  if (lost_) return;  // meanwhile, and it with it
  if (attached) {
    executor_ = std::move(*taken);
    dispatch_.Connect(executor_->exchange());
    computed_ns_ = charged_until_ns_ = NowNs();  // until then nobody held it up, and it used nothing
    current_.Arrive();
    pilot_->Look();
  } else {
    const char* const to_do =
        takes == Takes::kAll ? "the program's executor has ended, and it cannot go on in another: " : "";
    LoseExecutor({.code = attached.error().code, .text = to_do + attached.error().text});
  }
  UnlockAndRunDeferred(&lock);
}

// What it has was to be had in this one, too.
void GpuSpace::NoteRefusal(const ExecutorLink& executor) {
  if (executor.HasEnded() || executor.Failure()) counters_.Add(metrics::Counter::executor_ends);
  std::lock_guard lock(mutex_);
  if (executor.is_alone() || lost_) return;  // who loses it has it killed
  if (executor.RequestMayHaveEndedIt())
    suspicion_.Note();
  else if (!executor.HasEnded() && !executor.Failure())
    suspicion_.StayAlone();
}

// On the thread for what waits.
void GpuSpace::GoOnElsewhere(const PlaceEnd& last, const Error& why, size_t again) {
  const uint64_t begin_ns = NowNs();
  if (!last.Await(kOthersLeaveMs)) last.EndExecutor();
  Status gone;
  if (!last.Await(kEndPatienceMs)) gone = Fail(why.code, "it does not come to its end");
  if (gone && !current_.AwaitClosed(kEndPatienceMs)) gone = Fail(why.code, "what it has sent cannot be closed");
  current_.ForgetWhatIsOver();
  AwaitMover();  // it may be about to leave the one that has ended
  if (gone) AcquireExecutor(Takes::kAll, current_.Replacing());
  std::unique_lock lock(mutex_);
  if (!gone) LoseExecutor({.code = why.code, .text = why.text + "; " + gone.error().text});
  const bool goes_on = executor_ != nullptr;
  UnlockAndRunDeferred(&lock);
  constexpr uint64_t kNsPerMs = 1'000'000;
  if (goes_on) counters_.Add(metrics::Counter::recoveries);
  if (goes_on)
    log::Info("A program goes on in another executor after {} ms, with {} records given again: {}",
              (NowNs() - begin_ns) / kNsPerMs, again, why.text);
}

}  // namespace tutti::device::gpu
