// Copies from the host part of a window to the host part. A driver makes such a copy at once, whatever the stream: its
// call returns when the copy is made, and so waits for all that comes before it (the driver API's chapter on how its
// calls synchronize, of asynchronous copies). The records of all other streams would wait with it, one of which may be
// what a kernel there waits for. So a function of the host makes it, which the stream calls.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "executor/protocol/dispatch.h"
#include "executor/vendor.h"

namespace tutti::executor {

class HostCopies {
 public:
  explicit HostCopies(const Vendor& vendor) : vendor_(vendor) {}

  // The host part lies there, in this process, from now until nothing is copied any more. On any thread.
  void Open(uint64_t base, uint64_t bytes);
  // All that the copy reads and writes lies in the host part.
  bool Has(const CopyDispatch& copy) const;
  Status Copy(cuda::CUstream stream, const CopyDispatch& copy) const;

 private:
  bool Holds(uint64_t address, uint64_t bytes) const;

  const Vendor& vendor_;
  std::atomic<uint64_t> base_{0}, bytes_{0};
};

}  // namespace tutti::executor
