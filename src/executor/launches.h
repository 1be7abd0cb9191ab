// The launches of a place's fenced kernels that are not done, by numbers of their own, and their withdrawal: where a
// kernel of another place holds the whole device, and may never end, what has not begun must be done elsewhere, and
// only there. No driver takes a launch back. But the kernels say that they have begun before they do anything, and end
// at once when they are told to (guest/gpu/fenced_ptx.h).
//
// All or none: while they are told to wait, none begins, and if one has begun before they all go on.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "executor/fence.h"

namespace tutti::executor {

// Of one thread.
class Launches {
 public:
  // `fence`: null, or not open: none can be withdrawn.
  explicit Launches(const Fence* fence) : fence_(fence) {}

  // The number of one that is about to be given to the driver; 0: it cannot be withdrawn, as too many are not done.
  uint64_t Begin();
  void End(uint64_t number);

  // Whether one of them has, or may have.
  Result<bool> HaveBegun(std::span<const uint64_t> numbers) const;
  // True: none of them has begun, and none will, nor any later one. False: one has, and nothing is changed.
  Result<bool> Withdraw(std::span<const uint64_t> numbers) const;

 private:
  const Fence* const fence_;
  uint64_t last_ = 0;
  std::bitset<guest::kLaunchGates> taken_;
};

}  // namespace tutti::executor
