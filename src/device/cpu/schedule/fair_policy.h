// The common part of the policies that share time: weighted fair queueing with virtual time, within priority levels.
//
// Every Space has a virtual clock that advances with the device time it takes, slower the larger its weight. The next
// SM goes to the Space of the most urgent level whose clock is furthest behind. Idle time earns no claim: when a Space
// comes back its clock is set to where the others are, less kMostClaimNs. That lag is allowed because even a Space that
// always has work has none for the moment between two of its kernels. A chunk's estimated time is charged when it is
// dispatched and corrected when it is done, so that SMs that become free together do not all go to the same Space.
//
// Whatever runs is preempted at once for a more urgent level. Within its own level it is preempted when it has run for
// kSliceNs and has come kMostLeadNs ahead. So shares hold for any block length; Spaces that always have work switch no
// more often than a lead takes to build up, while one that comes back with its claim runs soon. Both are for up to 8
// SMs: a clock advances by the time of all of the Space's SMs, so a lead is as many times larger as the Space has
// eights of SMs, and a claim as the device has.
#pragma once

#include "device/cpu/schedule/policy.h"
#include "device/cpu/schedule/waiting_shares.h"

namespace tutti::device::cpu {

class FairPolicy : public SchedulingPolicy {
 public:
  static constexpr uint64_t kSliceNs = 500'000;
  static constexpr uint64_t kMostLeadNs = 2'000'000;
  static constexpr uint64_t kMostClaimNs = 3'000'000;  // more than the lead

  // Of a device of so many SMs.
  explicit FairPolicy(uint32_t sms);

  void Offer(SpaceShare* share) final;
  void Withdraw(SpaceShare* share) final;
  SpaceShare* Pick(uint32_t sm, uint64_t now_ns) final;
  void Charge(SpaceShare* share, int64_t ns) final;
  uint64_t GivesWayAtNs(const Running& running, uint64_t now_ns) const final;
  bool MoreUrgentWaits(const RunningLevels& running) const final;
  bool HasNext(uint32_t sm, uint64_t) const final { return First(sm) != nullptr; }
  void Forget(SpaceShare*) final {}

 protected:
  // The level at which a share waits, below kLevels; 0 is the most urgent. Constant while the share is offered.
  virtual uint32_t WaitingLevel(const SpaceShare& share) const = 0;
  virtual uint32_t RunningLevel(const Running& running) const = 0;
  // Of levels as tasks have them, those that are one level here: so many from each multiple of it on.
  virtual uint32_t TaskLevels() const = 0;

 private:
  SpaceShare* First(uint32_t sm) const;
  static uint64_t LeadLeftNs(const Running& running, const SpaceShare& waiting);

  const uint64_t most_claim_ns_;
  WaitingShares waiting_[kLevels];
  uint32_t levels_ = 0;  // mask of levels with a waiting share
  uint64_t latest_ = 0;  // the clock of the share that was picked last
};

}  // namespace tutti::device::cpu
