// A stopped client (SIGSTOP, a debugger, a frozen cgroup) delays nobody: half attached, with a slot in its ring
// reserved and not filled, in the middle of a load whose answer it does not read, with a full ring, with work that
// waits for a host function. Others attach, compute, are listed; the control commands answer; it can be terminated, and
// all it had is freed; and if it is continued instead, so is its work.
//
//   stopped_test CONTROL      with CUDA_MPS_PIPE_DIRECTORY of a running daemon
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "actor.h"
#include "control_main.h"
#include "holdings.h"
#include "ipc/client_connection.h"
#include "ipc/message.h"
#include "os/memory.h"
#include "os/socket.h"
#include "wire/messages.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;

int Ask(const std::string& command) {
  return std::system(fmt::format("'{}' {} > /dev/null", control, command).c_str());
}

// Stops the process, once it is ready.
void Stop(const Actor& actor) {
  ASSERT_EQ(kill(actor.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(waitpid(actor.pid(), &status, WUNTRACED), actor.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
}

std::string PipeDirectory() { return std::getenv("CUDA_MPS_PIPE_DIRECTORY"); }

class Stopped : public testing::Test {
 protected:
  // A new client is served, and the control commands answer.
  static void ExpectOthersAreServed() {
    for (int i = 0; i < 3; ++i) {
      Actor other(ComputeOnce);
      EXPECT_EQ(other.AwaitEnd(), "");
    }
    EXPECT_EQ(Ask("get_client_list $(echo get_server_list | '" + control + "')"), 0);
    EXPECT_EQ(Ask("ps"), 0);
  }
  static void ExpectTerminated(Actor& stopped) {
    const pid_t server = FirstServer(control);
    const auto files = [server] { return HoldingsOf(server).memory_files; };
    const size_t before = files();
    EXPECT_EQ(Ask(fmt::format("terminate_client {} {}", server, stopped.pid())), 0);
    for (int i = 0; i < 1000 && files() >= before; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_LT(files(), before) << "its channel is not given back";
    EXPECT_EQ(kill(stopped.pid(), SIGCONT), 0);
  }
};

TEST_F(Stopped, ByReservingAPlaceInItsRing) {
  Actor actor([](ActorPage& page) {
    auto connection =
        ipc::ClientConnection::Connect(PipeDirectory(), {.claimed_pid = static_cast<uint32_t>(getpid())}, 60'000);
    if (!connection) GiveUp(page, connection.error().text);
    auto& ring = (*connection)->producer();
    ring.Submit(wire::RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0, .context = 1});
    (*connection)->channel().header.tail.fetch_add(1);
    for (int i = 0; i < 100; ++i) ring.Submit(wire::RecordKind::kMarker, 1, ipc::WaitHint::kNow);
    WaitToLeave(page);
  });
  ASSERT_EQ(actor.AwaitReady(), "");
  Stop(actor);
  ExpectOthersAreServed();
  ExpectTerminated(actor);
}

TEST_F(Stopped, InTheMiddleOfLoads) {
  Actor actor([](ActorPage& page) {
    auto connection =
        ipc::ClientConnection::Connect(PipeDirectory(), {.claimed_pid = static_cast<uint32_t>(getpid())}, 60'000);
    if (!connection) GiveUp(page, connection.error().text);
    int socket = -1;
    for (int fd = 3; fd < 64 && socket < 0; ++fd) {
      sockaddr_storage address;
      socklen_t length = sizeof address;
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) socket = fd;
    }
    const std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    const auto image = os::CreateMemoryOf("image", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    if (!image) GiveUp(page, "no image");
    const int fds[] = {image->get()};
    for (uint32_t i = 0; i < 8; ++i) {
      ByteWriter body;
      wire::Put(body, wire::LoadModule{.device = 0});
      if (!ipc::SendMessage(socket, wire::MessageKind::kLoadModule, i, std::move(body), fds))
        GiveUp(page, "cannot ask");
    }
    WaitToLeave(page);
  });
  ASSERT_EQ(actor.AwaitReady(), "");
  Stop(actor);
  ExpectOthersAreServed();
  ExpectTerminated(actor);
}

TEST_F(Stopped, WithAFullRing) {
  Actor actor([](ActorPage& page) {
    CUdeviceptr words;
    Check(page, "cuMemAlloc", cuMemAlloc_v2(&words, 4 << 20));
    for (uint32_t i = 0; !page.leave.load(); ++i) {
      Check(page, "cuMemsetD32Async", cuMemsetD32Async(words, i, 1 << 16, nullptr));
      if (i == 6000) page.ready.store(true);  // more than it holds
    }
    Check(page, "cuCtxSynchronize", cuCtxSynchronize());
  });
  ASSERT_EQ(actor.AwaitReady(), "");
  Stop(actor);
  ExpectOthersAreServed();
  ASSERT_EQ(kill(actor.pid(), SIGCONT), 0);
  EXPECT_EQ(actor.Leave(), "") << "after it was let go on";
}

TEST_F(Stopped, WhileItsStreamWaitsForItsHost) {
  Actor actor([](ActorPage& page) {
    CUdeviceptr words;
    uint32_t found = 0;
    Check(page, "cuMemAlloc", cuMemAlloc_v2(&words, 4));
    Check(page, "cuLaunchHostFunc",
          cuLaunchHostFunc(nullptr, [](void* self) { WaitToLeave(*static_cast<ActorPage*>(self)); }, &page));
    Check(page, "cuMemsetD32Async", cuMemsetD32Async(words, 5, 1, nullptr));
    Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(&found, words, 4));
    if (found != 5) GiveUp(page, "wrong results");
  });
  ASSERT_EQ(actor.AwaitReady(), "");
  Stop(actor);
  ExpectOthersAreServed();
  ASSERT_EQ(kill(actor.pid(), SIGCONT), 0);
  EXPECT_EQ(actor.Leave(), "") << "after it was let go on";
}

// Connections that have sent nothing, or everything and read nothing: one to the daemon, one to the server.
TEST_F(Stopped, HalfAttached) {
  std::vector<os::Fd> silent;
  for (int i = 0; i < 20; ++i) {
    auto socket = os::Connect(PipeDirectory() + "/control");
    ASSERT_TRUE(socket);
    ByteWriter body;
    wire::Put(body, wire::Hello{.claimed_pid = static_cast<uint32_t>(getpid()), .command_line = "half"});
    if (i % 2 == 0) {
      ASSERT_TRUE(ipc::SendMessage(socket->get(), wire::MessageKind::kHello, 0, std::move(body)));
    }
    silent.push_back(std::move(*socket));
  }
  ExpectOthersAreServed();
}

}  // namespace
}  // namespace tutti::fault
