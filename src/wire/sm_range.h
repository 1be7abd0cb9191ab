// SMs of a device, by number. What a client may use is a list of these.
#pragma once

#include <cstdint>

namespace tutti::wire {

// `count` SMs from `first_sm` on. A device that a list does not name: all of its SMs. A range of none: no SM of that
// device.
struct SmRange {
  uint32_t device = 0;
  uint32_t first_sm = 0;
  uint32_t count = 0;

  bool operator==(const SmRange&) const = default;
};

}  // namespace tutti::wire
