// A server that has no descriptor, no address space or no thread left: new clients are refused with a reason, old ones
// go on, and when there is room again, so is it for clients.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "control/open_files.h"
#include "cuda/result.h"
#include "os/memory.h"
#include "os/testing/lingering_socket.h"
#include "server/descriptor_takers.h"
#include "server/testing/server_process.h"

namespace tutti::server::testing {
namespace {

using wire::RecordKind;

// For a few pages: a module's image, and what is known of it.
constexpr rlim_t kNextToNothing = 64 << 10;

// While it lives, the server gets hardly any address space in addition to what it has: a megabyte for small things, but
// no stack of a thread, no channel, no window.
class NoMoreMemory {
 public:
  explicit NoMoreMemory(pid_t server, rlim_t room = 1 << 20) : server_(server) {
    prlimit(server_, RLIMIT_AS, nullptr, &before_);
    const rlimit narrow{BytesOf(server) + room, before_.rlim_max};
    prlimit(server_, RLIMIT_AS, &narrow, nullptr);
  }
  ~NoMoreMemory() { prlimit(server_, RLIMIT_AS, &before_, nullptr); }

 private:
  static rlim_t BytesOf(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    unsigned long kib = 0;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmSize:")) std::sscanf(line.c_str(), "VmSize: %lu", &kib);
    }
    return rlim_t{kib} << 10;
  }

  pid_t server_;
  rlimit before_{};
};

// Its run-time maps what it likes, and ends the process when it cannot.
bool HasSanitizer() { return std::getenv("ASAN_OPTIONS") != nullptr || std::getenv("TSAN_OPTIONS") != nullptr; }

bool Works(ipc::ClientConnection& client) {
  return client.waiter().Wait(1, client.producer().Submit(RecordKind::kMarker, 1)) == 0;
}

Status Load(ipc::ClientConnection& client) {
  const std::string ptx = ".version 8.0\n.target sm_80\n.visible .entry k() { ret; }\n";
  TUTTI_ASSIGN(const os::Fd image,
               os::CreateMemoryOf("image", {reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()}));
  ByteWriter body;
  wire::Put(body, wire::LoadModule{.device = 0});
  const int fds[] = {image.get()};
  TUTTI_ASSIGN(const auto reply,
               client.Call(wire::MessageKind::kLoadModule, std::move(body), fds, wire::MessageKind::kLoadModuleReply));
  return {};
}

TEST(Exhaustion, ClientsBeyondTheLimitOnOpenFilesAreRefused) {
  ServerProcess server({}, 148);
  std::vector<std::unique_ptr<ipc::ClientConnection>> clients;
  for (;;) {
    auto client = server.ConnectHere(static_cast<uint32_t>(clients.size()));
    if (!client) {
      EXPECT_EQ(client.error().code, 809) << client.error().text;
      break;
    }
    clients.push_back(std::move(*client));
    ASSERT_LT(clients.size(), 20u);
  }
  EXPECT_EQ(clients.size(), 6u);
  clients.pop_back();
  ASSERT_TRUE(server.AwaitClientCount(5));
  EXPECT_TRUE(server.ConnectHere(9).has_value()) << "there is room again";
}

TEST(Exhaustion, AServerWithTooFewDescriptorsForAClientSaysAtItsStartHowManyItNeeds) {
  const ServerProcess server({}, 119);
  EXPECT_NE(server.ready().error.find("the hard limit on open files is 119, and a server needs 120 for one client"),
            std::string::npos)
      << server.ready().error;
  EXPECT_EQ(ServerProcess({}, 120).ready().error, "");
}

TEST(Exhaustion, AServerWithoutADescriptorTellsNewClientsAndKeepsOldOnes) {
  if (std::getenv("ASAN_OPTIONS") != nullptr)
    GTEST_SKIP() << "UBSan looks at a virtual table through a pipe, and ends the server that has none left";
  ServerProcess server;
  auto old = server.ConnectHere(1);
  ASSERT_TRUE(old.has_value()) << old.error().text;
  (*old)->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  EXPECT_TRUE(Works(**old));
  ASSERT_EQ(server.Clients().size(), 1u);
  rlimit before{};
  prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &before);
  const rlimit none{3, before.rlim_max};  // no number below that is free, whatever is closed
  const rlimit just{server.FirstFreeFile(), before.rlim_max};
  for (const rlimit& limit : {just, none}) {
    prlimit(server.pid(), RLIMIT_NOFILE, &limit, nullptr);
    for (int i = 0; i < 3; ++i) {
      const auto client = server.ConnectHere(2);
      ASSERT_FALSE(client.has_value());
      if (limit.rlim_cur == just.rlim_cur) {
        EXPECT_EQ(client.error().code, 809) << client.error().text;
      }
    }
    EXPECT_TRUE(Works(**old)) << "the old client";
    const Status loaded = Load(**old);
    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY) << loaded.error().text;
  }
  prlimit(server.pid(), RLIMIT_NOFILE, &before, nullptr);
  EXPECT_TRUE(server.ConnectHere(3).has_value()) << "there is room again";
  EXPECT_TRUE(Load(**old)) << "the old client";
}

// A container's root takes any user number, that of the server as well.
TEST(Exhaustion, APartyLeavesHalfOfThePlacesToTheOthersWhateverItsUserNumbers) {
  ServerProcess server({}, 224);
  std::vector<std::unique_ptr<ipc::ClientConnection>> clients;
  uint32_t uid = getuid();
  const auto connect = [&](const std::string& party) {
    return server.ConnectHere(1, wire::Attach{.uid = uid++, .party = party});
  };
  Result<std::unique_ptr<ipc::ClientConnection>> client = Fail("none yet");
  while ((client = connect("the container /a"))) clients.push_back(std::move(*client));
  EXPECT_EQ(client.error().code, 809);
  EXPECT_NE(client.error().text.find("the container /a has"), std::string::npos) << client.error().text;
  ASSERT_GT(clients.size(), 1u);
  const size_t quota = clients.size();
  while ((client = connect("the container /b"))) clients.push_back(std::move(*client));
  EXPECT_GE(clients.size(), 2 * quota - 1) << "the other half is there for another party";
}

// Devices of 20 GiB: of the largest windows there are fewer than of clients.
TEST(Exhaustion, APartyLeavesHalfOfTheLargestWindowsToTheOthers) {
  setenv("TUTTI_CPU_MEMORY", "20G", 1);
  setenv("TUTTI_CPU_SMS", "1", 1);
  ServerProcess server({"--device", "cpu"});
  std::vector<std::unique_ptr<ipc::ClientConnection>> clients;
  const auto window_of_next = [&](const std::string& party) {
    auto client = server.ConnectHere(1, wire::Attach{.uid = 1, .party = party});
    if (!client) return uint64_t{0};
    clients.push_back(std::move(*client));
    return clients.back()->window_shape().bytes;
  };
  const uint64_t largest = window_of_next("user 1");
  uint64_t last = largest;
  while (last == largest) last = window_of_next("user 1");
  if (last == 0) GTEST_SKIP() << "there is no room for windows of two sizes here";
  EXPECT_LT(last, largest);
  const size_t half = clients.size() - 1;
  for (size_t i = 0; i < half; ++i) ASSERT_EQ(window_of_next("user 2"), largest) << i << " of " << half;
}

// A connection of `party`, welcomed or refused, in which the server has nothing to send any more.
struct Connection {
  os::Fd socket;
  bool welcome = false;
};

Status SendModule(int socket, int image) {
  ByteWriter body;
  wire::Put(body, wire::LoadModule{.device = 0});
  return ipc::SendMessage(socket, wire::MessageKind::kLoadModule, 1, std::move(body), std::span(&image, 1));
}

// `image`: has sent it as a module, and let go of it, before it is connected; `behind`: something that ends its session
// before that.
Connection Connect(ServerProcess& server, const std::string& party, os::Fd image = os::Fd(), bool behind = false) {
  auto [mine, theirs] = ServerProcess::ConnectionPair();
  ByteWriter hello;
  wire::Put(hello, wire::Hello{});
  EXPECT_TRUE(ipc::SendMessage(mine.get(), wire::MessageKind::kHello, 0, std::move(hello)));
  EXPECT_TRUE(!behind || ipc::SendMessage(mine.get(), wire::MessageKind::kHello, 0, ByteWriter()));
  EXPECT_TRUE(!image || SendModule(mine.get(), image.get()));
  image.Reset();
  server.PassOn(std::move(theirs), 1, wire::Attach{.party = party});
  const auto answer = ipc::ReceiveMessage(mine.get(), 10'000);
  // A refused client that has left something unread sees its connection closed, perhaps before the refusal.
  return {std::move(mine), answer && answer->head.kind == wire::MessageKind::kWelcome};
}

constexpr int kFiles = 224;
constexpr size_t kPlaces = control::MostClients(kFiles);

bool HasAnswer(const Connection& client) {
  pollfd look{client.socket.get(), POLLIN, 0};
  return poll(&look, 1, 0) > 0;
}

size_t PlacesFor(ServerProcess& server, const std::string& party) {
  std::vector<Connection> clients;
  for (Connection client = Connect(server, party); client.welcome; client = Connect(server, party))
    clients.push_back(std::move(client));
  return clients.size();
}

// A client that goes at once leaves the server with the file, or, if its session has ended before the server read that,
// with a connection in which it lies. Welcome or not, it comes again.
class UnclosedFiles : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Exhaustion, UnclosedFiles, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Unread" : "Taken"; });
TEST_P(UnclosedFiles, LeaveHalfOfThePlacesToOtherParties) {
  ServerProcess server({}, kFiles);
  std::vector<os::Fd> unread;
  size_t welcome = 0;
  for (int i = 0; i < kFiles; ++i) {
    auto [lingering, other_end] = os::MakeLingeringSocket();
    if (!lingering) GTEST_SKIP() << "no TCP over loopback";
    unread.push_back(std::move(other_end));
    welcome += Connect(server, "user 7", std::move(lingering), GetParam()).welcome;
  }
  EXPECT_LE(welcome, kPlaces);
  EXPECT_EQ(PlacesFor(server, "user 8"), kPlaces / 2);
}

TEST(Exhaustion, FilesThatConnectedClientsSendTakeNoPlacesOfOtherParties) {
  ServerProcess server({}, kFiles);
  std::vector<os::Fd> unread;
  std::vector<Connection> clients;
  for (Connection client = Connect(server, "user 7"); client.welcome; client = Connect(server, "user 7"))
    clients.push_back(std::move(client));
  kill(server.pid(), SIGSTOP);  // so that it is the last to close them
  for (const Connection& client : clients) {
    auto [lingering, other_end] = os::MakeLingeringSocket();
    if (!lingering) GTEST_SKIP() << "no TCP over loopback";
    unread.push_back(std::move(other_end));
    ASSERT_TRUE(SendModule(client.socket.get(), lingering.get()));
  }
  kill(server.pid(), SIGCONT);
  const auto answered = [&] { return static_cast<size_t>(std::ranges::count_if(clients, HasAnswer)); };
  for (int i = 0; i < 1000 && answered() < DescriptorTakers::kMostThreads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(answered(), DescriptorTakers::kMostThreads) << "the others wait for a thread";
  EXPECT_EQ(PlacesFor(server, "user 8"), kPlaces / 2);
}

TEST(Exhaustion, ModulesThatWaitToBeLoadedHoldNoDescriptors) {
  constexpr size_t kModules = 30, kSpare = 8;  // of answers, and of threads that make them
  constexpr size_t kLong = 64 << 20;  // takes a while to look through
  const std::string ptx = ".version 8.0\n.target sm_80\n" + std::string(kLong, '\n') + ".visible .entry k() { ret; }\n";
  const os::Fd image = os::CreateMemoryOf("image", {reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()}).value();
  ServerProcess server;
  const Connection client = Connect(server, "");
  ASSERT_TRUE(client.welcome);
  const size_t before = server.OpenFilesAtRest();
  for (size_t i = 0; i < kModules; ++i) ASSERT_TRUE(SendModule(client.socket.get(), image.get()));
  size_t most = 0;
  for (size_t i = 0; i < kModules; ++i) {
    most = std::max(most, server.OpenFiles());
    const auto reply = ipc::ReceiveMessage(client.socket.get(), 30'000);
    ASSERT_TRUE(reply && reply->head.kind == wire::MessageKind::kLoadModuleReply);
  }
  EXPECT_LE(most, before + kSpare);
}

TEST(Exhaustion, AFloodOfRefusalsFillsNoLogAndOthersAreHeard) {
  constexpr int kRefusals = 9000;  // in a log of 1.4 MB
  const std::string log = "/tmp/tutti-flood." + std::to_string(getpid()) + ".log";
  {
    ServerProcess server({"--log", log});
    auto old = server.ConnectHere(1, wire::Attach{.party = "user 1"});
    ASSERT_TRUE(old.has_value()) << old.error().text;
    ByteWriter body;
    wire::Put(body, wire::ServerShutdown{.force = false});
    server.Ask(wire::MessageKind::kServerShutdown, std::move(body));  // with its last client
    for (int i = 0; i < kRefusals; ++i)
      ASSERT_FALSE(server.ConnectHere(2, wire::Attach{.party = "user 2"}).has_value());
    ASSERT_FALSE(server.ConnectHere(3, wire::Attach{.party = "user 3"}).has_value());
  }
  int refused = 0, said = 0, others = 0;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    refused += line.find("Client 2 is refused") != line.npos;
    said += line.find("Lines about user 2 come too fast") != line.npos;
    others += line.find("Client 3 is refused") != line.npos;
  }
  std::remove(log.c_str());
  EXPECT_LT(refused, kRefusals);
  EXPECT_GE(said, 1);
  EXPECT_EQ(others, 1);
}

TEST(Exhaustion, ClientsForWhomThereIsNoMemoryAreRefusedWithAReason) {
  if (HasSanitizer()) GTEST_SKIP() << "address space is the sanitizer's";
  ServerProcess server;
  auto old = server.ConnectHere(1);
  ASSERT_TRUE(old.has_value()) << old.error().text;
  (*old)->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  EXPECT_TRUE(Works(**old));
  const size_t files = server.OpenFilesAtRest();
  {
    const NoMoreMemory narrow(server.pid());
    for (int i = 0; i < 5; ++i) {
      const auto client = server.ConnectHere(2);
      ASSERT_FALSE(client.has_value()) << "there is room for a window?";
      EXPECT_EQ(client.error().code, 809);
      EXPECT_NE(client.error().text.find("Cannot allocate memory"), std::string::npos) << client.error().text;
    }
    EXPECT_TRUE(Works(**old)) << "the old client";
    for (int i = 0; i < 500 && server.OpenFiles() > files; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_LE(server.OpenFiles(), files) << "of those that were refused something is left";
  }
  EXPECT_TRUE(server.ConnectHere(3).has_value()) << "there is room again";
}

TEST(Exhaustion, AServerThatCanStartNoThreadGoesOnWithThoseItHas) {
  if (HasSanitizer()) GTEST_SKIP() << "address space is the sanitizer's";
  ServerProcess server;
  auto client = server.ConnectHere(1);
  ASSERT_TRUE(client.has_value()) << client.error().text;
  (*client)->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  // Its first module: none of the threads that work for it has ever needed a thing.
  const NoMoreMemory narrow(server.pid(), kNextToNothing);
  for (int i = 0; i < 5; ++i) {
    const auto loaded = Load(**client);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().text;
  }
  EXPECT_TRUE(Works(**client));
}

}  // namespace
}  // namespace tutti::server::testing
