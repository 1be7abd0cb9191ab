// The attacking process, and how it reports to the test.
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
  std::atomic<bool> leaked{false};  // a part of the secret was seen
  char note[256] = "";  // any other error
};

// An attack by a kernel: a run test (tests/run/test_case.h) whose text may use $victim, $channel, $heap, $stack, $text,
// and $window_begin and $window_end of the attacker's own window. With the line "// endless" it is only expected not to
// end. An instruction may be marked with "// faults" or "// faults: thread N": the server's log must name that thread
// of block 0 (default 0), and that line. With "// loses a shared context" no fence contains it (docs/guide/gpu.md):
// where programs share a context, who has a kernel under way fails with it.
struct Program {
  run_test::TestCase test;
  bool endless = false, loses_shared_context = false;
  std::string where;  // "thread (N,0,0), PTX line M", or empty
};
Program ReadProgram(const std::string& path);

// For a process of its own: loads and launches it, waits, and stores the result in the page.
[[noreturn]] void RunProgram(const std::string& path, AttackPage& page);

}  // namespace tutti::fault
