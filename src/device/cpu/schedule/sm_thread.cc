#include "device/cpu/schedule/sm_thread.h"

#include <utility>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

thread_local Scheduler* looks_at = nullptr;
thread_local SmState* own = nullptr;

}  // namespace

SmThread::SmThread(Scheduler* scheduler, uint32_t sm) {
  looks_at = scheduler;
  own = &scheduler->sm(sm);
}

SmThread::~SmThread() {
  looks_at = nullptr;
  own = nullptr;
}

bool SmThread::WillLook(const Scheduler* scheduler) { return looks_at == scheduler; }

SmAbsence::SmAbsence() : scheduler_(std::exchange(looks_at, nullptr)) {
  idle_ = scheduler_ != nullptr && own->task == nullptr;
  if (idle_) scheduler_->StepAway(*own);
}

SmAbsence::~SmAbsence() {
  if (idle_) scheduler_->ComeBack(*own);
  looks_at = scheduler_;
}

}  // namespace tutti::device::cpu
