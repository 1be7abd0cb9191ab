// The stage of the attacks: a server on the CPU device, started by the daemon in CUDA_MPS_PIPE_DIRECTORY, and a victim
// beside the attacker.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "victim.h"

namespace tutti::fault {

// Addresses in the server's address space that an attacker would like to know. The tests get them; a real attacker
// guesses.
struct Targets {
  uint64_t victim = 0;   // the victim's secret, in its window
  uint64_t channel = 0;  // the victim's channel as the server has it mapped
  uint64_t heap = 0, stack = 0, text = 0;  // the server's
};

// One per program. Of the main thread.
class Stage {
 public:
  // Starts the victim. Ends the program with a message if it cannot.
  static void Set();
  static Stage& Get();
  // Ends the victim. False if it has a complaint.
  static bool Clear();

  const Targets& targets() const { return targets_; }
  const std::string& pipe_directory() const { return directory_; }
  pid_t server() const { return server_; }

  // What the victim has wrongly seen; empty if nothing.
  std::string Complaint() const;
  // Waits until the victim has finished `count` more rounds. False on a timeout.
  bool VictimGoesOn(int count) const;
  // Waits until the server holds no window but the victim's: nothing of the attacker is left.
  bool OnlyTheVictimIsLeft() const;
  // Of an executor of the server's, the most that one has: the clients that share a context of a GPU's driver.
  size_t MostPlaces() const;
  // Whether the server's log says `text` in a line about the process `pid`.
  bool LogNames(pid_t pid, const std::string& text) const;

 private:
  Stage();
  void FindTargets();

  std::string directory_;
  VictimPage* page_ = nullptr;
  pid_t victim_ = 0, server_ = 0;
  Targets targets_;
};

}  // namespace tutti::fault
