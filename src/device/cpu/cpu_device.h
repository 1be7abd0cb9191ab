// One device of the backend: its memory, its scheduler, its SMs.
#pragma once

#include <memory>
#include <vector>

#include "device/cpu/schedule/scheduler.h"
#include "device/cpu/settings.h"
#include "device/cpu/worker.h"
#include "device/memory_account.h"
#include "wire/channel_layout.h"

namespace tutti::device::cpu {

struct CpuDevice {
  CpuDevice(const CpuSettings& settings, const wire::DeviceInfo& described, Ticker* ticker, BlockPool* pool)
      : info(described),
        account(settings.memory_bytes),
        scheduler({.sms = settings.sms, .cores = settings.cores}, ticker, pool) {}

  const wire::DeviceInfo info;
  MemoryAccount account;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Worker>> workers;
};

}  // namespace tutti::device::cpu
