#include "os/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "os/pidfd.h"
#include "os/socket.h"

namespace tutti::os {
namespace {

// What a shell command prints when it is started with `files`.
std::string Output(const std::string& command, bool unnoticed = false) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto child = Spawn({.path = "/bin/sh",
                            .arguments = {"sh", "-c", command},
                            .files = {{STDIN_FILENO, 0}, {ends[1], 1}, {STDERR_FILENO, 2}},
                            .unnoticed = unnoticed});
  EXPECT_TRUE(child.has_value());
  close(ends[1]);
  std::string output;
  char buffer[256];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) output.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  if (!unnoticed) {
    EXPECT_EQ(waitpid(*child, nullptr, 0), *child);
  }
  return output;
}

TEST(Spawn, RunsTheProgramWithItsArguments) { EXPECT_EQ(Output("echo hello"), "hello\n"); }

TEST(Spawn, LeavesAuditingLibrariesOut) {
  setenv("LD_AUDIT", "/nonexistent/audit.so", 1);
  setenv("SPAWN_TEST", "stays", 1);
  EXPECT_EQ(Output("echo $LD_AUDIT $SPAWN_TEST"), "stays\n");
  unsetenv("LD_AUDIT");
}

TEST(Spawn, PassesNoOtherDescriptorOn) {
  const int leaked = open("/dev/null", O_RDONLY);  // not close-on-exec
  // 0, 1, 2, and the one with which ls reads the directory.
  EXPECT_EQ(Output("ls /proc/self/fd | wc -l"), "4\n");
  close(leaked);
}

TEST(Spawn, SwapsDescriptorsWithoutLosingOne) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  // The child's 3 is our pipe's write end, which itself may be 3 or 4 here.
  const auto child =
      Spawn({.path = "/bin/sh",
             .arguments = {"sh", "-c", "echo in three >&3"},
             .files = {{STDIN_FILENO, 0}, {STDOUT_FILENO, 1}, {STDERR_FILENO, 2}, {ends[1], 3}, {ends[0], 4}}});
  ASSERT_TRUE(child.has_value());
  close(ends[1]);
  char buffer[32] = {};
  EXPECT_EQ(read(ends[0], buffer, sizeof buffer), 9);
  EXPECT_STREQ(buffer, "in three\n");
  waitpid(*child, nullptr, 0);
  close(ends[0]);
}

TEST(Spawn, UnnoticedChildIsNotSeenByWait) {
  EXPECT_EQ(Output("echo hello", true), "hello\n");
  EXPECT_EQ(waitpid(-1, nullptr, 0), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Spawn, MissingProgramFailsAndLeavesNoChild) {
  const auto child = Spawn({.path = "/nonexistent/program", .arguments = {"program"}});
  ASSERT_FALSE(child.has_value());
  EXPECT_NE(child.error().text.find("/nonexistent/program"), std::string::npos);
  EXPECT_EQ(waitpid(-1, nullptr, 0), -1);
}

TEST(Pidfd, BecomesReadableWhenTheProcessEnds) {
  auto sockets = SocketPair();
  ASSERT_TRUE(sockets.has_value());
  const auto child = Spawn({.path = "/bin/sleep", .arguments = {"sleep", "100"}, .files = {{STDIN_FILENO, 0}}});
  ASSERT_TRUE(child.has_value());
  const auto pidfd = OpenPidfd(*child);
  ASSERT_TRUE(pidfd.has_value());
  pollfd wait{pidfd->get(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 0);
  kill(*child, SIGKILL);
  EXPECT_EQ(poll(&wait, 1, 10'000), 1);
  waitpid(*child, nullptr, 0);
}

}  // namespace
}  // namespace tutti::os
