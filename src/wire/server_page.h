// What a server says for the machine's other servers to read: a memory file that it alone writes (os::SealForReaders).
// The daemon makes it and introduces the servers to each other (ServerPeer). Hostile like anything that a server says:
// it runs as its user.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/limits.h"

namespace tutti::wire {

struct ServerPage {
  static constexpr uint32_t kMostDemands = 32;
  // What its clients of one priority that may use the same SMs want of these SMs' time: weights, and SMs, in
  // thousandths. Words of different times may stand beside each other.
  struct alignas(64) Demand {
    std::atomic<uint32_t> band;  // of priorities; 0 precedes all others
    std::atomic<uint32_t> weight;
    std::atomic<uint32_t> sms;      // of late, on average
    std::atomic<uint32_t> sms_now;
    std::atomic<uint64_t> region[8];  // a bit for each SM
  };
  struct alignas(64) Device {
    uint8_t uuid[16];
    std::atomic<uint64_t> used_bytes;  // by its clients
    std::atomic<uint64_t> wanted_until_ns;  // of NowNs(); the demands hold until then
    std::atomic<uint32_t> demand_count;
    std::atomic<uint64_t> leaving_bytes;  // of those in use: of clients that have ended
    Demand demands[kMostDemands];
  };
  static_assert(offsetof(Device, demands) == 64, "an earlier version's page has the same places");
  std::atomic<uint32_t> written;  // the rest holds
  uint32_t device_count;
  Device devices[kMaxDevices];
};

}  // namespace tutti::wire
