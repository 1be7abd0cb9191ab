// The device window in the client's process.
//
// A plain mapping of it would do two things to a program that knows nothing of it. mlockall would make every page of
// it, 16 GiB or more. And a forked child would share all of the parent's memory, and keep it when the parent has ended.
// So:
//
//   access  The window begins without any, and is opened as far as allocations reach, and a little further. What cannot
//           be accessed is not populated by mlockall.
//   fork    A child inherits pinned host memory, which it shares with its parent, and nothing else. That is what it has
//           on a GPU: the driver's mappings of pinned memory are inherited, managed memory is not to be accessed in
//           a child, and device memory has no mapping in the host.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/checked.h"
#include "base/error.h"
#include "os/fd.h"
#include "os/memory.h"

namespace tutti::ipc {

// Thread-safe.
class ClientWindow {
 public:
  // The error's code is EEXIST if anything is mapped there already.
  static Result<ClientWindow> Map(uint64_t address, os::Fd file, uint64_t bytes);
  ClientWindow(ClientWindow&& other) noexcept : file_(std::move(other.file_)), mapping_(std::move(other.mapping_)) {}

  // Its memory file.
  int fd() const { return file_.get(); }

  // [address, address + bytes) may be accessed from now on. False if it does not lie in the window, or the system has
  // no room for another mapping.
  bool Open(uint64_t address, uint64_t bytes) {
    if (bytes == 0) return true;
    if (!InRange(address - base(), bytes, mapping_.size())) return false;
    const uint64_t end = address - base() + bytes;
    return end <= opened_.load(std::memory_order_acquire) || OpenTo(address, end);
  }
  // Children inherit these pages, until Hide; whole pages. Beyond kMostShared pieces at a time they do not: each may be
  // a mapping of its own, of which a process has few.
  void Share(uint64_t address, uint64_t bytes);
  void Hide(uint64_t address, uint64_t bytes);
  void Unmap() { mapping_.Unmap(); }

 private:
  static constexpr uint32_t kMostShared = 4096;

  ClientWindow(os::Fd file, os::Mapping mapping) : file_(std::move(file)), mapping_(std::move(mapping)) {}
  uint64_t base() const { return reinterpret_cast<uint64_t>(mapping_.data()); }
  bool OpenTo(uint64_t address, uint64_t end);

  os::Fd file_;
  os::Mapping mapping_;
  std::mutex mutex_;  // of opening
  std::atomic<uint64_t> opened_{0};  // bytes from the begin
  std::atomic<uint32_t> shared_{0};
};

}  // namespace tutti::ipc
