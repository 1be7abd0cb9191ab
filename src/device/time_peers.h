// What others want of a device's time: the machine's other servers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::device {

struct TimeDemand {
  double weight = 0;  // the percentages of the clients that have work, added up
  double sms = 0;     // that these could use at once: of late, on average
};

// Of one device. Thread-safe, short: called with locks held.
class TimePeers {
 public:
  virtual ~TimePeers() = default;
  // What this process's clients want, for the others to see until `until_ns` of NowNs().
  virtual void Say(const TimeDemand& demand, uint64_t until_ns) = 0;
  // What others want now: as many as there is room for. Returns how many.
  virtual size_t Hear(std::span<TimeDemand> room, uint64_t now_ns) const = 0;
};

}  // namespace tutti::device
