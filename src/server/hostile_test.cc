// Clients that lie in every way they can. Each ends its own session and nobody else's.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "os/memory.h"
#include "os/socket.h"
#include "os/testing/lingering_socket.h"
#include "server/testing/server_process.h"

namespace tutti::server::testing {
namespace {

using wire::RecordKind;

class Hostile : public ::testing::Test {
 protected:
  void SetUp() override {
    bystander_ = NewClient(1);
    bystander_->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  }
  void TearDown() override {
    const uint64_t ticket = bystander_->producer().Submit(RecordKind::kMarker, 1);
    EXPECT_EQ(bystander_->waiter().Wait(1, ticket), 0) << "the bystander was hurt";
  }

  std::unique_ptr<ipc::ClientConnection> NewClient(uint32_t pid) {
    auto client = server_.ConnectHere(pid);
    EXPECT_TRUE(client.has_value()) << client.error().text;
    return std::move(*client);
  }

  // Waits until the server has ended this client's session, and it alone.
  bool IsEnded(ipc::ClientConnection& client) {
    for (int i = 0; i < 1000; ++i) {
      client.producer().ForceBell();
      if (client.watch().Check() != 0) return server_.AwaitClientCount(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  // Whether one record of a fresh client ends its session.
  template <typename Body>
  bool Ends(RecordKind kind, uint32_t stream, const Body& body, uint16_t reply = 0) {
    const auto client = NewClient(2);
    client->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
    client->producer().Submit(kind, stream, body, {}, ipc::WaitHint::kNow, reply);
    return IsEnded(*client);
  }

  ServerProcess server_;
  std::unique_ptr<ipc::ClientConnection> bystander_;
};

TEST_F(Hostile, RecordsThatMakeNoSenseEndTheSession) {
  struct Nothing {};
  EXPECT_TRUE(Ends(RecordKind::kNone, 1, Nothing{}));
  EXPECT_TRUE(Ends(static_cast<RecordKind>(200), 1, Nothing{}));
  EXPECT_TRUE(Ends(RecordKind::kMarker, 0, Nothing{}));
  EXPECT_TRUE(Ends(RecordKind::kMarker, 2, Nothing{})) << "a stream nobody has created";
  EXPECT_TRUE(Ends(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{})) << "a stream that exists";
  EXPECT_TRUE(Ends(RecordKind::kStreamCreate, 2, wire::StreamCreateBody{.device = 7}));
  EXPECT_TRUE(Ends(RecordKind::kAllocate, 0, wire::AllocateBody{.bytes = 1, .alignment = 3}));
  EXPECT_TRUE(Ends(RecordKind::kAllocate, 0, wire::AllocateBody{.bytes = 1, .alignment = 256}, wire::kReplySlots));
  EXPECT_TRUE(Ends(RecordKind::kCopy, 1, wire::CopyBody{}));
  EXPECT_TRUE(Ends(RecordKind::kWait, 1, wire::WaitBody{.stream = 1, .ticket = 1'000'000}));
  EXPECT_TRUE(Ends(RecordKind::kLaunch, 1, wire::LaunchBody{.grid = {1, 1, 1}, .block = {2048, 1, 1}}));
}

// The thread that attaches everybody reads it.
TEST_F(Hostile, AMessageWithItsBodyInAFileEndsTheSession) {
  auto [mine, theirs] = ServerProcess::ConnectionPair();
  ByteWriter hello, body, head;
  wire::Put(hello, wire::Hello{});
  ASSERT_TRUE(ipc::SendMessage(mine.get(), wire::MessageKind::kHello, 0, std::move(hello)));
  server_.PassOn(std::move(theirs), 2);
  ASSERT_EQ(ipc::ReceiveMessage(mine.get(), 10'000)->head.kind, wire::MessageKind::kWelcome);
  wire::Put(body, wire::QueryModule{});
  head.Put(wire::MessageHead{.kind = wire::MessageKind::kQueryModule, .serial = 1, .flags = wire::kBodyInFile});
  const auto file = os::CreateMemoryOf("body", body.bytes());
  ASSERT_TRUE(file);
  const int fds[] = {file->get()};
  ASSERT_TRUE(os::Send(mine.get(), head.bytes(), fds));
  const auto answer = ipc::ReceiveMessage(mine.get(), 10'000);
  EXPECT_TRUE(!answer || answer->closed) << "it is answered";
  EXPECT_TRUE(server_.AwaitClientCount(1));
}

// The thread that attaches everybody would close it.
TEST_F(Hostile, ADescriptorWhoseCloseWaitsHoldsUpNobody) {
  std::vector<os::Fd> unread;
  for (const auto kind : {wire::MessageKind::kLoadModule, wire::MessageKind::kQueryModule}) {
    auto [mine, theirs] = ServerProcess::ConnectionPair();
    ByteWriter hello, body;
    wire::Put(hello, wire::Hello{});
    ASSERT_TRUE(ipc::SendMessage(mine.get(), wire::MessageKind::kHello, 0, std::move(hello)));
    server_.PassOn(std::move(theirs), 2);
    ASSERT_EQ(ipc::ReceiveMessage(mine.get(), 10'000)->head.kind, wire::MessageKind::kWelcome);
    auto [lingering, other_end] = os::MakeLingeringSocket();
    if (!lingering) GTEST_SKIP() << "no TCP over loopback";
    unread.push_back(std::move(other_end));
    wire::Put(body, wire::LoadModule{});
    const int fds[] = {lingering.get()};
    kill(server_.pid(), SIGSTOP);  // so that it closes the last one
    ASSERT_TRUE(ipc::SendMessage(mine.get(), kind, 1, std::move(body), fds));
    lingering.Reset();
    kill(server_.pid(), SIGCONT);
    const auto answer = ipc::ReceiveMessage(mine.get(), 10'000);
    EXPECT_TRUE(answer) << answer.error().text;
  }
}

TEST_F(Hostile, ADeviceThatIsWithheldFromTheClientIsNeitherShownNorUsed) {
  const auto attach = wire::Attach{.withheld_devices = 1};
  const auto connect = [&] { return std::move(server_.ConnectHere(2, attach).value()); };
  {
    const auto client = connect();
    const wire::ChannelHeader& header = client->channel().header;
    for (const uint8_t byte : header.devices[0].uuid) EXPECT_EQ(byte, 0);
    EXPECT_EQ(header.devices[0].total_bytes, 0u);
    EXPECT_EQ(header.states[0].used_bytes.load(), 0u);
  }
  ASSERT_TRUE(server_.AwaitClientCount(1));
  const auto ends = [&](RecordKind kind, uint32_t stream, const auto& body, uint16_t reply) {
    const auto client = connect();
    client->producer().Submit(kind, stream, body, {}, ipc::WaitHint::kNow, reply);
    return IsEnded(*client);
  };
  EXPECT_TRUE(ends(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0}, 0));
  EXPECT_TRUE(ends(RecordKind::kAllocate, 0, wire::AllocateBody{.bytes = 256, .alignment = 256}, 1));
  EXPECT_TRUE(ends(RecordKind::kContextLimit, 0, wire::ContextLimitBody{}, 0));
  EXPECT_TRUE(ends(RecordKind::kHeapLimit, 0, wire::HeapLimitBody{.bytes = 1 << 20}, 0));
  EXPECT_TRUE(ends(RecordKind::kReset, 0, wire::ResetBody{}, 1));
}

TEST_F(Hostile, LaunchArgumentsOutsideOfTheWindowEndTheSession) {
  struct {
    wire::LaunchBody body{
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .flags = wire::kLaunchArgumentsInWindow, .argument_bytes = 4096};
    uint64_t address = 0;
  } launch;
  const uint64_t base = bystander_->window_base();
  for (const uint64_t address : {uint64_t{4096}, base, ~uint64_t{8192}}) {
    launch.address = address;
    EXPECT_TRUE(Ends(RecordKind::kLaunch, 1, launch)) << std::hex << address;
  }
}

TEST_F(Hostile, FreeingWhatIsNotAllocatedIsNoOffence) {
  const auto client = NewClient(2);
  client->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  client->producer().Submit(RecordKind::kFree, 0, wire::FreeBody{.address = 12345});
  const uint64_t ticket = client->producer().Submit(RecordKind::kMarker, 1);
  EXPECT_EQ(client->waiter().Wait(1, ticket), 0);
}

TEST_F(Hostile, NoiseInTheRing) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    const auto client = NewClient(2);
    wire::Channel& channel = client->channel();
    // Published correctly, so that all of it is looked at: heads of noise now and then, else plausible ones.
    for (uint64_t position = 0; position < 64; ++position) {
      wire::Slot& slot = channel.ring[position];
      for (size_t i = 0; i < sizeof slot.body; ++i)
        slot.body[i] = static_cast<uint8_t>(random() % 3 == 0 ? random() : 0);
      slot.head.kind = static_cast<RecordKind>(random() % 8 == 0 ? random() : 1 + random() % 42);
      slot.head.slots = static_cast<uint8_t>(random() % 8 == 0 ? random() : 1);
      slot.head.stream = random() % 4 == 0 ? random() : 1;
      slot.head.reply = static_cast<uint16_t>(random() % 300);
      slot.head.published = position + 1;
    }
    client->producer().ForceBell();
    EXPECT_TRUE(IsEnded(*client)) << "64 records of noise, all of them good?";
  }
}

TEST_F(Hostile, NoiseAllOverTheChannelWhileItIsUsed) {
  const auto client = NewClient(2);
  client->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  auto* const words = reinterpret_cast<std::atomic<uint64_t>*>(&client->channel());
  std::mt19937_64 random(5);
  for (int i = 0; i < 200'000; ++i) {
    words[random() % (sizeof(wire::Channel) / sizeof(uint64_t))].store(random() % 5 == 0 ? random() : random() % 64,
                                                                       std::memory_order_relaxed);
    if (i % 1000 == 0) client->producer().ForceBell();
  }
  SUCCEED() << "the bystander and the sanitizers judge";
}

TEST_F(Hostile, SlotThatIsReservedAndNeverPublishedHoldsUpNobodyElse) {
  const auto client = NewClient(2);
  client->channel().header.tail.fetch_add(1);
  client->producer().Submit(RecordKind::kMarker, 1, ipc::WaitHint::kNow);
  const uint64_t ticket = bystander_->producer().Submit(RecordKind::kMarker, 1);
  EXPECT_EQ(bystander_->waiter().Wait(1, ticket), 0);
}

TEST_F(Hostile, MessagesOfNoiseEndTheSession) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    auto [mine, theirs] = ServerProcess::ConnectionPair();
    ByteWriter hello;
    wire::Put(hello, wire::Hello{});
    ASSERT_TRUE(ipc::SendMessage(mine.get(), wire::MessageKind::kHello, 0, std::move(hello)).has_value());
    server_.PassOn(std::move(theirs), 2);
    ASSERT_EQ(ipc::ReceiveMessage(mine.get(), 10'000)->head.kind, wire::MessageKind::kWelcome);
    std::vector<uint8_t> noise(1 + random() % 300);
    for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
    if (round % 2 == 0 && noise.size() >= sizeof(wire::MessageHead)) {
      const wire::MessageHead head{.kind = static_cast<wire::MessageKind>(random() % 50),
                                   .flags = static_cast<uint32_t>(random() % 2)};
      std::memcpy(noise.data(), &head, sizeof head);
      // Any numbers may be asked for.
      if (head.kind == wire::MessageKind::kQueryModule || head.kind == wire::MessageKind::kHostMemoryFile) continue;
    }
    ASSERT_TRUE(os::Send(mine.get(), noise).has_value());
    for (;;) {
      const auto answer = ipc::ReceiveMessage(mine.get(), 10'000);
      if (!answer || answer->closed) break;
      EXPECT_EQ(answer->head.kind, wire::MessageKind::kRefuse);
    }
    EXPECT_TRUE(server_.AwaitClientCount(1));
  }
}

TEST_F(Hostile, ImageThatCouldShrinkIsRefused) {
  const auto client = NewClient(2);
  ByteWriter body;
  wire::Put(body, wire::LoadModule{.device = 0});
  FILE* const file = std::tmpfile();
  const int fds[] = {fileno(file)};
  const auto reply =
      client->Call(wire::MessageKind::kLoadModule, std::move(body), fds, wire::MessageKind::kLoadModuleReply);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, 200);
  std::fclose(file);
}

TEST_F(Hostile, AttachWithAHelloCutShortIsRefused) {
  auto [mine, theirs] = ServerProcess::ConnectionPair();
  ByteWriter body;
  body.Put<uint32_t>(7);
  const int fds[] = {theirs.get()};
  ASSERT_TRUE(ipc::SendMessage(server_.socket(), wire::MessageKind::kAttach, 0, std::move(body), fds).has_value());
  EXPECT_EQ(ipc::ReceiveMessage(mine.get(), 10'000)->head.kind, wire::MessageKind::kRefuse);
}

TEST_F(Hostile, ClientsThatHangUpWhileTheyAreAttachedLeaveNothing) {
  const size_t files = server_.OpenFilesAtRest();
  for (int i = 0; i < 200; ++i) {
    auto [mine, theirs] = ServerProcess::ConnectionPair();
    ByteWriter hello;
    wire::Put(hello, wire::Hello{});
    ASSERT_TRUE(ipc::SendMessage(mine.get(), wire::MessageKind::kHello, 0, std::move(hello)).has_value());
    if (i % 2 == 0) {
      std::thread daemon([&, theirs = std::move(theirs)]() mutable { server_.PassOn(std::move(theirs), 2); });
      mine.Reset();
      daemon.join();
    } else {
      server_.PassOn(std::move(theirs), 2);
      mine.Reset();
    }
  }
  EXPECT_TRUE(server_.AwaitClientCount(1));
  for (int i = 0; i < 1000 && server_.OpenFiles() > files; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(server_.OpenFiles(), files);
  EXPECT_EQ(server_.Mappings(), 3u) << "of the bystander";
}

}  // namespace
}  // namespace tutti::server::testing
