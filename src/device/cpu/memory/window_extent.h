// How much of a client's window, or of a part of it, has memory behind it in the server. Touching a page of a memory
// file allocates it, even by reading: a kernel that walked through its window would fill the machine's memory with
// pages that are counted against nobody. So a window begins as read-only zeros (a write is the kernel's fault), and its
// memory file is mapped over them, from the begin to a little beyond its allocations. Reads never fault, since vector
// loads read for inactive lanes, too.
//
// The client's own mapping is unaffected. Not thread-safe (WindowMemory holds the lock).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace tutti::device::cpu {

class WindowExtent {
 public:
  // Makes all of the window at `base` read-only zeros. Once, before anything else. Fails where the system has no room
  // for another mapping.
  static Status Close(uint64_t base, uint64_t bytes);
  // Of a closed window with memory file `fd`, borrowed; or of its read-only part that begins at `fd_offset`.
  WindowExtent(uint64_t base, uint64_t bytes, int fd) : WindowExtent(base, bytes, fd, 0, true) {}
  static WindowExtent ReadOnly(uint64_t base, uint64_t bytes, int fd, uint64_t fd_offset) {
    return {base, bytes, fd, fd_offset, false};
  }

  // Opens it up to `end` at least. OUT_OF_MEMORY if the system has no room for another mapping.
  Status OpenTo(uint64_t end);
  uint64_t open_bytes() const { return open_bytes_.load(std::memory_order_relaxed); }
  // The opened length, for readers without the lock. Async-signal-safe.
  uint64_t reach() const { return open_bytes_.load(std::memory_order_acquire); }
  const std::atomic<uint64_t>& reach_word() const { return open_bytes_; }  // to acquire

 private:
  WindowExtent(uint64_t base, uint64_t bytes, int fd, uint64_t fd_offset, bool writable)
      : base_(base), bytes_(bytes), fd_(fd), fd_offset_(fd_offset), writable_(writable) {}

  const uint64_t base_;
  const uint64_t bytes_;
  const int fd_;
  const uint64_t fd_offset_;
  const bool writable_;
  std::atomic<uint64_t> open_bytes_{0};  // released by OpenTo; reach() and kernels' launches acquire
};

}  // namespace tutti::device::cpu
