#include "libraries/fft/handles.h"

#include <mutex>
#include <unordered_map>

namespace tutti::fft {
namespace {

struct Plans {
  std::mutex mutex;
  std::unordered_map<FftHandle, std::shared_ptr<Plan>> by_handle;
  FftHandle next = 1;
};

// Never destroyed: plans that a program leaves behind end with its contexts.
Plans& AllPlans() {
  static Plans& plans = *new Plans;
  return plans;
}

}  // namespace

FftHandle AddPlan() {
  auto plan = std::make_shared<Plan>();
  Plans& plans = AllPlans();
  const std::lock_guard lock(plans.mutex);
  // Numbers come again only after 2^31 plans.
  while (plans.by_handle.contains(plans.next)) plans.next = plans.next == 0x7fffffff ? 1 : plans.next + 1;
  const FftHandle handle = plans.next;
  plans.next = handle == 0x7fffffff ? 1 : handle + 1;
  plans.by_handle.emplace(handle, std::move(plan));
  return handle;
}

std::shared_ptr<Plan> FindPlan(FftHandle handle) {
  Plans& plans = AllPlans();
  const std::lock_guard lock(plans.mutex);
  const auto found = plans.by_handle.find(handle);
  return found == plans.by_handle.end() ? nullptr : found->second;
}

bool RemovePlan(FftHandle handle) {
  std::shared_ptr<Plan> plan;  // ends after the lock
  Plans& plans = AllPlans();
  const std::lock_guard lock(plans.mutex);
  const auto found = plans.by_handle.find(handle);
  if (found == plans.by_handle.end()) return false;
  plan = std::move(found->second);
  plans.by_handle.erase(found);
  return true;
}

}  // namespace tutti::fft
