// The parts of a client's window, in this order. It has the same addresses in the client and on the device (and, where
// that is one, in the server):
//
//   host        memory that the client reads and writes itself: pinned and managed memory, staging memory, long launch
//               arguments
//   device      what only the device need reach
//   reserved    addresses where the device maps memory, which may be another client's; clients reach there only what
//               they map themselves, memory of the host (kHostMemory)
//   constants   the rest, as the device part
//
// Memory grows from the border between the first two to both sides.
#pragma once

#include <cstdint>

namespace tutti::wire {

struct WindowShape {
  uint64_t bytes = 0;
  uint64_t host_bytes = 0;
  uint64_t device_bytes = 0;
  uint64_t reserved_bytes = 0;
  // Whether clients and server may read and write the device's memory with their own loads and stores, too.
  bool device_part_reachable = true;

  // As offsets in the window.
  uint64_t reserved_begin() const { return host_bytes + device_bytes; }
  uint64_t constants_begin() const { return reserved_begin() + reserved_bytes; }
  // What clients and server must not touch themselves.
  uint64_t unreached_begin() const { return device_part_reachable ? reserved_begin() : host_bytes; }
  uint64_t unreached_end() const { return device_part_reachable ? constants_begin() : bytes; }
  // All parts, so much smaller.
  WindowShape Over(uint64_t divisor) const {
    WindowShape smaller = *this;
    for (uint64_t WindowShape::* const part :
         {&WindowShape::bytes, &WindowShape::host_bytes, &WindowShape::device_bytes, &WindowShape::reserved_bytes})
      smaller.*part /= divisor;
    return smaller;
  }
  // Its parts fit into it.
  bool IsSound() const {
    return host_bytes <= bytes && device_bytes <= bytes - host_bytes &&
           reserved_bytes <= bytes - host_bytes - device_bytes;
  }
};

}  // namespace tutti::wire
