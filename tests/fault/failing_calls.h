// What failing_calls.cc (in the process under test) and failing_calls_test.cc share: a page in a file.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::fault {

inline constexpr const char* kFailIn = "TUTTI_TEST_FAIL_IN";      // the process's name, as in /proc/PID/comm
inline constexpr const char* kFailFile = "TUTTI_TEST_FAIL_FILE";  // path of the page

struct FailPage {
  std::atomic<uint64_t> fail_at{0};  // which call is to fail, counted from 1; 0: none
  std::atomic<uint64_t> calls{0};    // made so far
  char failed[32] = "";              // the name of the one that failed
};

}  // namespace tutti::fault
