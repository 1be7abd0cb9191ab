// Attacks on events that processes share, through the client library, beside the process that has made the event.
#pragma once

#include <atomic>
#include <span>

#include "../../compat/driver_api.h"
#include "attacker.h"

namespace tutti::fault {

// In memory that both processes and the test share.
struct SharedWithAttacker {
  cuda::CUipcEventHandle event;
  cuda::CUipcMemHandle memory;
  std::atomic<bool> maker_is_to_end{false}, maker_has_ended{false};
  std::atomic<bool> maker_is_to_wait{false};  // for the event, and to go on
};

struct EventAttack {
  const char* name;
  bool is_behind_a_gate;  // the event is not reached before its maker ends, which the attacker asks for
  void (*attack)(AttackPage& page, SharedWithAttacker& shared);
};
std::span<const EventAttack> EventAttacks();

// For processes of their own. What goes wrong is noted in the page.
void AttackEvents(const EventAttack& attack, AttackPage& page, SharedWithAttacker& shared);
void MakeEvents(const EventAttack& attack, AttackPage& page, SharedWithAttacker& shared);

}  // namespace tutti::fault
