// What keeps the fenced kernels of one client in its memory, where others have places in the same context
// (guest/gpu/fenced_ptx.h): the map of its window, the words of its modules, the record of a fault, the FIFO of prints.
//
// All of it is memory of the driver's outside of the windows. Words and the map are written by copies, which need no
// part of the device that an endless kernel may hold.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "executor/fence_memory.h"
#include "executor/print_fifo.h"
#include "executor/vendor.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::executor {

class Fence {
 public:
  // `memory` outlives it.
  Fence(const Vendor& vendor, FenceMemory* memory) : vendor_(vendor), memory_(memory) {}

  // The window, before anything is mapped in its device part; all of its host part may be used by copies.
  Status Open(uint64_t base, uint64_t host_bytes, uint64_t device_bytes);
  bool is_open() const { return fault_ != nullptr; }

  // What has memory from now on, or no more. Slabs that are there in part have none. Of one thread, as are modules;
  // less memory, or none that can be written, only while no kernel and no copy of the client runs.
  Status SetMemory(uint64_t address, uint64_t bytes, uint8_t bits);
  // Fills in a module's words. A module that has none has not been fenced.
  Status Enter(uint32_t number, cuda::CUmodule module);
  void Leave(uint32_t number);
  // Kernels that jump back end soon.
  Status Stop();
  // What launches find that begin, and which have: guest::LaunchGates::begun. Of one thread.
  Status SetVerdict(guest::LaunchVerdict verdict) const;
  Status ReadBegun(std::span<uint64_t, guest::kLaunchGates> begun) const;
  // `is_over`: nothing runs any more, as far as the driver says. Else kernels may still write what there is: it is
  // given to nobody.
  Status Close(bool is_over = true);

  // The fault that a kernel has recorded. Thread-safe.
  std::optional<guest::FenceFault> Fault() const;
  // One is being recorded: it will be there in a moment. Thread-safe.
  bool IsFaulting() const;
  // What kernels have printed. Of one thread.
  PrintFifo::Texts TakePrints() { return prints_.Take(); }
  // Whether copies may touch these bytes; what lies in no window is not known here. Thread-safe.
  bool Allows(uint64_t address, uint64_t bytes, bool writes) const;

 private:
  Status Write(cuda::CUdeviceptr to, const void* bytes, size_t count) const;
  Status Copy(cuda::CUdeviceptr to, cuda::CUdeviceptr from, size_t count) const;
  Status Grow();

  const Vendor& vendor_;
  FenceMemory* const memory_;
  cuda::CUstream stream_ = nullptr;
  uint64_t base_ = 0, host_bytes_ = 0, bytes_ = 0;  // of the window
  FenceMemory::Piece piece_;
  cuda::CUdeviceptr map_ = 0, printed_ = 0, stop_ = 0, gates_ = 0;  // in its device part
  cuda::CUdeviceptr fault_address_ = 0;
  guest::FenceFault* fault_ = nullptr;  // the same record, as this process has it
  PrintFifo prints_;
  std::map<uint32_t, cuda::CUdeviceptr> words_;  // by module
  uint64_t run_bytes_ = 0;  // that modules have been told
  mutable std::mutex mutex_;  // shadow_
  std::vector<uint8_t> shadow_;  // what is in the map
};

}  // namespace tutti::executor
