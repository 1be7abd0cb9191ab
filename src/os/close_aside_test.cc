#include "os/close_aside.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>
#include <vector>

#include "os/socket.h"
#include "os/testing/lingering_socket.h"

namespace tutti::os {
namespace {

// SMs are taken out of kernels by it.
TEST(CloseAside, LeavesSigurgToOthers) {
  struct sigaction before{}, after{};
  before.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGURG, &before, nullptr), 0);
  CloseAside(std::move(SocketPair().value().first));
  AwaitClosed();
  ASSERT_EQ(sigaction(SIGURG, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_EQ(after.sa_flags & SA_SIGINFO, 0);
}

TEST(CloseAside, ASocketWhoseQueueHoldsALingeringOneIsClosedAtOnce) {
  auto [lingering, unread] = MakeLingeringSocket();
  if (!lingering) GTEST_SKIP() << "no TCP over loopback";
  auto [ours, strangers] = SocketPair().value();
  const int fd = lingering.get();
  ASSERT_TRUE(Send(strangers.get(), std::vector<uint8_t>(1), std::span(&fd, 1)));
  lingering.Reset();  // not the last one: the queue has it
  CloseAside(std::move(ours));
  AwaitClosed();
  // its descriptors were unread: reset, closed in any case
  EXPECT_EQ(recv(strangers.get(), nullptr, 0, MSG_DONTWAIT), -1);
  char byte;
  EXPECT_EQ(recv(strangers.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(CloseAside, ALingeringOneHoldsUpNobodyBehindIt) {
  auto [lingering, unread] = MakeLingeringSocket();
  if (!lingering) GTEST_SKIP() << "no TCP over loopback";
  auto [ours, strangers] = SocketPair().value();
  auto [next, others] = SocketPair().value();
  const int fd = lingering.get();
  ASSERT_TRUE(Send(strangers.get(), std::vector<uint8_t>(1), std::span(&fd, 1)));
  lingering.Reset();
  CloseAside(std::move(ours));
  char byte;
  ASSERT_LE(recv(strangers.get(), &byte, 1, 0), 0);  // it is being closed
  CloseAside(std::move(next));
  EXPECT_EQ(recv(others.get(), &byte, 1, 0), 0);
}

// The number is free for another descriptor: nobody else has closed it, or would.
bool IsClosed(int fd) { return fcntl(fd, F_GETFD) < 0; }

TEST(CloseAside, OneThatIsShutDownAndHasNothingUnreadIsClosedWhereItIs) {
  auto [ours, theirs] = SocketPair().value();
  StrangersFd owner(std::move(ours));
  owner.ShutDown();
  EXPECT_FALSE(Send(theirs.get(), std::vector<uint8_t>(1)));
  const int fd = owner.get();
  owner = StrangersFd();
  EXPECT_TRUE(IsClosed(fd));
}

// The one in front has no bytes: who only asks for those takes it for the end.
TEST(CloseAside, ALingeringOneBehindAnEmptyMessageIsClosedAsideThoughTheSocketIsShutDown) {
  auto [lingering, unread] = MakeLingeringSocket();
  if (!lingering) GTEST_SKIP() << "no TCP over loopback";
  auto [ours, strangers] = SocketPair().value();
  const int fd = lingering.get();
  ASSERT_TRUE(Send(strangers.get(), {}));
  ASSERT_TRUE(Send(strangers.get(), std::vector<uint8_t>(1), std::span(&fd, 1)));
  lingering.Reset();
  StrangersFd owner(std::move(ours));
  owner.ShutDown();
  owner = StrangersFd();  // returns
  AwaitClosed();
  char byte;
  EXPECT_LE(recv(strangers.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(CloseAside, AStrangersFdIsClosedWithItsOwner) {
  auto [ours, theirs] = SocketPair().value();
  {
    const StrangersFd owner(std::move(ours));
  }
  AwaitClosed();
  char byte;
  EXPECT_EQ(recv(theirs.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(Receive, AMessageWithDescriptorsIsRefusedUnread) {
  auto [ours, theirs] = SocketPair().value();
  const int fd = theirs.get();
  ASSERT_TRUE(Send(theirs.get(), std::vector<uint8_t>(5), std::span(&fd, 1)));
  EXPECT_FALSE(ReceiveBytes(ours.get(), 0));
  EXPECT_EQ(Receive(ours.get(), 0)->fds.size(), 1u);  // it is there still
  ASSERT_TRUE(Send(theirs.get(), std::vector<uint8_t>(5)));
  EXPECT_EQ(ReceiveBytes(ours.get(), 0).value().size(), 5u);
}

}  // namespace
}  // namespace tutti::os
