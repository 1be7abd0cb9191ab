#include "os/close_aside.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>
#include <vector>

#include "os/socket.h"

namespace tutti::os {
namespace {

// A TCP connection over loopback whose other end reads nothing, and which waits an hour for that when it is closed.
std::pair<Fd, Fd> Lingering() {
  const Fd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener.get(), 1) != 0) return {};
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  Fd one(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(one.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  Fd other(accept(listener.get(), nullptr, nullptr));
  const linger hour{1, 3600};
  setsockopt(one.get(), SOL_SOCKET, SO_LINGER, &hour, sizeof hour);
  const std::vector<char> bytes(64 * 1024);
  while (send(one.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {}
  return {std::move(one), std::move(other)};
}

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
  auto [lingering, unread] = Lingering();
  if (!lingering) GTEST_SKIP() << "no TCP over loopback";
  auto [ours, strangers] = SocketPair().value();
  const int fd = lingering.get();
  ASSERT_TRUE(Send(strangers.get(), std::vector<uint8_t>(1), std::span(&fd, 1)));
  lingering.Reset();  // not the last one: the queue has it
  CloseAside(std::move(ours));
  AwaitClosed();
  EXPECT_EQ(recv(strangers.get(), nullptr, 0, MSG_DONTWAIT), -1);  // its descriptors were unread: reset, closed in any case
  char byte;
  EXPECT_EQ(recv(strangers.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(CloseAside, AStrangersFdIsClosedWithItsOwner) {
  auto [ours, theirs] = SocketPair().value();
  { const StrangersFd owner(std::move(ours)); }
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
