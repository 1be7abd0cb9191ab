// Modules and launches, as far as they are the same on every backend.
#include <cstring>

#include "cuda/result.h"
#include "device/cts/conformance.h"
#include "device/cts/kernels.h"

namespace tutti::device::cts {
namespace {

std::span<const uint8_t> Image(std::string_view name) {
  return {reinterpret_cast<const uint8_t*>(name.data()), name.size()};
}

TEST_F(Conformance, AModulesVariablesAreInTheWindowInitialisedAndRelocated) {
  Client client(backend_.get());
  const auto module = client.space().LoadModule(0, Image("add"));
  ASSERT_TRUE(module);
  const auto* const segment = reinterpret_cast<const uint8_t*>(module->addresses.segment);
  uint32_t value;
  std::memcpy(&value, segment + kTestVariableOffset, sizeof value);
  EXPECT_EQ(value, kTestVariableValue);
  uint64_t pointer;
  std::memcpy(&pointer, segment + 32, sizeof pointer);
  EXPECT_EQ(pointer, module->addresses.segment + kTestVariableOffset);
  std::memcpy(&pointer, segment + 40, sizeof pointer);
  EXPECT_EQ(pointer, module::FunctionAddress(2));
}

TEST_F(Conformance, ABrokenModuleFailsWithItsLog) {
  Client client(backend_.get());
  const auto module = client.space().LoadModule(0, Image("nonsense"));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(module.error().text.find("line 1"), std::string::npos);
}

TEST_F(Conformance, AnUnloadedModuleCannotBeUsed) {
  Client client(backend_.get());
  const auto module = client.space().LoadModule(0, Image("add"));
  ASSERT_TRUE(module);
  const uint32_t shape[3] = {0, 0, 0};
  EXPECT_TRUE(client.space().Prepare(module->id, 0, shape));
  EXPECT_TRUE(client.space().UnloadModule(module->id));
  EXPECT_EQ(client.space().Prepare(module->id, 0, shape).error().code, cuda::CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client.space().UnloadModule(module->id).error().code, cuda::CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::memory_bytes), 0u);
}

TEST_F(Conformance, UnloadingWaitsForLaunchedKernels) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint32_t shape[3] = {0, 0, 0};
  auto* const counter = client.Array<uint64_t>(1);
  for (int i = 0; i < 50; ++i) {
    const auto module = client.space().LoadModule(0, Image("add"));
    const auto kernel = client.space().Prepare(module->id, 0, shape);
    ASSERT_TRUE(kernel);
    client.Launch(1, kernel->id, 4, 64, {reinterpret_cast<uint64_t>(counter), 1});
    ASSERT_TRUE(client.space().UnloadModule(module->id));
  }
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(*counter, 50u * 4 * 64);
}

TEST_F(Conformance, LaunchesAreCounted) {
  Client client(backend_.get());
  client.CreateStream(1);
  for (int i = 0; i < 5; ++i) client.Launch(1, client.Kernel("empty"), 1, 32, {});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::launches), 5u);
}

TEST_F(Conformance, PoliciesCanBeChangedLive) {
  Client client(backend_.get());
  client.CreateStream(1);
  for (const Policy policy : {Policy::kTimeSlice, Policy::kShare, Policy::kTimeSlice}) {
    client.Launch(1, client.Kernel("empty"), 100, 32, {});
    backend_->SetPolicy(policy);
    EXPECT_EQ(backend_->policy(), policy);
    ASSERT_TRUE(client.Synchronize(1));
  }
}

}  // namespace
}  // namespace tutti::device::cts
