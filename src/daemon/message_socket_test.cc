#include "daemon/message_socket.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include "os/socket.h"

namespace tutti::daemon {
namespace {

std::vector<uint8_t> Packet(uint32_t serial, size_t bytes) {
  ByteWriter body;
  body.PutString(std::string(bytes, 'x'));
  return wire::Pack(wire::MessageKind::kCommand, serial, std::move(body));
}

class MessageSocketTest : public testing::Test {
 protected:
  MessageSocketTest() : loop_(std::move(*EventLoop::Create())) {
    auto pair = std::move(*os::SocketPair());
    ours_ = std::make_unique<MessageSocket>(*loop_, std::move(pair.first));
    peer_ = std::move(pair.second);
  }

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<MessageSocket> ours_;
  os::Fd peer_;
};

TEST_F(MessageSocketTest, APeerThatDoesNotReadBlocksNobodyAndLosesNothing) {
  constexpr uint32_t kMany = 2000;
  ours_->Start([](ipc::Envelope) {}, [] {});
  for (uint32_t i = 0; i < kMany; ++i) ours_->Send(Packet(i, 1000));  // more than the kernel buffers
  ASSERT_FALSE(ours_->idle());
  uint32_t next = 0;
  loop_->Watch(peer_.get(), EPOLLIN, [&](uint32_t) {
    const auto message = ipc::ReceiveMessage(peer_.get(), 0);
    ASSERT_TRUE(message);
    ASSERT_EQ(message->head.serial, next++);
    if (next == kMany) loop_->Stop();
  });
  loop_->Run();
  EXPECT_TRUE(ours_->idle());
}

// Somebody who asks for long answers and reads none: the daemon's memory is not his.
TEST_F(MessageSocketTest, APeerThatDoesNotReadIsGivenUp) {
  constexpr size_t kBytes = 100'000;
  bool closed = false;
  ours_->Start([](ipc::Envelope) {}, [&] {
    closed = true;
    loop_->Stop();
  });
  for (uint32_t i = 0; i < MessageSocket::kMaxQueuedBytes / kBytes + 10; ++i) ours_->Send(Packet(i, kBytes));
  loop_->Run();
  EXPECT_TRUE(closed);
}

TEST_F(MessageSocketTest, AnOwnerMayDestroyItWhenTheMessageComes) {
  ours_->Start([&](ipc::Envelope message) {
    EXPECT_EQ(message.head.serial, 7u);
    ours_.reset();
    loop_->Stop();
  }, [] { FAIL(); });
  ASSERT_TRUE(os::Send(peer_.get(), Packet(7, 1)));
  loop_->Run();
  EXPECT_FALSE(ours_);
}

TEST_F(MessageSocketTest, GarbageEndsTheConnection) {
  bool closed = false;
  ours_->Start([](ipc::Envelope) { FAIL(); }, [&] {
    closed = true;
    loop_->Stop();
  });
  const std::vector<uint8_t> garbage(100, 0x5a);
  ASSERT_TRUE(os::Send(peer_.get(), garbage));
  loop_->Run();
  EXPECT_TRUE(closed);
}

}  // namespace
}  // namespace tutti::daemon
