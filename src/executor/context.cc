#include "executor/context.h"

#include <algorithm>

#include "executor/own_stream.h"
#include "os/futex.h"

namespace tutti::executor {

using namespace cuda;

void Context::Add(Exchange* place) {
  std::lock_guard lock(mutex_);
  places_.insert(place);
}

void Context::Remove(Exchange* place) {
  {
    std::lock_guard lock(mutex_);
    places_.erase(place);
  }
  std::lock_guard lock(limits_mutex_);
  const auto gone = limits_.extract(place);
  if (!gone || lost()) return;
  if (anything_runs()) return;
  for (auto& [limit, bytes] : set_limits_) {
    const uint64_t left = Largest(limit);
    if (left != 0 && left < bytes && vendor_.cuCtxSetLimit(limit, left) == CUDA_SUCCESS) bytes = left;
  }
}

bool Context::IsAlone(Exchange* place) {
  std::lock_guard lock(mutex_);
  return places_.size() == 1 && places_.contains(place);
}

Status Context::Open() {
  TUTTI_ASSIGN(idle_, CreateOwnStream(vendor_));
  return {};
}

// What a driver has said is enough: by its documentation such an error stays. Else several calls are asked, since no
// document says of a call that it always tells what earlier work has done: of cuStreamQuery, that it may; of
// cuEventCreate it has been seen. An event that is recorded nowhere is reached, and so is a stream in which nothing is.
bool Context::IsLost() const {
  if (vendor_.has_said_the_end()) return true;
  // No room for one more event says nothing of the context.
  const auto is_bad = [](CUresult status) {
    return status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY && status != CUDA_ERROR_OUT_OF_MEMORY;
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
  failure_ = error;
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

uint64_t Context::Largest(CUlimit limit) const {
  uint64_t largest = 0;
  for (const auto& [place, limits] : limits_) {
    if (const auto asked = limits.find(limit); asked != limits.end()) largest = std::max(largest, asked->second);
  }
  return largest;
}

Status Context::SetLimit(Exchange* place, CUlimit limit, uint64_t bytes) {
  std::lock_guard lock(limits_mutex_);
  auto& limits = limits_[place];
  const auto before = limits.find(limit) == limits.end() ? 0 : limits[limit];
  limits[limit] = bytes;
  const uint64_t largest = Largest(limit);
  // What is set is enough, and to set it may wait for another place's kernel.
  if (anything_runs() && !IsAlone(place) && largest <= set_limits_[limit]) return {};
  const Status set = vendor_.Check(vendor_.cuCtxSetLimit(limit, largest), "cuCtxSetLimit");
  if (set) {
    set_limits_[limit] = largest;
    return set;
  }
  if (before != 0)
    limits[limit] = before;
  else
    limits.erase(limit);
  return set;
}

}  // namespace tutti::executor
