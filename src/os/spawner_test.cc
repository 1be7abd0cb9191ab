#include "os/spawner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "os/socket.h"

namespace tutti::os {
namespace {

Spawner::Program Shell(const std::string& script, std::vector<int> files, size_t most = 1) {
  return {.path = "/bin/sh",
          .arguments = {"sh", "-c", script},
          .environment = {"SPAWNER_TEST=said", "HOME"},
          .files = std::move(files),
          .most = most};
}

std::string ReadAll(int fd) {
  std::string text(100, '\0');
  const ssize_t bytes = read(fd, text.data(), text.size());
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return text;
}

TEST(SpawnerTest, AProgramHasTheDescriptorsAndVariablesThatItWasPlannedWith) {
  const auto spawner =
      Spawner::Start({Shell("exit 1", {}), Shell("echo $SPAWNER_TEST ${HOME-homeless} >&5", {5})}).value();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const int fds[] = {writer.get()};
  const auto child = spawner->StartProgram(1, fds);
  ASSERT_TRUE(child) << child.error().text;
  writer.Reset();
  EXPECT_EQ(ReadAll(reader.get()), "said homeless\n");
  EXPECT_TRUE(spawner->End(*child));
}

TEST(SpawnerTest, StartsNothingElseAndNoMoreThanItMay) {
  const auto spawner = Spawner::Start({Shell("sleep 100", {}, 2)}).value();
  EXPECT_FALSE(spawner->StartProgram(1, {}));
  const int fds[] = {0};
  EXPECT_FALSE(spawner->StartProgram(0, fds)) << "a descriptor that was not planned";
  const auto first = spawner->StartProgram(0, {}), second = spawner->StartProgram(0, {});
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(spawner->StartProgram(0, {}));
  const auto status = spawner->End(*first);
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFSIGNALED(*status));
  const auto third = spawner->StartProgram(0, {});
  ASSERT_TRUE(third);
  EXPECT_FALSE(spawner->End(getpid()));
  EXPECT_TRUE(spawner->End(*second) && spawner->End(*third));
  EXPECT_FALSE(spawner->lost());
}

TEST(SpawnerTest, WhatIsAbandonedIsKilledAndCountsUntilItHasEnded) {
  const auto spawner = Spawner::Start({Shell("echo $$ >&5; exec sleep 100", {5})}).value();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd reader(ends[0]), writer(ends[1]);
  const int fds[] = {writer.get()};
  for (int round = 0; round < 20; ++round) {
    const auto child = spawner->StartProgram(0, fds);
    ASSERT_TRUE(child) << child.error().text;
    EXPECT_EQ(ReadAll(reader.get()), std::to_string(*child) + "\n");
    EXPECT_FALSE(spawner->StartProgram(0, fds));
    spawner->Abandon(*child);
    EXPECT_FALSE(spawner->End(*child)) << "which is not its caller's any more";
    while (kill(*child, 0) == 0) usleep(1000);  // it is reaped though nothing is asked
  }
  EXPECT_FALSE(spawner->lost());
}

TEST(SpawnerTest, ASpawnerThatHasEndedIsSaidToBeLost) {
  const auto spawner = Spawner::Start({Shell("sleep 100", {})}).value();
  kill(spawner->pid(), SIGKILL);
  EXPECT_FALSE(spawner->StartProgram(0, {}));
  EXPECT_TRUE(spawner->lost());
}

}  // namespace
}  // namespace tutti::os
