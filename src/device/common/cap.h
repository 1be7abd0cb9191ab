// A limit on how much of a device a client (by its percentage), or one context of a client, may use.
//
// A whole number of SMs is enforced by counting SMs. The rest of a fraction is enforced in time: with 0.24 of two SMs'
// worth it has one SM for 24% of the time, with 1.4 it has two SMs of which it may use 140%. Time is a token bucket:
// the budget fills at that rate, and measured run time is taken from it. It may go below zero (a block ran longer than
// the budget): then nothing starts until it is paid back. So the part holds in the long run for any block length.
//
// On a device with many SMs a fraction of one is rounded down instead, as hardware does. Guarded by the scheduler's
// lock.
#pragma once

#include <cstdint>

namespace tutti::device {

class Cap {
 public:
  // `part_sms`: SMs' worth of time, of `sms` on the device. All of them: no cap.
  void Set(double part_sms, uint32_t sms, uint64_t now_ns);

  bool open() const { return !throttled_ && running_ < max_sms_; }
  uint32_t max_sms() const { return max_sms_; }
  uint32_t running() const { return running_; }
  bool limits_time() const { return rate_ > 0; }
  bool throttled() const { return throttled_; }
  uint64_t throttled_until_ns() const { return throttled_until_ns_; }

  // Another part, from now on: what was saved up or overdrawn stays.
  void Change(double part_sms, uint32_t sms, uint64_t now_ns);

  // An SM starts, or stops, working for it.
  void Begin() { ++running_; }
  void End() { --running_; }
  // Work has arrived after idling since the last Spend or Resume, in which next to nothing is saved up.
  void WorkCame(uint64_t now_ns);
  // SM time has been used. True if that exhausts the budget: it is throttled until throttled_until_ns().
  bool Spend(uint64_t ran_ns, uint64_t now_ns);
  // Of what was spent at `now_ns` or before, so much was not used after all.
  void GiveBack(uint64_t ns, uint64_t now_ns);
  // How long a run of `ran_ns` may still continue before it exhausts the budget, or kNever.
  uint64_t LeftNs(uint64_t ran_ns, uint64_t now_ns) const;
  // Throttling ends.
  void Resume(uint64_t now_ns);

 private:
  void SetPart(double part_sms, uint32_t sms);
  void Refill(uint64_t now_ns, double most_ns);
  void Throttle(uint64_t now_ns);

  uint32_t max_sms_ = ~0u;
  double rate_ = 0;  // > 0: SM time per time
  uint32_t running_ = 0;
  double budget_ns_ = 0;
  uint64_t reckoned_at_ns_ = 0;
  uint64_t throttled_until_ns_ = 0;
  bool throttled_ = false;
};

}  // namespace tutti::device
