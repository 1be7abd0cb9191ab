// The common part of the policies that share time: shares wait by level, and within a level by who has had least.
//
// Every Space has a virtual clock that runs with the device time it takes, slower the larger its weight. The next SM
// goes to the Space of the most urgent level whose clock is furthest behind. A Space that was idle does not collect a
// claim for that time: when it comes back its clock is set to where the others are, less kMostClaimNs. That much it may
// be behind, since even a Space that always has work has none for the moment between two of its kernels. A chunk's
// estimated time is charged when it is given out and corrected when it is done, so that SMs that become free together
// do not all go to the same Space.
//
// Whatever runs gives way at once to somebody at a more urgent level. To somebody of its own level it gives way when it
// has run for kSliceNs and has come kMostLeadNs ahead. So shares hold for any block length, and those who always have
// work change places no more often than a lead takes to build up, while a Space that comes back with its claim is let
// in soon.
#pragma once

#include <vector>

#include "device/cpu/schedule/policy.h"

namespace tutti::device::cpu {

class FairPolicy : public SchedulingPolicy {
 public:
  static constexpr uint64_t kSliceNs = 500'000;
  static constexpr uint64_t kMostLeadNs = 2'000'000;
  static constexpr uint64_t kMostClaimNs = 3'000'000;  // more than the lead

  void Offer(SpaceShare* share) final;
  void Withdraw(SpaceShare* share) final;
  SpaceShare* Pick(uint32_t sm, uint64_t now_ns) final;
  void Charge(SpaceShare* share, int64_t ns) final;
  uint64_t GivesWayAtNs(const Running& running, uint64_t now_ns) const final;
  bool HasNext(uint32_t sm, uint64_t) const final { return First(sm) != nullptr; }
  void Forget(SpaceShare*) final {}

 protected:
  // The level at which a share waits, below kLevels; 0 is the most urgent. Does not change while it is offered.
  virtual uint32_t WaitingLevel(const SpaceShare& share) const = 0;
  virtual uint32_t RunningLevel(const Running& running) const = 0;

 private:
  struct FurtherBehind {
    bool operator()(const SpaceShare* a, const SpaceShare* b) const {
      return a->virtual_ns != b->virtual_ns ? a->virtual_ns < b->virtual_ns : a < b;
    }
  };
  // Whoever is furthest behind first. An array: few wait at a time, and to move some hundred pointers is cheaper than
  // to keep a tree in balance.
  using Waiting = std::vector<SpaceShare*>;

  static Waiting::iterator Place(Waiting& waiting, const SpaceShare* share);
  SpaceShare* First(uint32_t sm) const;
  static uint64_t LeadLeftNs(const Running& running, const SpaceShare& waiting);

  Waiting waiting_[kLevels];
  uint32_t levels_ = 0;  // mask of those that have somebody
  uint64_t latest_ = 0;  // the clock of whoever was picked last
};

}  // namespace tutti::device::cpu
