// A range of a device's SMs. A list of ranges says which SMs a client may use.
#pragma once

#include <cstdint>

namespace tutti::wire {

// `count` SMs from `first_sm` on; 0: no SM of that device. A list grants all SMs of a device that it does not name.
struct SmRange {
  uint32_t device = 0;
  uint32_t first_sm = 0;
  uint32_t count = 0;

  bool operator==(const SmRange&) const = default;
};

}  // namespace tutti::wire
