#include "executor/context.h"

#include <algorithm>

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
  for (const auto& [limit, bytes] : gone.mapped()) {
    const uint64_t left = Largest(limit);
    if (left != 0 && left < bytes) vendor_.cuCtxSetLimit(limit, left);  // a larger one does no harm
  }
}

bool Context::IsAlone(Exchange* place) {
  std::lock_guard lock(mutex_);
  return places_.size() == 1 && places_.contains(place);
}

void Context::NoteFailure(const Error& error) {
  CUevent event = nullptr;
  std::lock_guard lock(mutex_);
  if (lost()) return;
  // An event that is recorded nowhere is reached, unless the context is lost.
  CUresult status = vendor_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (status == CUDA_SUCCESS) {
    status = vendor_.cuEventQuery(event);
    const CUresult destroyed = vendor_.cuEventDestroy_v2(event);
    if (status == CUDA_SUCCESS) status = destroyed;
  }
  // No room for one more event says nothing of the context.
  if (status == CUDA_SUCCESS || status == CUDA_ERROR_NOT_READY || status == CUDA_ERROR_OUT_OF_MEMORY) return;
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
  const Status set = vendor_.Check(vendor_.cuCtxSetLimit(limit, Largest(limit)), "cuCtxSetLimit");
  if (set) return set;
  if (before != 0)
    limits[limit] = before;
  else
    limits.erase(limit);
  return set;
}

}  // namespace tutti::executor
