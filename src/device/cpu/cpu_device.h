// One device of the backend: its memory, its scheduler, its SMs.
#pragma once

#include <memory>
#include <vector>

#include "device/cpu/schedule/scheduler.h"
#include "device/cpu/settings.h"
#include "device/cpu/worker.h"
#include "device/memory_account.h"

namespace tutti::device::cpu {

struct CpuDevice {
  CpuDevice(const CpuSettings& settings, Ticker* ticker, BlockPool* pool)
      : account(settings.memory_bytes), scheduler({.sms = settings.sms, .cores = settings.cores}, ticker, pool) {}

  MemoryAccount account;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Worker>> workers;
};

}  // namespace tutti::device::cpu
