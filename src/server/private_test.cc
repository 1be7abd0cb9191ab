// A server that a program starts for itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/pidfd.h"
#include "os/socket.h"
#include "os/spawn.h"
#include "server/testing/server_process.h"

namespace tutti::server::testing {
namespace {

using wire::RecordKind;

// A private server as a child of this test, and the client's end of its socket.
struct Private {
  Private() {
    auto sockets = os::SocketPair().value();
    const os::Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    pid = os::Spawn({.path = ProgramOfThisBuild("bin/tutti-server"),
                     .arguments = {"tutti-server", "--private-fd", "3", "--device", "null"},
                     .files = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}, {sockets.second.get(), 3}}})
              .value();
    socket = std::move(sockets.first);
  }
  int AwaitExit() const {
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
  }
  pid_t pid;
  os::Fd socket;
};

TEST(PrivateServer, ServesItsClientAndEndsWithIt) {
  Private server;
  auto client = ipc::ClientConnection::Adopt(std::move(server.socket), {}, 30'000);
  ASSERT_TRUE(client.has_value()) << client.error().text;
  EXPECT_EQ((*client)->header().shared_server, 0u);
  (*client)->producer().Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0});
  EXPECT_EQ((*client)->waiter().Wait(1, (*client)->producer().Submit(RecordKind::kMarker, 1)), 0);
  client->reset();
  EXPECT_EQ(server.AwaitExit(), 0);
}

// The management library asks while the client library has a session: both servers choose the same addresses.
TEST(PrivateServer, ShowsItsDevicesToAProcessThatHasAnothersWindow) {
  Private first;
  auto client = ipc::ClientConnection::Adopt(std::move(first.socket), {}, 30'000);
  ASSERT_TRUE(client.has_value()) << client.error().text;
  Private second;
  auto view = ipc::ClientConnection::Look(std::move(second.socket), {}, 30'000);
  ASSERT_TRUE(view.has_value()) << view.error().text;
  EXPECT_EQ(view->header().device_count, (*client)->header().device_count);
  view->socket.Reset();
  EXPECT_EQ(second.AwaitExit(), 0);
  client->reset();
  EXPECT_EQ(first.AwaitExit(), 0);
}

TEST(PrivateServer, EndsIfItsClientNeverSpeaks) {
  Private server;
  server.socket.Reset();
  EXPECT_NE(server.AwaitExit(), 0);
}

TEST(PrivateServer, RefusesAHelloCutShort) {
  Private server;
  ByteWriter body;
  body.Put<uint8_t>(1);
  ASSERT_TRUE(ipc::SendMessage(server.socket.get(), wire::MessageKind::kHello, 0, std::move(body)).has_value());
  EXPECT_EQ(ipc::ReceiveMessage(server.socket.get(), 10'000)->head.kind, wire::MessageKind::kRefuse);
  EXPECT_NE(server.AwaitExit(), 0);
}

TEST(PrivateServer, IsNotHitByTheTerminalsInterrupt) {
  Private server;
  auto client = ipc::ClientConnection::Adopt(std::move(server.socket), {}, 30'000);
  ASSERT_TRUE(client.has_value());
  EXPECT_NE(getpgid(server.pid), getpgid(0)) << "Ctrl-C would end the server before its client";
  client->reset();
  EXPECT_EQ(server.AwaitExit(), 0);
}

// A client that has forked: the child keeps the socket open when the client is killed.
TEST(PrivateServer, EndsThoughAForkedChildStillHoldsTheSocket) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t client = fork();
  ASSERT_GE(client, 0);
  // noexcept: what goes wrong in the child must not run on in a second copy of this test.
  if (client == 0)
    [&]() noexcept {
      // As the client library does it: the socket pair is the client's own, so the server sees the client behind it.
      Private server;
      auto connection = ipc::ClientConnection::Adopt(std::move(server.socket), {}, 30'000);
      const pid_t child = fork();
      if (child == 0) {
        pause();
        _exit(0);
      }
      const pid_t pids[] = {server.pid, child};
      [[maybe_unused]] const ssize_t written = write(ends[1], pids, sizeof pids);
      raise(SIGKILL);
    }();
  close(ends[1]);
  pid_t pids[2];
  ASSERT_EQ(read(ends[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  const auto server = os::OpenPidfd(pids[0]);
  waitpid(client, nullptr, 0);
  if (server) {
    pollfd wait{server->get(), POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 20'000), 1) << "the server waits for a process that is no client";
  }
  kill(pids[1], SIGKILL);
  close(ends[0]);
}

}  // namespace
}  // namespace tutti::server::testing
