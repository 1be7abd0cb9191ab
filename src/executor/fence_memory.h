// The driver's memory that fences take (executor/fence.h), for all places of an executor.
//
// What a place gives back is kept for the next one. A driver may wait for all kernels of the context before it frees
// memory (cuMemFree, by its documentation, "implicitly"), and have others wait that call it meanwhile: at the end of
// one client's place an endless kernel of another's would be in everybody's way. All of it goes with the process.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "executor/vendor.h"
#include "guest/gpu/fenced_ptx.h"
#include "guest/gpu/print_fifo.h"

namespace tutti::executor {

// Thread-safe; the context is current in all threads.
class FenceMemory {
 public:
  // Pinned, and as kernels see it.
  struct Host {
    alignas(4096) guest::FenceFault fault;
    alignas(4096) guest::PrintFifo prints;
  };
  struct Piece {
    cuda::CUdeviceptr device = 0;
    uint64_t device_bytes = 0;
    Host* host = nullptr;
    cuda::CUdeviceptr host_address = 0;
  };

  explicit FenceMemory(const Vendor& vendor) : vendor_(vendor) {}

  // The host's is zeros, the device's anything.
  Result<Piece> Take(uint64_t device_bytes);
  // Nothing uses it any more.
  void GiveBack(const Piece& piece);

 private:
  Result<Piece> Allocate(uint64_t device_bytes) const;

  const Vendor& vendor_;
  std::mutex mutex_;
  std::vector<Piece> free_;
};

}  // namespace tutti::executor
