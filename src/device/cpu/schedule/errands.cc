#include "device/cpu/schedule/errands.h"

#include <algorithm>
#include <utility>

#include "device/cpu/schedule/scheduler.h"
#include "device/device.h"

namespace tutti::device::cpu {

// There is seldom more than one: no need to copy the room for more.
Errands::Errands(Errands&& other) noexcept
    : request_count_(std::exchange(other.request_count_, 0)), wake_count_(std::exchange(other.wake_count_, 0)) {
  std::copy_n(other.requests_.begin(), request_count_, requests_.begin());
  std::copy_n(other.wakes_.begin(), wake_count_, wakes_.begin());
}

void Errands::Add(const RescheduleRequest& request) {
  if (request_count_ == requests_.size()) return request.scheduler->Perform(request);
  requests_[request_count_++] = request;
}

void Errands::AddWake(uint32_t stream, Sink* sink) {
  if (wake_count_ == wakes_.size()) return sink->Wake(stream);
  wakes_[wake_count_++] = stream;
}

// SMs first: their work should be under way when the woken clients compete for their cores.
void Errands::Run(Sink* sink) const {
  for (uint32_t i = 0; i < request_count_; ++i) requests_[i].scheduler->Perform(requests_[i]);
  for (uint32_t i = 0; i < wake_count_; ++i) sink->Wake(wakes_[i]);
}

}  // namespace tutti::device::cpu
