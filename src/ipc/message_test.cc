#include "ipc/message.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <numeric>

#include "os/memory.h"
#include "os/socket.h"

namespace tutti::ipc {
namespace {

class MessageTest : public testing::Test {
 protected:
  std::pair<os::Fd, os::Fd> sockets_ = os::SocketPair().value();
  int left() const { return sockets_.first.get(); }
  int right() const { return sockets_.second.get(); }

  static ByteWriter Body(size_t bytes) {
    ByteWriter body;
    for (size_t i = 0; i < bytes; ++i) body.Put(static_cast<uint8_t>(i * 7));
    return body;
  }
};

TEST_F(MessageTest, BodiesOfEverySizeArrive) {
  for (const size_t bytes : {0ul, 1ul, 4096ul, 65536ul, 65537ul, 200'000ul, 3'000'000ul}) {
    ASSERT_TRUE(SendMessage(left(), wire::MessageKind::kServerReply, 5, Body(bytes)).has_value());
    const auto got = ReceiveMessage(right(), 1000);
    ASSERT_TRUE(got.has_value()) << got.error().text;
    EXPECT_EQ(got->head.kind, wire::MessageKind::kServerReply);
    EXPECT_EQ(got->head.serial, 5u);
    EXPECT_EQ(got->body, Body(bytes).Take());
    EXPECT_TRUE(got->fds.empty());
  }
}

TEST_F(MessageTest, DescriptorsArriveInOrderAlsoWithALongBody) {
  for (const size_t bytes : {10ul, 100'000ul}) {
    const os::Fd one = os::CreateMemoryOf("one", std::vector<uint8_t>{1}).value();
    const os::Fd two = os::CreateMemoryOf("two", std::vector<uint8_t>{2, 2}).value();
    const int fds[] = {one.get(), two.get()};
    ASSERT_TRUE(SendMessage(left(), wire::MessageKind::kWelcome, 0, Body(bytes), fds).has_value());
    const auto got = ReceiveMessage(right(), 1000).value();
    ASSERT_EQ(got.fds.size(), 2u);
    EXPECT_EQ(FromMemoryFile(got.fds[0].get(), 10)->size(), 1u);
    EXPECT_EQ(FromMemoryFile(got.fds[1].get(), 10)->size(), 2u);
  }
}

TEST_F(MessageTest, ClosedPeerIsNotAnError) {
  sockets_.first.Reset();
  EXPECT_TRUE(ReceiveMessage(right(), 1000)->closed);
}

TEST_F(MessageTest, NoiseIsAnError) {
  ASSERT_TRUE(os::Send(left(), std::vector<uint8_t>(100, 0x5a)).has_value());
  EXPECT_FALSE(ReceiveMessage(right(), 1000).has_value());
}

TEST_F(MessageTest, MessageShorterThanItsHeadIsAnError) {
  ASSERT_TRUE(os::Send(left(), std::vector<uint8_t>(7)).has_value());
  EXPECT_FALSE(ReceiveMessage(right(), 1000).has_value());
}

TEST_F(MessageTest, BodyFileThatIsMissingIsAnError) {
  ByteWriter head;
  head.Put(wire::MessageHead{.kind = wire::MessageKind::kHello, .flags = wire::kBodyInFile});
  ASSERT_TRUE(os::Send(left(), head.bytes()).has_value());
  EXPECT_FALSE(ReceiveMessage(right(), 1000).has_value());
}

TEST_F(MessageTest, BodyFileThatCouldShrinkIsAnError) {
  ByteWriter head;
  head.Put(wire::MessageHead{.kind = wire::MessageKind::kHello, .flags = wire::kBodyInFile});
  const int fds[] = {right()};
  ASSERT_TRUE(os::Send(left(), head.bytes(), fds).has_value());
  EXPECT_FALSE(ReceiveMessage(right(), 1000).has_value());
}

TEST_F(MessageTest, ABodyInAFileIsNotReadWhereNoneIsTaken) {
  ByteWriter body;
  body.PutBytes(std::vector<uint8_t>(100'000));
  ASSERT_TRUE(SendMessage(left(), wire::MessageKind::kCommand, 1, std::move(body)).has_value());
  EXPECT_FALSE(ReceiveMessage(right(), 1000, 0).has_value());
}

TEST_F(MessageTest, MemoryFileOverTheLimitIsNotRead) {
  const os::Fd file = os::CreateMemory("big", 1ull << 40).value();
  EXPECT_FALSE(FromMemoryFile(file.get(), 1 << 20).has_value());
}

TEST_F(MessageTest, ARequestBringsOneMemoryFileOrNone) {
  const os::Fd memory = os::CreateMemoryOf("one", std::vector<uint8_t>(1)).value();
  const int fds[] = {memory.get()};
  InTheWay in_the_way;
  for (const size_t files : {0u, 1u}) {
    ASSERT_TRUE(SendMessage(left(), wire::MessageKind::kLoadModule, 5, Body(20), std::span(fds, files)));
    const auto got = ReceiveRequest(right(), 4096, &in_the_way);
    ASSERT_TRUE(got) << got.error().text;
    EXPECT_EQ(got->body, Body(20).Take());
    EXPECT_EQ(got->fds.size(), files);
    EXPECT_FALSE(in_the_way);
  }
  EXPECT_FALSE(ReceiveRequest(right(), 4096, &in_the_way)) << "both have been taken";
}

TEST_F(MessageTest, WhatIsNoSmallMemoryFileLeavesItsRequestInTheQueue) {
  const os::Fd memory = os::CreateMemoryOf("two pages", std::vector<uint8_t>(8192)).value();
  const std::vector<std::vector<int>> all{{right()}, {memory.get(), memory.get()}, {memory.get()}};
  for (const std::vector<int>& fds : all) {
    ASSERT_TRUE(SendMessage(left(), wire::MessageKind::kLoadModule, 5, Body(20), fds));
    InTheWay in_the_way;
    ASSERT_TRUE(ReceiveRequest(right(), fds.size() > 1 ? 8192 : 4096, &in_the_way));
    EXPECT_TRUE(in_the_way);
    EXPECT_EQ(ReceiveMessage(right(), 0)->fds.size(), fds.size());
  }
}

TEST_F(MessageTest, ARequestWhoseFileThereIsNoDescriptorForLeavesItInTheQueue) {
  const os::Fd memory = os::CreateMemoryOf("one", std::vector<uint8_t>(1)).value();
  const int fds[] = {memory.get()};
  ASSERT_TRUE(SendMessage(left(), wire::MessageKind::kLoadModule, 5, Body(20), fds));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  InTheWay in_the_way;
  const auto got = ReceiveRequest(right(), 4096, &in_the_way);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(got) << got.error().text;
  EXPECT_EQ(got->head.serial, 5u);
  EXPECT_TRUE(in_the_way.out_of_fds);
  EXPECT_EQ(ReceiveMessage(right(), 0)->fds.size(), 1u);
}

TEST_F(MessageTest, ARequestOfManyBytesIsRefused) {
  InTheWay in_the_way;
  ASSERT_TRUE(SendMessage(left(), wire::MessageKind::kLoadModule, 5, Body(5000)));
  EXPECT_FALSE(ReceiveRequest(right(), 4096, &in_the_way));
}

TEST_F(MessageTest, APeerOfAnotherVersionIsToldBothVersions) {
  auto [mine, theirs] = os::SocketPair().value();
  for (const uint16_t version : {uint16_t{0}, uint16_t{wire::kProtocolVersion + 1}, uint16_t{99}}) {
    ASSERT_TRUE(os::Send(theirs.get(), wire::Pack(wire::MessageKind::kHello, 0, {}, version)));
    EXPECT_FALSE(ReceiveMessage(mine.get(), 1000));
    const auto answer = os::Receive(theirs.get(), 1000);
    ASSERT_TRUE(answer) << answer.error().text;
    ByteReader in(answer->bytes);
    const auto head = in.Get<wire::MessageHead>();
    EXPECT_EQ(head.version, version) << "it must be able to read it";
    EXPECT_EQ(head.kind, wire::MessageKind::kRefuse);
    const auto refuse = wire::GetRefuse(in);
    ASSERT_TRUE(refuse);
    EXPECT_EQ(refuse->status, 805);
    EXPECT_NE(refuse->text.find("protocol " + std::to_string(version)), std::string::npos) << refuse->text;
    EXPECT_NE(refuse->text.find("this program " + std::to_string(wire::kProtocolVersion)), std::string::npos)
        << refuse->text;
  }
  ASSERT_TRUE(os::Send(theirs.get(), std::vector<uint8_t>(100, 0x5a)));
  EXPECT_FALSE(ReceiveMessage(mine.get(), 1000));
  EXPECT_FALSE(os::Receive(theirs.get(), 0)) << "noise gets no answer";
}

}  // namespace
}  // namespace tutti::ipc
