// How much of a client's window, or of a part of it, has memory behind it in the server. Touching a page of a memory
// file allocates it, even by reading: a kernel that walked through its window would fill the machine's memory with
// pages that are counted against nobody. So a window begins as read-only zeros (a write is the kernel's fault), and its
// memory file is mapped over them, as far as allocations reach and a little further. Reads never fault, since vector
// loads read for inactive lanes, too.
//
// What is open is one range around an origin, so that a kernel's check of an address is one comparison, wherever in the
// window memory was allocated (device/cpu/memory/window_memory.h: pinned memory below the origin, the device's above).
//
// The client's own mapping is unaffected. Not thread-safe (WindowMemory holds the lock).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/checked.h"
#include "base/error.h"

namespace tutti::device::cpu {

class WindowExtent {
 public:
  // Makes all of the window at `base` read-only zeros. Once, before anything else. Fails where the system has no room
  // for another mapping.
  static Status Close(uint64_t base, uint64_t bytes);
  // Of a closed window with memory file `fd`, borrowed, whose memory grows from `origin` to both sides.
  WindowExtent(uint64_t base, uint64_t bytes, int fd, uint64_t origin)
      : WindowExtent(base, bytes, fd, 0, origin, true) {}
  // Of the read-only part of a closed window that begins at `fd_offset`: it grows from its begin.
  static WindowExtent ReadOnly(uint64_t base, uint64_t bytes, int fd, uint64_t fd_offset) {
    return {base, bytes, fd, fd_offset, base, false};
  }

  // Opens what lies between the origin and this range of the window, and the range. OUT_OF_MEMORY if the system has no
  // room for another mapping.
  Status Open(uint64_t begin, uint64_t end);
  // Whether these bytes are open. Without the lock. Async-signal-safe.
  bool Holds(uint64_t address, uint64_t bytes) const {
    const uint64_t begin = begin_.load(std::memory_order_acquire);
    return InRange(address - begin, bytes, end_.load(std::memory_order_acquire) - begin);
  }
  // The open range, for readers without the lock, who acquire. Both only ever move outwards.
  const std::atomic<uint64_t>& begin() const { return begin_; }
  const std::atomic<uint64_t>& end() const { return end_; }

 private:
  WindowExtent(uint64_t base, uint64_t bytes, int fd, uint64_t fd_offset, uint64_t origin, bool writable)
      : base_(base), bytes_(bytes), fd_(fd), fd_offset_(fd_offset), writable_(writable), begin_(origin), end_(origin) {}
  Status Map(uint64_t begin, uint64_t end) const;

  const uint64_t base_;
  const uint64_t bytes_;
  const int fd_;
  const uint64_t fd_offset_;
  const bool writable_;
  std::atomic<uint64_t> begin_;  // released by Open
  std::atomic<uint64_t> end_;
};

}  // namespace tutti::device::cpu
