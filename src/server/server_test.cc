// A real server process, this test in the daemon's place, and clients that come, work, die and lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "base/clock.h"
#include "os/socket.h"
#include "server/testing/server_process.h"
#include "wire/backlog.h"

namespace tutti::server::testing {
namespace {

using wire::RecordKind;

// Launches on stream 1 and waits: the session works.
int32_t Ping(ipc::ClientConnection& client) {
  const uint64_t ticket = client.producer().Submit(RecordKind::kMarker, 1);
  return client.waiter().Wait(1, ticket);
}

std::unique_ptr<ipc::ClientConnection> ClientWithStream(ServerProcess& server, uint32_t pid) {
  auto client = server.ConnectHere(pid);
  EXPECT_TRUE(client.has_value()) << client.error().text;
  (*client)->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  return std::move(*client);
}

int32_t Allocate(ipc::ClientConnection& client, uint64_t bytes, uint32_t alignment = 256) {
  return client.replies()
      .Call(RecordKind::kAllocate, wire::AllocateBody{.bytes = bytes, .alignment = alignment})
      .status;
}

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

TEST(Server, SaysWhatItServes) {
  const ServerProcess server;
  EXPECT_EQ(server.ready().error, "");
  ASSERT_EQ(server.ready().devices.size(), 1u);
  EXPECT_EQ(server.ready().devices[0].name, "Tutti null device");
  EXPECT_EQ(server.ready().devices[0].sm_count, 2u);
}

TEST(Server, ServesAClient) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  EXPECT_EQ(client->header().device_count, 1u);
  EXPECT_EQ(client->header().shared_server, 1u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Ping(*client), 0);
}

TEST(Server, AnIdleClientIsHeardWhenItComesBack) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(Ping(*client), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(i));
  }
}

// As by a program that begins when another has ended.
TEST(Server, WhatAClientHadIsFreeWhenItHasGone) {
  constexpr uint64_t kMost = 2ull << 30;  // of 3 GiB
  ServerProcess server;
  const auto stays = ClientWithStream(server, 1001);
  for (uint32_t i = 0; i < 200; ++i) {
    auto goes = ClientWithStream(server, 2000 + i);
    ASSERT_EQ(Allocate(*goes, kMost), 0);
    ASSERT_EQ(Allocate(*stays, kMost), 2);
    goes.reset();
    const ipc::Reply reply =
        stays->replies().Call(RecordKind::kAllocate, wire::AllocateBody{.bytes = kMost, .alignment = 256});
    ASSERT_EQ(reply.status, 0) << i;
    stays->producer().Submit(RecordKind::kFree, 0, wire::FreeBody{.address = reply.value[0]});
    ASSERT_EQ(stays->replies().Call(RecordKind::kMemoryUse, wire::MemoryUseBody{.device = 0}).value[0], 0u)
        << "behind the free";
  }
}

TEST(Server, ReportsItsClients) {
  ServerProcess server;
  const auto one = ClientWithStream(server, 1001);
  const auto two = ClientWithStream(server, 1002);
  ASSERT_EQ(Allocate(*one, 1 << 20), 0);
  const auto clients = server.Clients();
  ASSERT_EQ(clients.size(), 2u);
  EXPECT_EQ(clients[0].pid, 1001u);
  EXPECT_EQ(clients[0].used_bytes, 1u << 20);
  EXPECT_EQ(clients[0].command_line, "in the test");
  EXPECT_EQ(clients[1].pid, 1002u);
  EXPECT_EQ(clients[1].used_bytes, 0u);
}

TEST(Server, EachClientSeesWhatAllUse) {
  ServerProcess server;
  const auto one = ClientWithStream(server, 1001);
  const auto two = ClientWithStream(server, 1002);
  ASSERT_EQ(Allocate(*one, 1 << 20), 0);
  EXPECT_EQ(one->header().states[0].client_bytes.load(), 1u << 20);
  EXPECT_TRUE(Eventually([&] { return two->header().states[0].used_bytes.load() == 1u << 20; }));
  EXPECT_EQ(two->header().states[0].client_bytes.load(), 0u);
}

TEST(Server, MemoryOfAClientThatIsGoneIsFreeForTheOthers) {
  ServerProcess server;
  auto one = ClientWithStream(server, 1001);
  const auto two = ClientWithStream(server, 1002);
  ASSERT_EQ(Allocate(*one, 1 << 20), 0);
  ASSERT_TRUE(Eventually([&] { return two->header().states[0].used_bytes.load() == 1u << 20; }));
  one.reset();
  EXPECT_TRUE(Eventually([&] { return two->header().states[0].used_bytes.load() == 0; }));
}

TEST(Server, LimitsCanBeChangedWhileAClientRuns) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  EXPECT_EQ(client->header().states[0].sm_count.load(), 2);
  ByteWriter percentage;
  wire::Put(
      percentage,
      wire::ServerSet{.what = wire::SettingKind::kPercentage, .client = server.Clients()[0].id, .percentage = 50});
  EXPECT_EQ(server.Ask(wire::MessageKind::kServerSet, std::move(percentage)).status, 0);
  EXPECT_EQ(client->header().states[0].sm_count.load(), 1);
  ByteWriter memory;
  wire::Put(memory,
            wire::ServerSet{.what = wire::SettingKind::kMemoryLimit, .client = server.Clients()[0].id, .number = 8192});
  EXPECT_EQ(server.Ask(wire::MessageKind::kServerSet, std::move(memory)).status, 0);
  EXPECT_EQ(Allocate(*client, 16384), 2);
  EXPECT_EQ(Allocate(*client, 8192), 0);
}

TEST(Server, HostCallsHoldTheirStreamAndNoOther) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  client->producer().Submit(RecordKind::kStreamCreate, 2, wire::StreamCreateBody{.device = 0});
  client->producer().Submit(RecordKind::kHostCall, 1, wire::HostCallBody{.token = 77});
  const uint64_t behind = client->producer().Submit(RecordKind::kMarker, 1);
  const uint64_t beside = client->producer().Submit(RecordKind::kMarker, 2);
  EXPECT_EQ(client->waiter().Wait(2, beside), 0);
  auto& calls = client->channel().host_calls;
  ASSERT_TRUE(Eventually([&] { return calls.produced.load() == 1; }));
  EXPECT_EQ(calls.calls[0].token, 77u);
  EXPECT_FALSE(client->waiter().Done(1, behind));
  calls.consumed = 1;
  client->producer().Submit(RecordKind::kHostCallDone, 1, wire::HostCallBody{.token = 77});
  EXPECT_EQ(client->waiter().Wait(1, behind), 0);
}

TEST(Server, HostCallsBeyondTheQueueWaitForRoom) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  constexpr uint32_t kStreams = wire::kHostCallSlots + 50;
  for (uint32_t stream = 2; stream < 2 + kStreams; ++stream) {
    client->producer().Submit(RecordKind::kStreamCreate, stream, wire::StreamCreateBody{.device = 0});
    client->producer().Submit(RecordKind::kHostCall, stream, wire::HostCallBody{.token = stream});
  }
  auto& calls = client->channel().host_calls;
  for (uint32_t taken = 0; taken < kStreams; ++taken) {
    ASSERT_TRUE(Eventually([&] { return calls.produced.load() > taken; })) << taken;
    const auto call = calls.calls[taken % wire::kHostCallSlots];
    ASSERT_EQ(call.token, taken + 2);
    calls.consumed = taken + 1;
    client->producer().Submit(RecordKind::kHostCallDone, call.stream, wire::HostCallBody{.token = call.token});
  }
}

TEST(Server, ResetAnswersAndTheRingGoesOn) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client->replies().Call(RecordKind::kReset, wire::ResetBody{.device = 0}).status, 0);
    EXPECT_EQ(Ping(*client), 0);
  }
}

TEST(Server, KernelThatCannotBePreparedHasAReason) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  EXPECT_EQ(client->replies().Call(RecordKind::kPrepare, wire::PrepareBody{.module = 99, .function = 3}).status, 400);
  ByteWriter body;
  wire::Put(body, wire::QueryModule{.module = 99, .function = 3});
  const auto reply =
      client->Call(wire::MessageKind::kQueryModule, std::move(body), {}, wire::MessageKind::kQueryModuleReply);
  ASSERT_TRUE(reply.has_value());
  ByteReader in(reply->body);
  EXPECT_EQ(wire::GetQueryModuleReply(in)->log, "module 99 has no kernel 3");
}

TEST(Server, QueueOfAStuckStreamIsBounded) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  const auto other = ClientWithStream(server, 1001);
  client->producer().Submit(RecordKind::kHostCall, 1, wire::HostCallBody{.token = 1});
  for (uint32_t i = 0; i <= wire::kMostBacklog && client->watch().ended() == 0; ++i) {
    client->producer().Submit(RecordKind::kMarker, 1);
  }
  EXPECT_TRUE(Eventually([&] { return client->watch().ended() == 806; }));
  EXPECT_EQ(Ping(*other), 0);
}

// Each is answered as if it had been taken, so its stream goes on.
TEST(Server, HostCallsThatNobodyTakesAreBounded) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  const auto other = ClientWithStream(server, 1001);
  uint32_t calls = 0;
  for (; calls <= wire::kMostBacklog + wire::kHostCallSlots && client->watch().ended() == 0; ++calls) {
    client->producer().Submit(RecordKind::kHostCall, 1, wire::HostCallBody{.token = calls});
    client->producer().Submit(RecordKind::kHostCallDone, 1, wire::HostCallBody{.token = calls});
  }
  EXPECT_GE(calls, wire::kMostBacklog);
  EXPECT_TRUE(Eventually([&] { return client->watch().ended() == 806; }));
  EXPECT_EQ(Ping(*other), 0);
}

// --- ends

TEST(Server, TerminatedClientSeesItAtOnceWhileItWaits) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  client->producer().Submit(RecordKind::kHostCall, 1, wire::HostCallBody{.token = 1});
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ByteWriter body;
    wire::Put(body, wire::TerminateClient{.client = 0});
    EXPECT_EQ(server.Ask(wire::MessageKind::kTerminateClient, std::move(body)).status, 0);
  });
  EXPECT_EQ(Ping(*client), 810);
  killer.join();
  EXPECT_EQ(Allocate(*client, 1, 1), 810);
  EXPECT_TRUE(server.Clients().empty());
}

// As the first processes of two containers have.
TEST(Server, ClientsWithTheSameProcessIdAreTwo) {
  ServerProcess server;
  const auto one = ClientWithStream(server, 1);
  const auto two = ClientWithStream(server, 1);
  const auto clients = server.Clients();
  ASSERT_EQ(clients.size(), 2u);
  ByteWriter body;
  wire::Put(body, wire::TerminateClient{.client = clients[1].id});
  EXPECT_EQ(server.Ask(wire::MessageKind::kTerminateClient, std::move(body)).status, 0);
  EXPECT_EQ(Ping(*one), 0);
  EXPECT_TRUE(Eventually([&] { return two->watch().Check() == 810; }));
}

TEST(Server, WaitingClientOutlivesItsServer) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  client->producer().Submit(RecordKind::kHostCall, 1, wire::HostCallBody{.token = 1});
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(server.pid(), SIGKILL);
  });
  EXPECT_EQ(Ping(*client), 806);
  killer.join();
}

TEST(Server, ShutdownWaitsForTheLastClientAndRefusesNewOnes) {
  ServerProcess server;
  auto client = ClientWithStream(server, 1000);
  ByteWriter body;
  wire::Put(body, wire::ServerShutdown{.force = false});
  EXPECT_EQ(server.Ask(wire::MessageKind::kServerShutdown, std::move(body)).status, 0);
  const auto late = server.ConnectHere(1001);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, 807);
  EXPECT_EQ(Ping(*client), 0);
  client.reset();
  EXPECT_EQ(server.AwaitExit(), 0);
}

TEST(Server, ForcedShutdownEndsItsClients) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  ByteWriter body;
  wire::Put(body, wire::ServerShutdown{.force = true});
  EXPECT_EQ(server.Ask(wire::MessageKind::kServerShutdown, std::move(body)).status, 0);
  EXPECT_EQ(Ping(*client), 810);
  EXPECT_EQ(server.AwaitExit(), 0);
}

TEST(Server, ADaemonThatDoesNotReadHoldsUpNobody) {
  ServerProcess server;
  auto one = ClientWithStream(server, 1001);
  const auto two = ClientWithStream(server, 1002);
  ASSERT_EQ(Allocate(*one, 1 << 20), 0);
  ASSERT_TRUE(Eventually([&] { return two->header().states[0].used_bytes.load() == 1u << 20; }));
  ByteWriter body;
  wire::Put(body, wire::ServerQuery{.what = wire::QueryKind::kClients});
  const auto query = wire::Pack(wire::MessageKind::kServerQuery, 1, std::move(body));
  for (int i = 0; i < 3000; ++i) {
    bool sent = false;  // once: Eventually asks again
    ASSERT_TRUE(Eventually([&] { return sent = sent || os::TrySend(server.socket(), query).value_or(false); }))
        << "after " << i << " questions";
  }
  one.reset();
  EXPECT_TRUE(Eventually([&] { return two->header().states[0].used_bytes.load() == 0; })) << "nobody notices its end";
  EXPECT_EQ(Ping(*two), 0);
}

TEST(Server, EndsWithItsDaemon) {
  ServerProcess server;
  const auto client = ClientWithStream(server, 1000);
  shutdown(server.socket(), SHUT_RDWR);
  EXPECT_EQ(server.AwaitExit(), 0);
  EXPECT_NE(Ping(*client), 0);
}

// --- many

TEST(Server, AThousandClientsTakeLessThanTwoMebibytesEach) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  constexpr size_t kClients = 1024;
  if (limit.rlim_cur < 6 * kClients) GTEST_SKIP() << "only " << limit.rlim_cur << " open files are allowed here";
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer leaves too few addresses for windows";
#endif
#endif
  ServerProcess server;
  const size_t before = server.ResidentBytes();
  std::vector<std::unique_ptr<ipc::ClientConnection>> clients;
  for (uint32_t i = 0; i < kClients; ++i) {
    clients.push_back(ClientWithStream(server, i));
    ASSERT_EQ(Ping(*clients.back()), 0);
  }
  for (auto& client : clients) ASSERT_EQ(Ping(*client), 0);
  EXPECT_LT((server.ResidentBytes() - before) / kClients, size_t{2} << 20);
}

TEST(Server, IdleServerWithIdleClientsSleeps) {
  ServerProcess server;
  const auto one = ClientWithStream(server, 1);
  const auto two = ClientWithStream(server, 2);
  ASSERT_EQ(Ping(*one), 0);
  ASSERT_EQ(Ping(*two), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const size_t before = server.Sleeps();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  // A second of ticks would be a thousand and more.
  EXPECT_LT(server.Sleeps() - before, 100u);
  EXPECT_EQ(Ping(*two), 0);
}

TEST(Server, SixtyFourProcessesAtOnce) {
  ServerProcess server;
  const size_t files = server.OpenFilesAtRest();
  std::vector<pid_t> clients;
  for (uint32_t i = 0; i < 64; ++i) {
    auto [mine, theirs] = ServerProcess::ConnectionPair();
    clients.push_back(StartClient(mine, "work", 20));
    mine.Reset();
    server.PassOn(std::move(theirs), static_cast<uint32_t>(clients.back()));
  }
  for (const pid_t client : clients) EXPECT_EQ(AwaitClient(client), 0);
  EXPECT_TRUE(server.AwaitClientCount(0));
  EXPECT_TRUE(Eventually([&] { return server.OpenFiles() == files && server.Mappings() == 0; }))
      << server.OpenFiles() << " files, " << server.Mappings() << " mappings";
}

TEST(Server, TwoHundredKillsLeaveNothingBehindAndHurtNobody) {
  ServerProcess server;
  const size_t files = server.OpenFilesAtRest();
  auto bystander = ClientWithStream(server, 1);
  ASSERT_EQ(Ping(*bystander), 0);
  std::mt19937 random(7);
  struct Running {
    pid_t pid;
    bool doomed;
  };
  std::vector<Running> running;
  int kills = 0;
  for (int started = 0; kills < 200;) {
    while (running.size() < 8) {
      auto [mine, theirs] = ServerProcess::ConnectionPair();
      const bool doomed = started++ % 8 != 0;
      running.push_back({StartClient(mine, "work", doomed ? 1'000'000 : 30), doomed});
      mine.Reset();
      server.PassOn(std::move(theirs), static_cast<uint32_t>(running.back().pid));
    }
    ASSERT_EQ(Ping(*bystander), 0);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    const size_t victim = random() % running.size();
    if (running[victim].doomed) {
      kill(running[victim].pid, SIGKILL);
      AwaitClient(running[victim].pid);
      ++kills;
    } else {
      EXPECT_EQ(AwaitClient(running[victim].pid), 0) << "a client that nobody killed has failed";
    }
    running.erase(running.begin() + static_cast<ptrdiff_t>(victim));
  }
  for (const Running& client : running) {
    if (client.doomed) kill(client.pid, SIGKILL);
    EXPECT_EQ(AwaitClient(client.pid) == 0, !client.doomed);
  }
  ASSERT_TRUE(server.AwaitClientCount(1));
  ASSERT_TRUE(Eventually([&] { return server.Mappings() == 3; })) << server.Mappings() << " mappings";
  ASSERT_EQ(Ping(*bystander), 0);
  EXPECT_LE(server.Threads(), 12u);
  bystander.reset();
  EXPECT_TRUE(server.AwaitClientCount(0));
  EXPECT_TRUE(Eventually([&] { return server.OpenFiles() <= files; }))
      << server.OpenFiles() << " files, and not " << files;
}

}  // namespace
}  // namespace tutti::server::testing
