// The parts of a client's window. It has the same addresses in the client and in the server:
//
//   [base, base + host_bytes)            the host part: memory that the client reads and writes itself: pinned and
//                                        managed memory, staging memory, long launch arguments
//   [base + host_bytes, base + bytes)    the device part: what only the device need reach
//
// Memory grows from the border between them to both sides.
#pragma once

#include <cstdint>

namespace tutti::wire {

struct WindowShape {
  uint64_t bytes = 0;
  uint64_t host_bytes = 0;
  // Whether clients and server may read and write the device part with their own loads and stores, too.
  bool device_part_reachable = true;

  // So many bytes from the window's begin they may read and write themselves.
  uint64_t reachable_bytes() const { return device_part_reachable ? bytes : host_bytes; }
};

}  // namespace tutti::wire
