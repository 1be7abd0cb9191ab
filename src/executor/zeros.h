// Zeros on the host, from which memory of the device is cleared by copies.
//
// A GPU's driver does fills by kernels of its own, which wait for room on the device like others: in a context that
// places share an endless kernel of one would hold up whoever allocates memory. Copies from pinned memory have engines
// of their own. They are as fast as the bus, fills as the device's memory.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "executor/vendor.h"

namespace tutti::executor {

// Thread-safe; the context is current in all threads.
class Zeros {
 public:
  // Of the process, for all of its places, and for as long as it runs. Before anything runs: a driver may wait for that
  // (cuMemHostAlloc).
  explicit Zeros(const Vendor& vendor);
  Zeros(const Zeros&) = delete;

  // False: the driver had no memory for them.
  bool any() const { return zeros_ != nullptr; }
  // In that order with what is in the stream.
  Status CopyTo(cuda::CUdeviceptr to, uint64_t bytes, cuda::CUstream stream) const;

 private:
  static constexpr uint64_t kBytes = 2 << 20;

  const Vendor& vendor_;
  void* zeros_ = nullptr;
};

}  // namespace tutti::executor
