#include "executor/context.h"

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "executor/own_stream.h"
#include "os/futex.h"

namespace tutti::executor {

using namespace cuda;

void Context::Add(Exchange* place) {
  limits_.Add(place);
  std::lock_guard lock(mutex_);
  places_.insert(place);
}

void Context::Remove(Exchange* place) {
  {
    std::lock_guard lock(mutex_);
    places_.erase(place);
  }
  limits_.Forget(place);
}

bool Context::IsAlone(Exchange* place) {
  std::lock_guard lock(mutex_);
  return places_.size() == 1 && places_.contains(place);
}

Status Context::Open() {
  TUTTI_ASSIGN(idle_, CreateOwnStream(vendor_));
  limits_.Open();
  return {};
}

// What a driver has said is enough: by its documentation such an error stays. Else several calls are asked, since no
// document says of a call that it always tells what earlier work has done: of cuStreamQuery, that it may; of
// cuEventCreate it has been seen. An event that is recorded nowhere is reached, and so is a stream in which nothing is.
bool Context::IsLost() const {
  if (vendor_.has_said_the_end()) return true;
  // No room for one more event says nothing of the context, nor that it is not this thread's.
  const auto is_bad = [](CUresult status) {
    return status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY && status != CUDA_ERROR_OUT_OF_MEMORY &&
           status != CUDA_ERROR_INVALID_CONTEXT;
  };
  if (idle_ != nullptr && is_bad(vendor_.cuStreamQuery(idle_))) return true;
  CUevent event = nullptr;
  if (const CUresult made = vendor_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING); made != CUDA_SUCCESS)
    return is_bad(made);
  const CUresult looked = vendor_.cuEventQuery(event), destroyed = vendor_.cuEventDestroy_v2(event);
  return is_bad(looked) || is_bad(destroyed);
}

void Context::NoteFailure(const Error& error) {
  if (lost() || !IsLost()) return;  // without the lock, which those want who give records to the driver
  std::lock_guard lock(mutex_);
  if (lost()) return;
  failure_ = vendor_.end().value_or(error);  // who comes first may have an error of its own to tell
  lost_.store(true, std::memory_order_release);
  for (Exchange* const place : places_) {
    place->bell.fetch_add(1, std::memory_order_seq_cst);
    os::FutexWake(&place->bell);
  }
}

Error Context::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

tutti::Result<uint64_t> Context::SetLimit(Exchange* place, CUlimit limit, uint64_t bytes, bool may_wait) {
  return limits_.Set(place, limit, bytes, may_wait,
                     [&] { return !anything_runs() || (may_wait && IsAlone(place) && RunsNothingSoon()); });
}

// What has been waited for may not be known here yet. The driver is not asked meanwhile: its call would wait for an
// endless kernel, and whoever comes would wait for the call.
bool Context::RunsNothingSoon() const {
  constexpr uint64_t kPatienceNs = 100'000'000;
  constexpr std::chrono::microseconds kLook{50};
  for (const uint64_t since_ns = NowNs(); anything_runs() && !lost() && NowNs() - since_ns < kPatienceNs;)
    std::this_thread::sleep_for(kLook);
  return !anything_runs();
}

void Context::LowerLimits() {
  const Status lowered = limits_.Lower([this] { return !anything_runs() && !lost(); });
  if (!lowered) NoteFailure(lowered.error());
}

}  // namespace tutti::executor
