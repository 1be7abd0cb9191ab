#include "os/file_id.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/socket.h"

namespace tutti::os {
namespace {

TEST(FileId, ANumberThatWasClosedAndUsedAgainIsAnotherFile) {
  auto sockets = SocketPair().value();
  const int number = sockets.first.get();
  const FileId identity = FileId::Of(number);
  EXPECT_TRUE(identity.IsOf(number));
  sockets.first.Reset();
  EXPECT_FALSE(identity.IsOf(number));
  const auto others = SocketPair().value();
  ASSERT_EQ(others.first.get(), number);
  EXPECT_FALSE(identity.IsOf(number));
}

TEST(FileId, AnEventfdIsNoFile) {
  const Fd event(eventfd(0, EFD_CLOEXEC));
  const Fd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const FileId identity = FileId::Of(event.get());
  EXPECT_TRUE(identity.IsOf(event.get()));
  EXPECT_FALSE(identity.IsOf(file.get()));
}

TEST(FileId, NothingIsLikeWhatWasNotOpen) {
  const FileId identity = FileId::Of(-1);
  EXPECT_FALSE(identity.IsOf(-1));
}

}  // namespace
}  // namespace tutti::os
