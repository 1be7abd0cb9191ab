// Spaces whose executors are lost or hang, with our own driver as the vendor's.
#include "device/gpu/gpu_space.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "cuda/result.h"
#include "device/cts/client.h"
#include "device/cts/images.h"
#include "device/gpu/gpu_backend.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

constexpr uint64_t kMiB = 1 << 20;

class GpuSpaceTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TUTTI_CPU_MEMORY", "64M", 1);
    setenv("TUTTI_CPU_SMS", "2", 1);
    const GpuSettings settings{.executor = TUTTI_EXECUTOR, .vendor = TUTTI_LIBCUDA};
    spawner_ = os::Spawner::Start({settings.ProgramOf()}).value();
    auto backend = CreateGpuBackend(settings, spawner_);
    ASSERT_TRUE(backend) << backend.error().text;
    backend_ = std::move(*backend);
  }

  // A client and its executor: the one that was started first of those that nobody has.
  struct Served {
    std::unique_ptr<Client> client;
    pid_t executor = 0;
    uint64_t address = 0;
  };
  Served Serve() {
    Served served{.client = std::make_unique<Client>(backend_.get()), .executor = 0, .address = 0};
    served.client->CreateStream(1);
    served.address = served.client->Allocate(kMiB);  // its executor has come
    std::ifstream children("/proc/" + std::to_string(spawner_->pid()) + "/task/" + std::to_string(spawner_->pid()) +
                           "/children");
    for (pid_t child = 0; children >> child;) {
      if (std::ranges::find(taken_, child) != taken_.end()) continue;
      taken_.push_back(served.executor = child);
      break;
    }
    return served;
  }

  // Whether a kernel of a new module adds to memory of zeros.
  static bool Computes(Client& client) {
    const uint64_t counter = client.Allocate(sizeof(uint32_t));
    const auto module =
        client.space().LoadModule(0, {reinterpret_cast<const uint8_t*>(cts::kAdd.data()), cts::kAdd.size()});
    if (!module) return false;
    const uint32_t block[3] = {64, 1, 1};
    const auto kernel = client.space().Prepare(module->id, 0, block);
    if (!kernel) return false;
    client.Launch(1, kernel->id, 4, 64, {counter, 3, 0, 0});
    return client.Synchronize(1) && client.ReadValue<uint32_t>(counter) == 4 * 64 * 3;
  }

  std::shared_ptr<os::Spawner> spawner_;
  std::unique_ptr<Backend> backend_;
  std::vector<pid_t> taken_;
};

TEST_F(GpuSpaceTest, ALostExecutorIsItsClientsFaultAndIsReplacedByAReset) {
  Served lost = Serve(), other = Serve();
  Client& client = *lost.client;
  const auto host = client.space().Allocate(0, wire::MemoryKind::kHost, kMiB, 0);
  ASSERT_TRUE(host) << host.error().text;
  std::memset(client.space().Reached(*host, kMiB), 0x5a, kMiB);
  ASSERT_TRUE(Computes(client));

  kill(lost.executor, SIGKILL);
  ASSERT_TRUE(client.sink().WaitFaults(1));
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_FALSE(client.space().Allocate(0, wire::MemoryKind::kDevice, kMiB, 0)) << "there is no device any more";
  EXPECT_TRUE(client.Synchronize(1)) << "nothing waits";
  EXPECT_TRUE(Computes(*other.client));

  client.space().Reset(0);
  EXPECT_TRUE(Computes(client));
  EXPECT_EQ(client.Read(*host, kMiB), std::vector<uint8_t>(kMiB, 0x5a)) << "memory of the host stays";
  EXPECT_TRUE(client.space().Free(lost.address)) << "what was not freed is still allocated";
  EXPECT_EQ(client.sink().faults().size(), 1u);
  EXPECT_TRUE(Computes(*other.client));
}

TEST_F(GpuSpaceTest, AnExecutorThatHangsHoldsUpItsClientAlone) {
  Served hangs = Serve(), other = Serve();
  Client& client = *hangs.client;
  const auto freed = client.space().Allocate(0, wire::MemoryKind::kDevice, 4 * kMiB, 0);
  ASSERT_TRUE(freed);
  kill(hangs.executor, SIGSTOP);
  ASSERT_TRUE(client.space().Free(*freed)) << "what the executor is to be asked is not waited for";
  const uint64_t behind = client.next_ticket();
  ASSERT_TRUE(
      client.space().Fill(1, behind, {.destination = hangs.address, .width = 64, .height = 1, .element_bytes = 1}));
  std::atomic<bool> allocated{false};
  std::thread waits(
      [&] { allocated = client.space().Allocate(0, wire::MemoryKind::kDevice, 4 * kMiB, 0).has_value(); });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Computes(*other.client));
  EXPECT_FALSE(allocated);
  EXPECT_FALSE(client.sink().IsDone(1, behind));
  kill(hangs.executor, SIGCONT);
  waits.join();
  EXPECT_TRUE(allocated);
  EXPECT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(Computes(client));
}

}  // namespace
}  // namespace tutti::device::gpu
