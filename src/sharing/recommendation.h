// How many clients a device should have, from what its clients have been seen to use.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tutti::sharing {

struct ClientUse {
  double busy = 0;            // of the device's time, 0 .. 1, over the time it was watched
  uint64_t memory_bytes = 0;  // the most it held
  bool waited = false;        // for longer than it ran: it wanted more
};

struct Recommendation {
  int64_t clients = 0;  // 1 to 48; 0: nothing to go by
  int64_t by_memory = 0;
  int64_t by_compute = 0;
  double utilisation = 0;         // of the device's time, now
  double wasted_memory_bytes = 0; // memory that no client holds
  double cost_efficiency = 0;     // the larger of the parts of time and of memory in use: what the money is spent on
  std::string reason;             // one line
};

// Memory: as many as the largest client would fit. Compute: as many as the average client fills the device to nine
// tenths with; not more than there are now if clients already wait for it.
Recommendation Recommend(uint64_t total_bytes, std::span<const ClientUse> clients);

}  // namespace tutti::sharing
