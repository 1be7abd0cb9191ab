#include "os/rendezvous.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/pidfd.h"
#include "os/socket.h"

namespace tutti::os {
namespace {

class RendezvousTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(directory_.data()), nullptr); }
  void TearDown() override {
    unlink(path().c_str());
    rmdir(directory_.c_str());
  }
  std::string path() const { return directory_ + "/1"; }
  std::string directory_ = "/tmp/tutti-rendezvous.XXXXXX";
};

TEST_F(RendezvousTest, WhoListensIsToldByTheKernelAndNotWhoMadeIt) {
  auto made = MakeRendezvous(path());
  ASSERT_TRUE(made) << made.error().text;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const char byte = ListenOn(made->get()) ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = write(ready[1], &byte, 1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const auto met = ConnectTo(path());
  ASSERT_TRUE(met) << met.error().text;
  EXPECT_EQ(Peer(met->get())->pid, child);
  EXPECT_NE(StartTicks(child), 0u);
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(StartTicks(child), 0u) << "it has ended, and was not collected";
  waitpid(child, nullptr, 0);
  EXPECT_EQ(StartTicks(child), 0u);
}

TEST_F(RendezvousTest, WhereNobodyListensNobodyIsMet) {
  const auto made = MakeRendezvous(path());
  ASSERT_TRUE(made);
  EXPECT_FALSE(ConnectTo(path()));
  EXPECT_FALSE(MakeRendezvous(path())) << "the place is taken";
}

TEST_F(RendezvousTest, NobodyWaitsForOneWhoDoesNotAnswer) {
  const auto made = MakeRendezvous(path());
  ASSERT_TRUE(ListenOn(made->get()));
  const auto nobody = AcceptNext(made->get());
  EXPECT_TRUE(nobody && !*nobody);
  std::vector<Fd> waiting;
  for (int i = 0; i < 1000; ++i) {
    auto met = ConnectTo(path());
    if (!met) break;
    waiting.push_back(std::move(*met));
  }
  EXPECT_LT(waiting.size(), 1000u);
  const auto answered = AcceptNext(made->get());
  EXPECT_TRUE(answered && *answered);
  EXPECT_TRUE(ConnectTo(path()));
}

}  // namespace
}  // namespace tutti::os
