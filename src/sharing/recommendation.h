// Recommends the number of clients of a device from the observed use of its clients.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tutti::sharing {

struct ClientUse {
  double busy = 0;            // of the device's time, 0 .. 1, over the observation
  uint64_t memory_bytes = 0;  // its peak
  bool waited = false;        // for longer than it ran: it could have used more
};

struct Recommendation {
  int64_t clients = 0;  // 1 to 48; 0: no data
  int64_t by_memory = 0;
  int64_t by_compute = 0;
  double utilisation = 0;         // of the device's time, now
  double wasted_memory_bytes = 0; // memory that no client holds
  double cost_efficiency = 0;     // the larger of the used parts of time and of memory
  std::string reason;             // one line
};

// Memory: as many clients of the largest one's size as fit. Compute: as many average clients as fill nine tenths of the
// device, but no more than now if clients already wait for it.
Recommendation Recommend(uint64_t total_bytes, std::span<const ClientUse> clients);

}  // namespace tutti::sharing
