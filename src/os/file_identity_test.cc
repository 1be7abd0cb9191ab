#include "os/file_identity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/socket.h"

namespace tutti::os {
namespace {

TEST(FileIdentity, ANumberThatWasClosedAndUsedAgainIsAnotherFile) {
  auto sockets = SocketPair().value();
  const int number = sockets.first.get();
  const FileIdentity identity(number);
  EXPECT_TRUE(identity.IsOf(number));
  sockets.first.Reset();
  EXPECT_FALSE(identity.IsOf(number));
  const auto others = SocketPair().value();
  ASSERT_EQ(others.first.get(), number);
  EXPECT_FALSE(identity.IsOf(number));
}

TEST(FileIdentity, AnEventfdIsNoFile) {
  const Fd event(eventfd(0, EFD_CLOEXEC));
  const Fd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const FileIdentity identity(event.get());
  EXPECT_TRUE(identity.IsOf(event.get()));
  EXPECT_FALSE(identity.IsOf(file.get()));
}

TEST(FileIdentity, NothingIsLikeWhatWasNotOpen) {
  const FileIdentity identity(-1);
  EXPECT_FALSE(identity.IsOf(-1));
}

}  // namespace
}  // namespace tutti::os
