// A backend of a GPU for tests, with our own driver as the vendor's, and the executors that it has.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/cts/client.h"
#include "device/cts/images.h"
#include "device/gpu/gpu_backend.h"
#include "device/gpu/testing/executors_of.h"
#include "device/gpu/testing/fences.h"
#include "device/gpu/testing/stop_process.h"

namespace tutti::device::gpu {

inline constexpr uint64_t kMebibyte = 1 << 20;

class GpuFixture : public testing::Test {
 protected:
  using Client = cts::Client;

  ~GpuFixture() override {
    backend_ = nullptr;
    unsetenv("TUTTI_GPU_LIE");
    unsetenv("TUTTI_STRICT_MODES");
  }

  struct Options {
    Isolation isolation = Isolation::kProcess;
    uint32_t most_shared = 8;
    const char* plan = nullptr;  // by which the driver fails (tests/gpu/vendor_fault/plan.h)
    const char* modes = nullptr;  // what a strict driver does (tests/gpu/vendor_strict/breach.h)
    size_t most_programs = 60;
    bool fenced = false;
  };
  void Start(const Options& options) {
    setenv("TUTTI_CPU_MEMORY", "64M", 1);
    setenv("TUTTI_CPU_SMS", "2", 1);
    setenv("TUTTI_GPU_LIE_DRIVER", TUTTI_LIBCUDA, 1);
    if (options.plan != nullptr) setenv("TUTTI_GPU_LIE", options.plan, 1);
    if (options.modes != nullptr) setenv("TUTTI_STRICT_MODES", options.modes, 1);
    const GpuSettings settings{.executor = TUTTI_EXECUTOR,
                               .vendor = options.plan != nullptr ? TUTTI_FAILING_LIBCUDA : TUTTI_LIBCUDA,
                               .isolation = options.isolation,
                               .most_shared = options.most_shared,
                               .most_programs = options.most_programs};
    spawner_ = os::Spawner::Start({settings.ProgramOf(), CompilerOfTests()}).value();
    auto backend = CreateGpuBackend(settings, spawner_, options.fenced ? FencesOf(spawner_) : nullptr);
    ASSERT_TRUE(backend) << backend.error().text;
    backend_ = std::move(*backend);
  }

  // Whose executor has come.
  std::unique_ptr<Client> Serve(const char* sharers = "", const char* party = "") {
    auto client = std::make_unique<Client>(backend_.get(), Limits{.sharers = sharers, .party = party});
    client->CreateStream(1);
    client->Allocate(kMebibyte);
    return client;
  }

  // The oldest first.
  std::vector<pid_t> Executors() const { return ExecutorsOf(spawner_->pid()); }
  template <typename Condition>
  static bool Becomes(Condition condition) {
    constexpr std::chrono::seconds kPatience{30};
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  // With the one that is kept ready.
  bool BecomeExecutors(size_t count) const {
    return Becomes([&] { return Executors().size() == count; });
  }
  uint64_t used() const { return backend_->memory(0).device_bytes(); }

  // A kernel that runs until somebody writes the word.
  static uint64_t Spin(Client& client) {
    const uint64_t word = client.Allocate(sizeof(uint64_t));
    client.Launch(1, client.Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
    AwaitGiven(client);
    return word;
  }
  // Until the driver has all that the executor was given: one place's records have one order.
  static void AwaitGiven(Client& client) {
    const uint64_t counter = client.Allocate(sizeof(uint64_t));
    client.CreateStream(3);
    client.Launch(3, client.Kernel(cts::kAdd), 1, 1, {counter, 1, 0, 0});
    client.Synchronize(3);
  }
  static void EndSpin(Client& client, uint64_t word) {
    client.CreateStream(2);
    client.Launch(2, client.Kernel(cts::kAdd), 1, 1, {word, 1, 0, 0});
  }
  // A kernel without end, by a time limit, which is then none any more: on a busy machine, and where code is compiled,
  // any kernel may take that long.
  static void EndByTimeLimit(Client& client) {
    client.space().SetLimits({.kernel_ns = 20'000'000});
    ASSERT_TRUE(client.sink().WaitFaults(1));
    client.space().SetLimits({});
  }
  // To its executor: kernels of it may have written variables.
  static void Bind(Client& client) {
    client.Kernel(cts::kVariables);
    EXPECT_TRUE(client.Computes());
  }
  // A sticky error of the context.
  static void TouchNothing(Client& client) { client.Launch(1, client.Kernel(cts::kAdd), 1, 1, {16, 1, 0, 0}); }

  std::shared_ptr<os::Spawner> spawner_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace tutti::device::gpu
