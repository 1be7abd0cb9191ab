// What others want of a device's time: the machine's other servers.
//
// A server says it in groups: clients of one priority that may use the same SMs. So others see which of their own
// clients these precede, and which SMs are in question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/sm_set.h"

namespace tutti::device {

inline constexpr size_t kMostDemands = 32;  // of one server

struct TimeDemand {
  double weight = 0;  // the percentages of the clients that have work, added up
  double sms = 0;     // that these could use at once: of late, on average
  double sms_now = 0;
  uint32_t band = 0;  // of client priorities; 0 precedes all others
  SmSet region;       // SMs that they may use, of those that the device has
  uint32_t server = 0;  // whose it is; of those heard
};

// Of one device. Thread-safe, short: called with locks held.
class TimePeers {
 public:
  virtual ~TimePeers() = default;
  // What this process's clients want, for the others to see until `until_ns` of NowNs(): at most kMostDemands.
  virtual void Say(std::span<const TimeDemand> demands, uint64_t until_ns) = 0;
  // Until when what was said holds instead.
  virtual void SayUntil(uint64_t until_ns) = 0;
  // `sms_now` of the demand that was said at this place.
  virtual void SayNow(size_t place, double sms_now) = 0;
  // What others want now: as many as there is room for. Returns how many.
  virtual size_t Hear(std::span<TimeDemand> room, uint64_t now_ns) const = 0;
  // SMs of `region` that clients of others could use at this moment, who precede those of `band`.
  virtual double HearUrgent(uint32_t band, const SmSet& region, uint64_t now_ns) const = 0;
};

}  // namespace tutti::device
