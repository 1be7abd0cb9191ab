// The device window in the client's process.
//
// A plain mapping would have two side effects on an unsuspecting program: mlockall would populate all of it, 16 GiB or
// more, and a forked child would share the parent's memory and keep it alive after the parent's end. Therefore:
//
//   access  The window is mapped PROT_NONE and opened as far as allocations reach, and a little further. mlockall does
//           not populate pages that cannot be accessed. A device part that clients do not reach is never opened.
//   fork    A child inherits pinned host memory, shared with its parent, and nothing else, as on a GPU: there a child
//           inherits the driver's mappings of pinned memory, must not access managed memory, and device memory has no
//           host mapping.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/checked.h"
#include "base/error.h"
#include "os/fd.h"
#include "os/memory.h"
#include "wire/window_shape.h"

namespace tutti::ipc {

// Thread-safe.
class ClientWindow {
 public:
  // The error's code is EEXIST if anything is mapped there already.
  static Result<ClientWindow> Map(uint64_t address, os::Fd file, const wire::WindowShape& shape);
  ClientWindow(ClientWindow&& other) noexcept
      : file_(std::move(other.file_)), mapping_(std::move(other.mapping_)), shape_(other.shape_) {}

  // Its memory file.
  int fd() const { return file_.get(); }

  // Makes [address, address + bytes), which lies in one part of the window, accessible as far as this process reaches
  // it. False if the range does not lie in the window or the kernel refuses another mapping.
  bool Open(uint64_t address, uint64_t bytes) {
    if (bytes == 0) return true;
    if (!InRange(address - base(), bytes, mapping_.size())) return false;
    if (address < border()) {
      const uint64_t depth = border() - address;
      return depth <= below_.load(std::memory_order_acquire) || OpenDown(depth);
    }
    const uint64_t height = address - border() + bytes;
    if (address - base() < shape_.constants_begin() && height > shape_.device_bytes) return true;  // reserved
    return !shape_.device_part_reachable || height <= above_.load(std::memory_order_acquire) ||
           OpenUp(address - border(), height);
  }
  // Share lets forked children inherit these (whole) pages, until Hide. Only kMostShared ranges at a time are shared,
  // since each may take one of the process's limited number of mappings.
  void Share(uint64_t address, uint64_t bytes);
  void Hide(uint64_t address, uint64_t bytes);
  void Unmap() { mapping_.Unmap(); }

 private:
  static constexpr uint32_t kMostShared = 4096;

  ClientWindow(os::Fd file, os::Mapping mapping, const wire::WindowShape& shape)
      : file_(std::move(file)), mapping_(std::move(mapping)), shape_(shape) {}
  uint64_t base() const { return reinterpret_cast<uint64_t>(mapping_.data()); }
  uint64_t border() const { return base() + shape_.host_bytes; }  // between the host part and the device part
  bool OpenDown(uint64_t depth);
  bool OpenUp(uint64_t begin, uint64_t end);

  os::Fd file_;
  os::Mapping mapping_;
  const wire::WindowShape shape_;
  std::mutex mutex_;  // of opening
  std::atomic<uint64_t> below_{0};  // bytes that are open below the border
  std::atomic<uint64_t> above_{0};  // ... and above it
  std::atomic<uint32_t> shared_{0};
};

}  // namespace tutti::ipc
