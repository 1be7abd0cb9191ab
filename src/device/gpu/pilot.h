// The thread of a GPU backend: takes records from the clients' rings, as the idle threads of other backends do
// (Backend::IdleWork), and looks what executors have done. It sleeps where there is nothing to do, and is woken by the
// rings' bells, by executors, and by the end of one.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.h"
#include "os/fd.h"

namespace tutti::device::gpu {

class GpuSpace;

class Pilot {
 public:
  Pilot();
  ~Pilot();
  Pilot(const Pilot&) = delete;

  // Thread-safe. When Remove returns, the pilot is not in the Space and will not be.
  void Add(GpuSpace* space);
  void Remove(GpuSpace* space);
  // A Space has another executor, which does not know yet whether the pilot sleeps.
  void Look() const;

  void SetIdleWork(Backend::IdleWork work);

 private:
  void Start();
  void Stop();
  void Run();
  bool Harvest(uint64_t now_ns);
  void CountTime(uint64_t now_ns);
  void LookForEnds();
  void Sleep();

  os::Fd bell_;  // our own threads'
  Backend::IdleWork work_;  // while the thread does not run
  std::mutex mutex_;
  std::vector<GpuSpace*> spaces_;
  uint64_t counted_ns_ = 0;  // the pilot's: up to when
  uint64_t computing_ = 1;  // Spaces, then
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tutti::device::gpu
