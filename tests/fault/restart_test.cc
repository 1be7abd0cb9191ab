// The clients of a server that dies survive: they get CUDA_ERROR_MPS_RPC_FAILURE, never hang, and those that make their
// context again continue in the same process, on the server that the daemon has started meanwhile. Prints how long each
// took; the aim is a server that is ready within 50 ms.
//
//   restart_test CONTROL      with CUDA_MPS_PIPE_DIRECTORY of a running daemon
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "actor.h"
#include "control_main.h"
#include "holdings.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;
using Clock = std::chrono::steady_clock;

uint64_t NowUs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count());
}

// A call that the server has to answer.
CUresult Ask() {
  CUdeviceptr word;
  const CUresult asked = cuMemAlloc_v2(&word, 4);
  return asked == CUDA_SUCCESS ? cuMemFree_v2(word) : asked;
}

// Works, sees that its server has gone, and works again. Stores in `address` when that was.
void WorkOnTwoServers(ActorPage& page) {
  ComputeOnce(page);
  WaitToLeave(page);
  CUresult told = CUDA_SUCCESS;
  for (const auto end = Clock::now() + 60s; told == CUDA_SUCCESS && Clock::now() < end;) told = Ask();
  if (told != CUDA_ERROR_MPS_RPC_FAILURE)
    GiveUp(page, fmt::format("told {} and not CUDA_ERROR_MPS_RPC_FAILURE", static_cast<int>(told)));
  Check(page, "cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2(0));
  ComputeOnce(page);
  page.address.store(NowUs());
}

TEST(Restart, ClientsThatMakeTheirContextAgainGoOnWithTheNextServer) {
  // From the second restart on the daemon waits first, so that a broken server does not keep the machine busy.
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Actor>> clients;
    for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Actor>(WorkOnTwoServers));
    for (const auto& client : clients) ASSERT_EQ(client->AwaitReady(), "");
    const pid_t server = FirstServer(control);
    ASSERT_GT(server, 0);
    for (const auto& client : clients) client->page().leave.store(true);
    const uint64_t killed_us = NowUs();
    ASSERT_EQ(kill(server, SIGKILL), 0);
    uint64_t last_us = killed_us, first_us = ~0ull;
    for (const auto& client : clients) {
      EXPECT_EQ(client->AwaitEnd(), "");
      first_us = std::min(first_us, client->page().address.load());
      last_us = std::max(last_us, client->page().address.load());
    }
    EXPECT_NE(FirstServer(control), server);
    fmt::print("after the kill the first client works again within {:.1f} ms, the last of 4 within {:.1f} ms\n",
               static_cast<double>(first_us - killed_us) / 1000, static_cast<double>(last_us - killed_us) / 1000);
  }
}

}  // namespace
}  // namespace tutti::fault
