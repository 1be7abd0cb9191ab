// How much of a device somebody may use: a client by its percentage, or one context of a client by its own.
//
// A part of the device that is a whole number of SMs is held by counting SMs. The rest of a fraction is held in time:
// with 0.24 of two SMs' worth it has one SM for 24% of the time, with 1.4 two SMs of which it may use 140%. Time is a
// budget that fills at that rate and from which measured run time is taken. It may go below zero (a block ran longer
// than there was budget): then nothing is begun until it is made up for. So the part holds in the long run whatever
// blocks take.
//
// On a device with many SMs a fraction of one is rounded down instead, as hardware does. Guarded by the scheduler's
// lock.
#pragma once

#include <cstdint>

namespace tutti::device {

class Cap {
 public:
  // `part_sms`: SMs' worth of time, of `sms` that there are. All of them: no cap.
  void Set(double part_sms, uint32_t sms, uint64_t now_ns);

  bool open() const { return !throttled_ && running_ < max_sms_; }
  uint32_t max_sms() const { return max_sms_; }
  uint32_t running() const { return running_; }
  bool limits_time() const { return rate_ > 0; }
  bool throttled() const { return throttled_; }
  uint64_t throttled_until_ns() const { return throttled_until_ns_; }

  // An SM works for it, or no longer.
  void Begin() { ++running_; }
  void End() { --running_; }
  // Work has come after none was there: what was saved up while idle is cut to a moment's worth.
  void WorkCame(uint64_t now_ns);
  // SM time has been used. True if with it the budget is used up: it is throttled until throttled_until_ns().
  bool Spend(uint64_t ran_ns, uint64_t now_ns);
  // How long a run of `ran_ns` may still go on until it has used up the budget, or kNever.
  uint64_t LeftNs(uint64_t ran_ns, uint64_t now_ns) const;
  // The time of being throttled is over.
  void Resume(uint64_t now_ns);

 private:
  void Refill(uint64_t now_ns, double most_ns);

  uint32_t max_sms_ = ~0u;
  double rate_ = 0;  // > 0: SM time per time
  uint32_t running_ = 0;
  double budget_ns_ = 0;
  uint64_t reckoned_at_ns_ = 0;
  uint64_t throttled_until_ns_ = 0;
  bool throttled_ = false;
};

}  // namespace tutti::device
