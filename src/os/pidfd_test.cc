#include "os/pidfd.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tutti::os {
namespace {

TEST(Pidfd, TheEndOfAProcessIsAwaitedForSoLongAtMost) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const auto process = OpenPidfd(child);
  ASSERT_TRUE(process) << process.error().text;
  EXPECT_FALSE(AwaitEnd(process->get(), 20));
  kill(child, SIGKILL);
  EXPECT_TRUE(AwaitEnd(process->get(), 60'000)) << "although nobody has reaped it";
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(AwaitEnd(process->get(), 0));
}

}  // namespace
}  // namespace tutti::os
