#include "os/cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "os/thread.h"

namespace tutti::os {
namespace {

std::vector<int> CoresOf(pid_t thread) {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(thread, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

TEST(Cores, AThreadMovesToACoreThatIsNotTakenAndMayUseAllAfterwards) {
  std::thread([] {
    const std::vector<int> all = CoresOf(0);
    for (const int free : all) {
      std::vector<int> taken = {-1, CPU_SETSIZE};  // no cores
      for (const int core : all) {
        if (core != free) taken.push_back(core);
      }
      ASSERT_TRUE(MoveThread(0, taken));
      EXPECT_EQ(CoresOf(0), all);
    }
    EXPECT_FALSE(MoveThread(0, all));
    EXPECT_EQ(CoresOf(0), all);
  }).join();
}

TEST(Cores, AThreadThatIsRestrictedStaysSo) {
  std::thread([] {
    const int first = CoresOf(0).front();
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(first), &only);
    ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
    EXPECT_TRUE(MoveThread(0, {}));
    EXPECT_EQ(CoresOf(0), std::vector<int>{first});
  }).join();
}

TEST(Cores, AThreadThatRunsIsMovedByAnother) {
  std::atomic<pid_t> thread{0};
  std::atomic<int> core{-1};
  std::atomic<bool> ends{false};
  std::thread other([&] {
    thread = gettid();
    while (!ends) core = CoreOfThisThread();
  });
  while (core < 0) sched_yield();
  const std::vector<int> all = CoresOf(thread);
  if (all.size() == 1) {
    EXPECT_FALSE(MoveThread(thread, all));
  } else {
    // It goes where it is sent, one core after the other, and so has been on each.
    for (const int free : all) {
      std::vector<int> taken;
      for (const int one : all) {
        if (one != free) taken.push_back(one);
      }
      bool seen = false;
      while (!seen) {  // the system may move it on at once
        EXPECT_TRUE(MoveThread(thread, taken));
        for (int i = 0; i < 1000 && !seen; ++i) seen = core == free;
      }
    }
    EXPECT_EQ(CoresOf(thread), all);
  }
  ends = true;
  other.join();
}

void Restrict(pid_t thread, const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &set);
  ASSERT_EQ(sched_setaffinity(thread, sizeof set, &set), 0);
}

// The cores of a thread that is started by one that may use only the last core at that moment.
std::vector<int> CoresOfOneStartedBy(bool expects_moves) {
  std::vector<int> cores;
  std::thread([&] {
    const std::vector<int> all = CoresOf(0);
    if (expects_moves) ExpectMoves();
    Restrict(0, {all.back()});
    StartThread("started", [&cores] { cores = CoresOf(0); }).join();
  }).join();
  return cores;
}

TEST(Cores, AThreadThatIsStartedByOneThatIsBeingMovedMayUseThoseOfTheProcess) {
  const std::vector<int> all = CoresOf(getpid());
  EXPECT_EQ(CoresOfOneStartedBy(true), all);
  EXPECT_EQ(CoresOfOneStartedBy(false), std::vector<int>{all.back()}) << "somebody may have meant it so";
  const auto restricted = [&] {
    Restrict(getpid(), {all.front()});
    return CoresOf(getpid());
  }();
  std::thread starts([&] {
    ExpectMoves();
    Restrict(0, all);
    StartThread("started", [&] { EXPECT_EQ(CoresOf(0), restricted) << "as the process is"; }).join();
  });
  starts.join();
  Restrict(getpid(), all);
}

TEST(Cores, NoSuchThreadIsNotMoved) { EXPECT_FALSE(MoveThread(0x7fffffff, {})); }

}  // namespace
}  // namespace tutti::os
