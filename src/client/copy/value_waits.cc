#include "client/copy/value_waits.h"

#include "client/context/context.h"
#include "client/copy/host_calls.h"
#include "os/futex.h"

namespace tutti::client {

ValueWaits& ValueWaits::Get() {
  static auto* const instance = [] {
    auto* const made = new ValueWaits;
    Attachment::OnWindUp(Attachment::OwnWork::kValueWaits, [](uint32_t device) { Get().Abandon(device); });
    return made;
  }();
  return *instance;
}

int ValueWaits::Submit(Stream& stream, const ValueCondition& condition) {
  Handle wait;
  {
    std::lock_guard lock(mutex_);
    wait = waits_.insert(
        waits_.end(),
        {.condition = condition, .attachment = &Attachment::Get(), .device = stream.context().device().index()});
  }
  const int status = SubmitValueWait(stream, wait);
  if (status != 0) Forget(wait);
  return status;
}

// Reads under the lock: once Abandon has returned, the window may go.
bool ValueWaits::Ended(Handle wait, int status) {
  std::lock_guard lock(mutex_);
  if (status == 0 && !wait->abandoned && !wait->condition.Holds()) return false;
  waits_.erase(wait);
  return true;
}

void ValueWaits::Forget(Handle wait) {
  std::lock_guard lock(mutex_);
  waits_.erase(wait);
}

void ValueWaits::WakeLooker() {
  hurry_.store(true, std::memory_order_relaxed);
  os::FutexWake(&Attachment::Get().channel().host_calls.produced);
}

void ValueWaits::Abandon(uint32_t device) {
  const Attachment& attachment = Attachment::Get();
  std::lock_guard lock(mutex_);
  for (Wait& wait : waits_) {
    if (wait.attachment == &attachment && (device == Attachment::kEveryDevice || wait.device == device))
      wait.abandoned = true;
  }
}

}  // namespace tutti::client
