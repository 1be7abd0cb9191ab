#include "device/cpu/schedule/errands.h"

#include <algorithm>
#include <utility>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {

// There is seldom more than one: no need to copy the room for more.
Errands::Errands(Errands&& other) noexcept : request_count_(std::exchange(other.request_count_, 0)) {
  std::copy_n(other.requests_.begin(), request_count_, requests_.begin());
}

void Errands::Add(const RescheduleRequest& request) {
  if (request_count_ == requests_.size()) {
    request.scheduler->Perform(request);
    return;
  }
  requests_[request_count_++] = request;
}

void Errands::Run() const {
  for (uint32_t i = 0; i < request_count_; ++i) requests_[i].scheduler->Perform(requests_[i]);
}

}  // namespace tutti::device::cpu
