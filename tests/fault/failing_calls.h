// A page in a file, shared by failing_calls.cc (in the process under test) and the tests that preload it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace tutti::fault {

inline constexpr const char* kFailIn = "TUTTI_TEST_FAIL_IN";      // the process's name, as in /proc/PID/comm
inline constexpr const char* kFailFile = "TUTTI_TEST_FAIL_FILE";  // path of the page

struct FailPage {
  std::atomic<uint64_t> fail_at{0};  // which call is to fail, counted from 1; 0: none
  std::atomic<uint64_t> calls{0};    // made so far
  std::atomic<bool> kills{false};    // that call does not fail, it is the process's last: SIGKILL
  char only[64] = "";                // " name name ": of these calls alone; empty: of all
  char failed[32] = "";              // the name of the one that failed
};

inline constexpr size_t kFailPageBytes = 4096;

// For the test: a new page in a file of this name, or null. The caller unmaps it.
inline FailPage* MakeFailPage(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const bool sized = file >= 0 && ftruncate(file, kFailPageBytes) == 0;
  void* const page = sized ? mmap(nullptr, kFailPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0) close(file);
  return page == MAP_FAILED ? nullptr : new (page) FailPage;
}

}  // namespace tutti::fault
