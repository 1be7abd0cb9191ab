// How far a client's window, or a part of it, has memory behind it, in the server. Whoever touches a page of a memory
// file makes it, even by reading: a kernel that walked through its window would fill the machine's memory with pages
// that nobody counts. So a window begins as zeros that can be read and not be written (a fault of the kernel that
// tries), and its memory file is mapped over them from the begin as far as its allocations reach, and a little further.
// Reads do not fault, since vector loads read what inactive lanes would have asked for.
//
// The client's own mapping is not touched by this. Not thread-safe (WindowMemory holds the lock).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace tutti::device::cpu {

class WindowExtent {
 public:
  // Makes all of the window, which is mapped at `base`, zeros that cannot be written. Once, before anything else. Fails
  // where the system has no room for another mapping.
  static Status Close(uint64_t base, uint64_t bytes);
  // Of a closed window, whose memory file is `fd`, borrowed; or of the part of it that begins at `fd_offset`, and that
  // can be read only.
  WindowExtent(uint64_t base, uint64_t bytes, int fd) : WindowExtent(base, bytes, fd, 0, true) {}
  static WindowExtent ReadOnly(uint64_t base, uint64_t bytes, int fd, uint64_t fd_offset) {
    return {base, bytes, fd, fd_offset, false};
  }

  // Opens it up to `end` at least. OUT_OF_MEMORY if the system has no room for another mapping.
  Status OpenTo(uint64_t end);
  uint64_t open_bytes() const { return open_bytes_.load(std::memory_order_relaxed); }
  // The same, for those who hold no lock: what it says has been opened before. Async-signal-safe.
  uint64_t reach() const { return open_bytes_.load(std::memory_order_acquire); }

 private:
  WindowExtent(uint64_t base, uint64_t bytes, int fd, uint64_t fd_offset, bool writable)
      : base_(base), bytes_(bytes), fd_(fd), fd_offset_(fd_offset), writable_(writable) {}

  const uint64_t base_;
  const uint64_t bytes_;
  const int fd_;
  const uint64_t fd_offset_;
  const bool writable_;
  std::atomic<uint64_t> open_bytes_{0};  // released by OpenTo; reach() acquires
};

}  // namespace tutti::device::cpu
