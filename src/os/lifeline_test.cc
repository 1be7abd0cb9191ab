#include "os/lifeline.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tutti::os {
namespace {

// A child on a lifeline; it has stopped itself when this returns.
pid_t StoppedChild(const Lifeline& lifeline) {
  const pid_t child = fork();
  if (child == 0) {
    close(lifeline.held.get());
    EndWith(lifeline.watched.get());
    raise(SIGSTOP);
    for (;;) pause();
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  return child;
}

TEST(Lifeline, EndsAStoppedProcessToo) {
  auto lifeline = CreateLifeline();
  ASSERT_TRUE(lifeline);
  const pid_t child = StoppedChild(*lifeline);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "not before";
  lifeline->held.Reset();
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(Lifeline, LetGoBeforeItIsLookedAtEndsAtOnce) {
  auto lifeline = CreateLifeline();
  ASSERT_TRUE(lifeline);
  lifeline->held.Reset();
  const pid_t child = fork();
  if (child == 0) {
    EndWith(lifeline->watched.get());
    _exit(42);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 1);
}

}  // namespace
}  // namespace tutti::os
