// What the attacking process does, and how the test hears of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "../../run/test_case.h"

namespace tutti::fault {

// In memory shared with the test.
struct AttackPage {
  std::atomic<bool> launched{false};
  std::atomic<int32_t> outcome{-1};  // the first CUresult that is an error, or 0
  std::atomic<int32_t> again{-1};    // what a later call says
  std::atomic<bool> leaked{false};   // a part of the secret has been seen
  char note[256] = "";               // whatever else went wrong
};

// An attack by a kernel: a run test (tests/run/test_case.h) whose text may name $victim, $channel, $heap, $stack,
// $text, and $window_begin and $window_end of the attacker's own window. With the line "// endless" nothing is expected
// but that it does not end. An instruction may be marked with "// faults" or "// faults: thread N": that thread (0 if
// not said) of block 0 is the one, and that line the place, which the server's log must name.
struct Program {
  run_test::TestCase test;
  bool endless = false;
  std::string where;  // "thread (N,0,0), PTX line M", or empty
};
Program ReadProgram(const std::string& path);

// For a process of its own: loads and launches it, waits, and leaves in the page what came of it.
[[noreturn]] void RunProgram(const std::string& path, AttackPage& page);

}  // namespace tutti::fault
