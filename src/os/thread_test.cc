#include "os/thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <vector>

namespace tutti::os {
namespace {

rlim_t AddressSpace() {
  std::ifstream status("/proc/self/status");
  unsigned long kib = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmSize:")) std::sscanf(line.c_str(), "VmSize: %lu", &kib);
  }
  return rlim_t{kib} << 10;
}

// Of a process that has what it needs, and then room for a thread's stack, but not for a heap of its own.
int StartLate() {
  constexpr size_t kStackBytes = 8 << 20, kPieces = 256, kPieceBytes = 4096;
  const rlimit stack{kStackBytes, RLIM_INFINITY};
  setrlimit(RLIMIT_STACK, &stack);
  std::latch end(1);
  std::thread early = StartThread("early", [&end] { end.wait(); });  // and keeps its heap
  AwaitHeaps();
  const rlimit narrow{AddressSpace() + kStackBytes + (64 << 10), RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &narrow);
  bool worked = false;
  std::thread late = TryStartThread("late", [&worked] {
    std::vector<std::unique_ptr<char[]>> pieces;
    for (size_t i = 0; i < kPieces; ++i) pieces.push_back(std::make_unique<char[]>(kPieceBytes));
    worked = true;
  });
  if (!late.joinable()) return 2;
  late.join();
  end.count_down();
  early.join();
  return worked ? 0 : 3;
}

TEST(Thread, OneThatStartsLateNeedsNoRoomForAHeap) {
  if (std::getenv("ASAN_OPTIONS") != nullptr || std::getenv("TSAN_OPTIONS") != nullptr)
    GTEST_SKIP() << "address space is the sanitizer's";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(StartLate());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tutti::os
