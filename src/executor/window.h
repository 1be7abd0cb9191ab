// Its client's window, as the vendor's context sees it: a host part, which is a memory file of the server's that the
// device reaches at the same addresses, and above it the device part, in which memory is mapped by slabs.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/error.h"
#include "executor/context.h"
#include "executor/vendor.h"
#include "executor/zeros.h"
#include "os/fd.h"

namespace tutti::executor {

// Of one thread.
class Window {
 public:
  // The context is current. `place`: whose window it is. `zeros`: for memory that is cleared beside other places.
  Window(const Vendor& vendor, cuda::CUdevice device, Context* context, Exchange* place, const Zeros* zeros)
      : vendor_(vendor), device_(device), context_(context), place_(place), zeros_(zeros) {}

  // Returns its base: at `wish`, or where the driver puts it. In an executor each has addresses of its own.
  Result<uint64_t> Open(os::Fd host_file, uint64_t host_bytes, uint64_t device_bytes, uint64_t wish);
  // Where the driver has room for so many addresses in a row, at `wish` or elsewhere. Reserves nothing.
  Result<uint64_t> FindAddresses(uint64_t bytes, uint64_t wish) const;
  // Makes the device reach a range of the host part, once for each.
  Status AttachHost(uint64_t address, uint64_t bytes);

  // New memory of zeros at these addresses of the device part.
  Status MapSlab(uint64_t address, uint64_t bytes, bool shareable);
  Status UnmapSlab(uint64_t address, uint64_t bytes);
  // A descriptor of the shareable memory that was mapped there: whoever has it open keeps the memory.
  Result<os::Fd> ExportSlab(uint64_t address);
  // Shows all of the memory that an executor has exported, of so many bytes, at these addresses of the device part.
  Status MapMemory(uint64_t address, uint64_t bytes, const os::Fd& memory, bool writable);
  Status SetAccess(uint64_t address, uint64_t bytes, bool writable);
  Status Clear(uint64_t address, uint64_t bytes);
  // Gives everything back, when nothing uses it any more. Goes on after what fails, and returns the first of that.
  Status Close();
  Result<uint64_t> ReadWord(uint64_t address, uint64_t bytes);

 private:
  struct Memory {
    uint64_t bytes = 0;
    cuda::CUmemGenericAllocationHandle handle = 0;  // 0: the mapping holds it
    os::Fd file;  // that it is in, if the driver is ours
  };
  Result<Memory> Create(uint64_t bytes, bool shareable) const;
  Result<cuda::CUmemGenericAllocationHandle> Import(int descriptor) const;
  Status Show(uint64_t address, uint64_t bytes, cuda::CUmemGenericAllocationHandle memory, bool writable) const;
  bool IsWhole(uint64_t address, uint64_t bytes) const;
  Status OpenAt(uint64_t wish, const os::Fd& host_file);
  Status OpenHostInReserved(const os::Fd& host_file);
  Status OpenHostBelow(const os::Fd& host_file);
  Status AllowAccess(uint64_t address, uint64_t bytes, bool writable) const;
  bool InDevicePart(uint64_t address, uint64_t bytes) const;

  const Vendor& vendor_;
  const cuda::CUdevice device_;
  Context* const context_;
  Exchange* const place_;
  const Zeros* const zeros_;
  uint64_t base_ = 0;
  uint64_t host_bytes_ = 0;
  uint64_t device_bytes_ = 0;
  cuda::CUstream stream_ = nullptr;  // for clearing
  uint64_t reserved_ = 0, reserved_bytes_ = 0;  // by the driver
  bool host_is_mapped_ = false;
  os::Fd host_file_;  // open as long as it is mapped, for drivers that know memory of a process by its file
  std::vector<uint64_t> attached_;  // ranges of the host part that are registered
  std::map<uint64_t, Memory> mapped_;  // in the device part, by address
};

}  // namespace tutti::executor
