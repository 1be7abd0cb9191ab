// A server of a GPU, with our own driver as the vendor's: what one client's executor does is nothing to the others.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

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
  setenv("TUTTI_VENDOR_LIBCUDA", ProgramOfThisBuild("lib/libcuda.so.1").c_str(), 1);
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

}  // namespace
}  // namespace tutti::server::testing
