// Clients of one priority that may use the same SMs, as the machine's other servers see them (scheduler_peers.cc).
// Guarded by the device's scheduler lock.
#pragma once

#include <cstdint>

#include "device/common/cap.h"
#include "device/sm_set.h"

namespace tutti::device::cpu {

struct PeerGroup {
  uint32_t band = 0;
  SmSet region;
  uint32_t shares = 0;   // that belong to it
  uint32_t offered = 0;  // of these, to the policy

  // Its part of the region beside other servers, and beside clients that precede it there.
  Cap part;
  // SMs that it may have at once, until those who precede it want fewer.
  uint32_t sms_beside_urgent = ~0u;
  bool was_open = true;  // as idle SMs know it (Scheduler::TellOfRoom)

  // What its shares with work could use, and their weights.
  double usable_sms = 0;
  double demand_sms = 0;  // as of Scheduler::demand_at_ns_
  double demand_ns = 0;   // SMs x time, since Scheduler::adjusted_at_ns_
  double said_sms = 0;    // at this moment, as others know it

  bool open() const { return part.open() && part.running() < sms_beside_urgent; }
  bool overfull() const { return part.running() > part.max_sms() || part.running() > sms_beside_urgent; }
};

}  // namespace tutti::device::cpu
