// What a server says for the machine's other servers to read: a memory file that it alone writes (os::SealForReaders).
// The daemon makes it and introduces the servers to each other (ServerPeer). Hostile like anything that a server says:
// it runs as its user.
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/limits.h"

namespace tutti::wire {

struct ServerPage {
  struct alignas(64) Device {
    uint8_t uuid[16];
    std::atomic<uint64_t> used_bytes;  // by its clients
    // What its clients want of the SMs' time, until `wanted_until_ns` of NowNs(): weights, and SMs, in thousandths.
    std::atomic<uint64_t> wanted_until_ns;
    std::atomic<uint32_t> wanted_weight;
    std::atomic<uint32_t> wanted_sms;
  };
  std::atomic<uint32_t> written;  // the rest holds
  uint32_t device_count;
  Device devices[kMaxDevices];
};

}  // namespace tutti::wire
