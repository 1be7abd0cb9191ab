// A server of a GPU, with our own driver as the vendor's: what one client's executor does is nothing to the others.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "server/testing/server_process.h"

namespace tutti::server::testing {
namespace {

using wire::RecordKind;

pid_t FirstChildOf(pid_t pid) {
  pid_t child = 0;
  std::ifstream("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children") >> child;
  return child;
}

int32_t Allocate(ipc::ClientConnection& client) {
  return client.replies().Call(RecordKind::kAllocate, wire::AllocateBody{.bytes = 4 << 20, .alignment = 256}).status;
}

TEST(GpuClients, AnExecutorThatHangsHoldsUpItsClientAlone) {
  setenv("TUTTI_VENDOR_LIBCUDA", ProgramOfThisBuild("test/vendor_strict/libcuda.so.1").c_str(), 1);
  setenv("TUTTI_CPU_MEMORY", "64M", 1);
  ServerProcess server({"--device", "cuda"});
  const auto client = server.ConnectHere(1);
  ASSERT_TRUE(client) << client.error().text;
  ASSERT_EQ(Allocate(**client), 0);

  const pid_t executor = FirstChildOf(FirstChildOf(server.pid()));
  ASSERT_NE(executor, 0);
  kill(executor, SIGSTOP);
  std::atomic<bool> answered{false};
  std::thread waits([&] {
    EXPECT_EQ(Allocate(**client), 0);
    answered = true;
  });
  for (int i = 0; i < 2; ++i) {
    auto [mine, theirs] = ServerProcess::ConnectionPair();
    const pid_t other = StartClient(mine, "memory", 20);
    mine.Reset();
    server.PassOn(std::move(theirs), static_cast<uint32_t>(other));
    EXPECT_EQ(AwaitClient(other), 0);
  }
  EXPECT_FALSE(answered);
  kill(executor, SIGCONT);
  waits.join();
}

size_t ChildrenOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  return static_cast<size_t>(std::distance(std::istream_iterator<pid_t>(file), {}));
}

// Clients that nobody has but their connection: in one process no two could map their windows.
TEST(GpuClients, WhoIsAdmittedHasDescriptorsForItsExecutor) {
  setenv("TUTTI_VENDOR_LIBCUDA", ProgramOfThisBuild("test/vendor_strict/libcuda.so.1").c_str(), 1);
  setenv("TUTTI_CPU_MEMORY", "64M", 1);
  constexpr int kFiles = 320;
  ServerProcess server({"--device", "cuda"}, kFiles);
  std::vector<os::Fd> clients;
  for (;;) {
    auto [mine, theirs] = ServerProcess::ConnectionPair();
    ByteWriter hello;
    wire::Put(hello, wire::Hello{});
    ASSERT_TRUE(ipc::SendMessage(mine.get(), wire::MessageKind::kHello, 0, std::move(hello)));
    server.PassOn(std::move(theirs), 1);
    const auto answer = ipc::ReceiveMessage(mine.get(), 10'000);
    if (!answer || answer->head.kind != wire::MessageKind::kWelcome) break;
    clients.push_back(std::move(mine));
  }
  EXPECT_GT(clients.size(), 1u);
  size_t executors = 0;
  constexpr int kPatienceMs = 20'000, kLookMs = 20;
  for (int waited = 0; waited < kPatienceMs && executors != clients.size() + 1; waited += kLookMs) {
    usleep(kLookMs * 1000);
    executors = ChildrenOf(FirstChildOf(server.pid()));
  }
  EXPECT_EQ(executors, clients.size() + 1) << "with the one that is kept ready";
}

}  // namespace
}  // namespace tutti::server::testing
