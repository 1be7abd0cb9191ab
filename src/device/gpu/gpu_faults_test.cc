// Drivers that fail, hang or end their process by a plan (tests/gpu/vendor_fault/plan.h): what that is to the client
// whose executor it is, and that it is nothing to another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "device/cts/client.h"
#include "device/cts/images.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/executor_link.h"
#include "device/gpu/gpu_backend.h"
#include "executor/protocol/request.h"
#include "os/confinement/sanitized.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

constexpr uint64_t kMebibyte = 1 << 20;

class GpuFaults : public testing::Test {
 protected:
  ~GpuFaults() override {
    backend_ = nullptr;
    unsetenv("TUTTI_GPU_LIE");
  }

  Result<std::unique_ptr<Backend>> Start(const char* plan) {
    setenv("TUTTI_CPU_MEMORY", "64M", 1);
    setenv("TUTTI_CPU_SMS", "2", 1);
    setenv("TUTTI_GPU_LIE", plan, 1);
    setenv("TUTTI_GPU_LIE_DRIVER", TUTTI_LIBCUDA, 1);
    const GpuSettings settings{.executor = TUTTI_EXECUTOR, .vendor = TUTTI_FAILING_LIBCUDA};
    return CreateGpuBackend(settings, os::Spawner::Start({settings.ProgramOf()}).value());
  }
  // A client under that plan.
  std::unique_ptr<Client> Serve(const char* plan) {
    auto backend = Start(plan);
    if (!backend) ADD_FAILURE() << backend.error().text;
    backend_ = std::move(*backend);
    return NewClient();
  }
  std::unique_ptr<Client> NewClient() {
    auto client = std::make_unique<Client>(backend_.get());
    client->CreateStream(1);
    return client;
  }

  // Of a module that is loaded now: what was loaded before a reset is lost.
  static uint32_t LoadAdd(Client& client) {
    const auto module =
        client.space().LoadModule(0, {reinterpret_cast<const uint8_t*>(cts::kAdd.data()), cts::kAdd.size()});
    const uint32_t block[3] = {1, 1, 1};
    const auto kernel = module ? client.space().Prepare(module->id, 0, block) : std::unexpected(module.error());
    if (!kernel) ADD_FAILURE() << kernel.error().text;
    return kernel ? kernel->id : 0;
  }

  // Launches so often; true if that is what a counter then says.
  static bool Counts(Client& client, uint64_t launches) {
    const uint64_t counter = client.Allocate(sizeof(uint64_t));
    const uint32_t add = LoadAdd(client);
    for (uint64_t i = 0; i < launches; ++i) client.Launch(1, add, 1, 1, {counter, 1, 0, 0});
    return client.Synchronize(1) && client.ReadValue<uint64_t>(counter) == launches;
  }
  // Launches more often than the plan lets it.
  static void LaunchUntilItFails(Client& client) {
    const uint64_t counter = client.Allocate(sizeof(uint64_t));
    const uint32_t add = LoadAdd(client);
    for (int i = 0; i < 5; ++i) client.Launch(1, add, 1, 1, {counter, 1, 0, 0});
  }

  std::unique_ptr<Backend> backend_;
};

// An executor asks for each attribute by its number, from 1 on.
std::string AnswersFor(cuda::DeviceAttribute attribute, int value) {
  return "cuDeviceGetAttribute=answer:" + std::to_string(value) + "@" + std::to_string(attribute);
}

TEST_F(GpuFaults, AComputeModeThatKeepsExecutorsOutIsSaidWithItsRemedy) {
  constexpr int kExclusiveProcess = 3, kProhibited = 2;
  for (const auto& [mode, name] : {std::pair(kExclusiveProcess, "EXCLUSIVE_PROCESS"), {kProhibited, "PROHIBITED"}}) {
    const auto backend = Start(AnswersFor(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, mode).c_str());
    ASSERT_FALSE(backend);
    EXPECT_EQ(backend.error().code, cuda::CUDA_ERROR_DEVICE_UNAVAILABLE);
    EXPECT_THAT(backend.error().text,
                testing::AllOf(testing::HasSubstr(name), testing::HasSubstr("nvidia-smi -c DEFAULT")));
  }
}

TEST_F(GpuFaults, ADeviceThatLacksWhatEveryClientNeedsIsRefused) {
  const std::pair<cuda::DeviceAttribute, const char*> needed[] = {
      {cuda::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "addresses that host and device share"},
      {cuda::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, "host memory that kernels reach"},
      {cuda::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, "registration of host memory"},
      {cuda::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, "at the host's own addresses"},
      {cuda::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "mapped at chosen addresses"},
      {cuda::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "share by descriptors"}};
  for (const auto& [attribute, what] : needed) {
    const auto backend = Start(AnswersFor(attribute, 0).c_str());
    ASSERT_FALSE(backend) << what;
    EXPECT_EQ(backend.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_THAT(backend.error().text, testing::HasSubstr(what));
  }
}

TEST_F(GpuFaults, ADriverWithLargerPiecesOfMemoryIsRefusedAndOneWithSmallerOnesIsNot) {
  const auto backend = Start("cuMemGetAllocationGranularity=answer:33554432");
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(backend.error().text, testing::HasSubstr("in pieces of 33554432 bytes"));
  EXPECT_TRUE(Counts(*Serve("cuMemGetAllocationGranularity=answer:65536"), 4));
}

TEST_F(GpuFaults, ALaunchThatFailsIsItsClientsFault) {
  const auto client = Serve("cuLaunchKernelEx=fail:700@5"), other = NewClient();
  LaunchUntilItFails(*client);
  ASSERT_TRUE(client->sink().WaitFaults(1));
  EXPECT_EQ(client->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_TRUE(client->Synchronize(1)) << "nothing waits";
  EXPECT_TRUE(Counts(*other, 4));
  client->space().Reset(0);
  EXPECT_TRUE(Counts(*client, 4)) << "in another context";
  EXPECT_TRUE(other->sink().faults().empty());
}

TEST_F(GpuFaults, WhatADriverSaysOfAKernelThatFailedIsTheFault) {
  const auto client = Serve("cuEventQuery=fail:719@3"), other = NewClient();
  const uint64_t counter = client->Allocate(sizeof(uint64_t));
  const uint32_t add = LoadAdd(*client);
  for (int i = 0; i < 5; ++i) {
    client->Launch(1, add, 1, 1, {counter, 1, 0, 0});
    EXPECT_TRUE(client->Synchronize(1));
  }
  ASSERT_TRUE(client->sink().WaitFaults(1));
  EXPECT_EQ(client->sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(other->Allocate(kMebibyte) != 0);
}

TEST_F(GpuFaults, ADriverThatEndsItsProcessIsItsClientsFault) {
  const auto client = Serve("cuLaunchKernelEx=exit:3@5"), other = NewClient();
  LaunchUntilItFails(*client);
  ASSERT_TRUE(client->sink().WaitFaults(1));
  EXPECT_EQ(client->sink().faults()[0].status, cuda::CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_TRUE(Counts(*other, 4));
  client->space().Reset(0);
  EXPECT_TRUE(Counts(*client, 4));
}

TEST_F(GpuFaults, ADriverThatHangsInALaunchHoldsUpItsClientAlone) {
  auto client = Serve("cuLaunchKernelEx=hang@5");
  const auto other = NewClient();
  LaunchUntilItFails(*client);
  const uint64_t behind = client->Mark(1);
  EXPECT_TRUE(Counts(*other, 4));
  EXPECT_FALSE(client->sink().IsDone(1, behind));
  EXPECT_TRUE(client->sink().faults().empty()) << "a driver may take as long as it likes";
  client.reset();  // does not wait for it
}

TEST_F(GpuFaults, ADriverThatHangsInARequestHoldsUpItsClientAlone) {
  auto client = Serve("cuModuleGetFunctionCount=hang@2");
  const auto other = NewClient();
  LoadAdd(*client);
  Result<Space::LoadedModule> loaded = Fail("");
  std::thread waits([&] {
    loaded = client->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(cts::kAdd.data()), cts::kAdd.size()});
  });
  EXPECT_TRUE(Counts(*other, 4));
  client->space().Abandon();
  waits.join();
  EXPECT_EQ(loaded.error().code, cuda::CUDA_ERROR_DEVICE_UNAVAILABLE);
}

TEST_F(GpuFaults, MemoryThatADriverDoesNotUnmapEndsItsExecutor) {
  const auto client = Serve("cuMemUnmap=fail:1@1"), other = NewClient();
  const uint64_t before = client->sink().memory_used(0);
  ASSERT_TRUE(client->space().Free(client->Allocate(4 * kMebibyte)));
  ASSERT_TRUE(client->sink().WaitFaults(1)) << "others may be given that memory";
  EXPECT_EQ(client->sink().faults()[0].status, cuda::CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_TRUE(Counts(*other, 4));
  client->space().Reset(0);
  EXPECT_EQ(client->sink().memory_used(0), before);
  EXPECT_TRUE(Counts(*client, 4));
}

// As one that hangs while it is made ready for a client that is killed meanwhile.
TEST_F(GpuFaults, AnExecutorThatIsExpectedEndsWithItsClient) {
  setenv("TUTTI_GPU_LIE", "cuMemCreate=hang", 1);
  setenv("TUTTI_GPU_LIE_DRIVER", TUTTI_LIBCUDA, 1);
  const GpuSettings settings{.executor = TUTTI_EXECUTOR, .vendor = TUTTI_FAILING_LIBCUDA};
  const auto spawner = os::Spawner::Start({settings.ProgramOf()}).value();
  std::shared_ptr<ExecutorLink> first = ExecutorLink::Enter(ExecutorProcess::Start(spawner).value()).value();
  cts::RecordingSink sink;
  CurrentExecutor current(&sink);
  current.Expect(first);
  std::thread waits([&] {
    EXPECT_FALSE(first->Ask({.kind = executor::RequestKind::kMapSlab, .address = 1ull << 40, .bytes = 2 * kMebibyte}));
  });
  current.Lose({.code = cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED, .text = "the client has gone"});
  waits.join();
  EXPECT_TRUE(first->HasEnded());
  std::shared_ptr<ExecutorLink> late = ExecutorLink::Enter(ExecutorProcess::Start(spawner).value()).value();
  current.Expect(late);
  EXPECT_TRUE(late->HasEnded()) << "who comes too late";
}

TEST_F(GpuFaults, MemoryThatADriverDoesNotClearIsRefusedAndNoMore) {
  const auto client = Serve("cuMemsetD8Async=fail:2");
  const uint64_t before = client->sink().memory_used(0);
  const auto refused = client->space().Allocate(0, wire::MemoryKind::kDevice, kMebibyte / 16, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(client->sink().memory_used(0), before);
  EXPECT_TRUE(client->sink().faults().empty());
  EXPECT_TRUE(client->space().Allocate(0, wire::MemoryKind::kHost, kMebibyte / 16, 0)) << "which is not the driver's";
  EXPECT_NE(LoadAdd(*client), 0u);
  EXPECT_TRUE(client->Synchronize(1));
}

TEST_F(GpuFaults, MemoryIsAskedForOnceMoreWhenWhatWasFreedIsBack) {
  const auto client = Serve("cuMemsetD8Async=fail:2@1");
  EXPECT_TRUE(Counts(*client, 4));
}

TEST_F(GpuFaults, AModuleThatADriverRefusesIsRefusedAndNoMore) {
  const auto client = Serve("cuModuleLoadDataEx=fail:218@1");
  const auto refused =
      client->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(cts::kAdd.data()), cts::kAdd.size()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_TRUE(Counts(*client, 4));
}

// As one does that a kernel of its client has taken over.
TEST_F(GpuFaults, ADriverReachesNothingBeyondItsExecutor) {
  if (os::kSanitized) GTEST_SKIP() << "executors are not confined in a build with a sanitizer";
  const auto client = Serve("cuModuleLoadDataEx=escape,cuLaunchKernelEx=escape");  // one in each thread of the executor
  const auto loaded =
      client->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(cts::kAdd.data()), cts::kAdd.size()});
  ASSERT_TRUE(loaded) << "an attempt is not refused (tests/gpu/vendor_fault/escape.cc): " << loaded.error().text;
  EXPECT_TRUE(Counts(*client, 4));
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuFaults, ADriverThatDoesNotStartIsNamedWithItsCall) {
  for (const auto& [plan, said] : {std::pair("cuInit=fail:100", "cuInit: CUDA_ERROR_NO_DEVICE"),
                                   std::pair("cuDevicePrimaryCtxRetain=fail:2", "cuDevicePrimaryCtxRetain"),
                                   std::pair("cuMemAddressReserve=fail:1", "cuMemAddressReserve"),
                                   std::pair("cuInit=exit:1", "has ended as it started")}) {
    const auto backend = Start(plan);
    ASSERT_FALSE(backend) << plan;
    EXPECT_NE(backend.error().text.find(said), std::string::npos) << backend.error().text;
  }
}

}  // namespace
}  // namespace tutti::device::gpu
