#include "daemon/loop/message_socket.h"

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
  void With(PeerRules rules) { ours_ = std::make_unique<MessageSocket>(*loop_, ours_->Release(), rules); }

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
  ours_->Start([](ipc::Envelope) {},
               [&] {
                 closed = true;
                 loop_->Stop();
               });
  for (uint32_t i = 0; i < MessageSocket::kMaxQueuedBytes / kBytes + 10; ++i) ours_->Send(Packet(i, kBytes));
  loop_->Run();
  EXPECT_TRUE(closed);
}

TEST_F(MessageSocketTest, NothingWaitsForAPeerThatIsGone) {
  ours_->Start([](ipc::Envelope) {}, [&] { loop_->Stop(); });
  peer_ = os::Fd();
  ours_->Send(Packet(1, 1));
  loop_->Run();
  EXPECT_TRUE(ours_->idle());
  ours_->Send(Packet(2, 1));
  EXPECT_TRUE(ours_->idle());
}

TEST_F(MessageSocketTest, AnOwnerMayDestroyItWhenTheMessageComes) {
  ours_->Start(
      [&](ipc::Envelope message) {
        EXPECT_EQ(message.head.serial, 7u);
        ours_.reset();
        loop_->Stop();
      },
      [] { FAIL(); });
  ASSERT_TRUE(os::Send(peer_.get(), Packet(7, 1)));
  loop_->Run();
  EXPECT_FALSE(ours_);
}

TEST_F(MessageSocketTest, WhatAPeerHasSaidIsReadWithoutATurnOfTheLoop) {
  ASSERT_TRUE(os::Send(peer_.get(), Packet(7, 1)));
  const auto first = ours_->First();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->closed);
  EXPECT_EQ(first->head.serial, 7u);
}

TEST_F(MessageSocketTest, APeerThatHasNotSpokenYetIsHeardByTheLoop) {
  EXPECT_FALSE(ours_->First());
  uint32_t serial = 0;
  ours_->Start(
      [&](ipc::Envelope message) {
        serial = message.head.serial;
        loop_->Stop();
      },
      [] { FAIL(); });
  ASSERT_TRUE(os::Send(peer_.get(), Packet(7, 1)));
  loop_->Run();
  EXPECT_EQ(serial, 7u);
}

TEST_F(MessageSocketTest, WhoseFirstPacketIsTakenWaitsForItsAnswer) {
  With({.one_at_a_time = true});
  for (uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(os::Send(peer_.get(), Packet(i, 1)));
  ASSERT_TRUE(ours_->First());
  uint32_t read = 0;
  ours_->Start([&](ipc::Envelope) { ++read; }, [] { FAIL(); });
  loop_->After(20'000'000, [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(read, 0u);
}

TEST_F(MessageSocketTest, GarbageAndDescriptorsEndAConnectionThatHasNotBegun) {
  const std::vector<uint8_t> garbage(100, 0x5a);
  ASSERT_TRUE(os::Send(peer_.get(), garbage));
  const auto first = ours_->First();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->closed);

  const int file = peer_.get();
  ASSERT_TRUE(os::Send(peer_.get(), Packet(1, 1), std::span(&file, 1)));
  const auto second = ours_->First();
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->closed);
}

// Above all a body in a memory file: it costs its sender nothing and its reader milliseconds.
TEST_F(MessageSocketTest, ADescriptorEndsTheConnection) {
  bool closed = false;
  ours_->Start([](ipc::Envelope) { FAIL(); },
               [&] {
                 closed = true;
                 loop_->Stop();
               });
  ByteWriter body;
  body.PutString(std::string(100'000, 'x'));
  ASSERT_TRUE(ipc::SendMessage(peer_.get(), wire::MessageKind::kCommand, 1, std::move(body)));
  loop_->Run();
  EXPECT_TRUE(closed);
}

TEST_F(MessageSocketTest, TheNextPacketIsReadWhenTheAnswerHasLeft) {
  With({.one_at_a_time = true});
  std::vector<uint32_t> read;
  ours_->Start(
      [&](ipc::Envelope message) {
        read.push_back(message.head.serial);
        if (read.size() == 2) loop_->Stop();
      },
      [] { FAIL(); });
  for (uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(os::Send(peer_.get(), Packet(i, 10)));
  loop_->After(20'000'000, [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(read, std::vector<uint32_t>{0});  // it has not been answered

  while (ours_->idle()) ours_->Send(Packet(100, 100'000));
  ours_->Next();
  loop_->After(20'000'000, [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(read, std::vector<uint32_t>{0});  // the answer has not left

  loop_->Watch(peer_.get(), EPOLLIN, [&](uint32_t) { (void)ipc::ReceiveMessage(peer_.get(), 0); });
  loop_->Run();
  EXPECT_EQ(read, (std::vector<uint32_t>{0, 1}));
}

TEST_F(MessageSocketTest, APeerThatLeavesBeforeItsAnswerIsNoticed) {
  With({.one_at_a_time = true});
  bool closed = false;
  ours_->Start([&](ipc::Envelope) { peer_.Reset(); },
               [&] {
                 closed = true;
                 loop_->Stop();
               });
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(os::Send(peer_.get(), Packet(i, 10)));
  loop_->Run();
  EXPECT_TRUE(closed);
}

TEST_F(MessageSocketTest, GarbageEndsTheConnection) {
  bool closed = false;
  ours_->Start([](ipc::Envelope) { FAIL(); },
               [&] {
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
