// Modules and launches, as far as they are the same on every backend.
#include <algorithm>
#include <cstring>

#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "device/cts/conformance.h"
#include "device/cts/images.h"

namespace tutti::device::cts {
namespace {

std::span<const uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

uint64_t AddressOf(const Space::LoadedModule& module, std::string_view name) {
  for (const module::VariableInfo& variable : module.info.variables) {
    if (variable.name == name) return variable.address;
  }
  ADD_FAILURE() << "no variable " << name;
  return 0;
}

TEST_F(Conformance, AModulesVariablesAreInTheWindowInitialisedAndRelocated) {
  Client client(backend_.get());
  const auto module = client.space().LoadModule(0, Bytes(kVariables));
  ASSERT_TRUE(module) << module.error().text;
  const uint64_t v = AddressOf(*module, "v");
  EXPECT_EQ(client.ReadValue<uint32_t>(v), kValueOfV);
  EXPECT_EQ(client.ReadValue<uint64_t>(AddressOf(*module, "p")), v);
}

TEST_F(Conformance, ACopyChangesAConstantForTheKernelsBehindIt) {
  Client client(backend_.get());
  client.CreateStream(1);
  const auto module = client.space().LoadModule(0, Bytes(kVariables));
  ASSERT_TRUE(module) << module.error().text;
  const uint32_t shape[3] = {0, 0, 0};
  const auto kernel = client.space().Prepare(module->id, 0, shape);
  ASSERT_TRUE(kernel) << kernel.error().text;
  const uint64_t out = client.Allocate(4);
  client.Launch(1, kernel->id, 1, 1, {out});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.ReadValue<uint32_t>(out), kValueOfK);
  client.Write(AddressOf(*module, "k"), std::vector<uint8_t>{1, 2, 3, 4});
  client.Launch(1, kernel->id, 1, 1, {out});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.ReadValue<uint32_t>(out), 0x04030201u);
}

TEST_F(Conformance, HostAndKernelsReachAManagedVariableAtOneAddress) {
  Client client(backend_.get());
  client.CreateStream(1);
  const auto module = client.space().LoadModule(0, Bytes(kManaged));
  ASSERT_TRUE(module) << module.error().text;
  const uint64_t m = AddressOf(*module, "m");
  auto* const words = reinterpret_cast<volatile uint32_t*>(client.space().Reached(m, 2 * sizeof(uint32_t)));
  ASSERT_NE(words, nullptr) << "it is in the host part";
  EXPECT_EQ(words[0], kValueOfM);
  EXPECT_EQ(words[1], 0u);
  const uint32_t shape[3] = {0, 0, 0};
  const auto kernel = client.space().Prepare(module->id, 0, shape);
  ASSERT_TRUE(kernel) << kernel.error().text;
  words[1] = 5;
  client.Launch(1, kernel->id, 1, 32, {0, 2});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(words[1], 5u + 32 * 2);
  EXPECT_EQ(words[0], kValueOfM);
  EXPECT_FALSE(client.space().Free(m)) << "it is the device's";
  EXPECT_TRUE(client.space().UnloadModule(module->id));
  EXPECT_TRUE(client.sink().WaitMemory(0, 0)) << "it is given back with its module";
}

TEST_F(Conformance, ABrokenModuleFailsWithItsLog) {
  Client client(backend_.get());
  const auto module = client.space().LoadModule(0, Bytes(kBroken));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(module.error().text.find("line 4"), std::string::npos);
}

TEST_F(Conformance, AnUnloadedModuleCannotBeUsed) {
  Client client(backend_.get());
  const auto module = client.space().LoadModule(0, Bytes(kAdd));
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
  const uint64_t counter = client.Allocate(8);
  for (int i = 0; i < 50; ++i) {
    const auto module = client.space().LoadModule(0, Bytes(kAdd));
    const auto kernel = client.space().Prepare(module->id, 0, shape);
    ASSERT_TRUE(kernel);
    client.Launch(1, kernel->id, 4, 64, {counter, 1});
    ASSERT_TRUE(client.space().UnloadModule(module->id));
  }
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.ReadValue<uint64_t>(counter), 50u * 4 * 64);
}

TEST_F(Conformance, LaunchesAreCounted) {
  Client client(backend_.get());
  client.CreateStream(1);
  for (int i = 0; i < 5; ++i) client.Launch(1, client.Kernel(kEmpty), 1, 32, {});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::launches), 5u);
}

TEST_F(Conformance, PoliciesCanBeChangedLive) {
  Client client(backend_.get());
  client.CreateStream(1);
  EXPECT_EQ(backend_->policy(), backend_->policies().front());
  for (const Policy policy : kAllPolicies) {
    client.Launch(1, client.Kernel(kEmpty), 100, 32, {});
    const Policy before = backend_->policy();
    const bool known = std::ranges::find(backend_->policies(), policy) != backend_->policies().end();
    const Status set = backend_->SetPolicy(policy);
    EXPECT_EQ(set.has_value(), known) << PolicyName(policy);
    EXPECT_EQ(backend_->policy(), known ? policy : before);
    ASSERT_TRUE(client.Synchronize(1));
  }
}

TEST_F(Conformance, OccupancyIsAnsweredWhereClientsAskForIt) {
  Client client(backend_.get());
  const auto module = client.space().LoadModule(0, Bytes(kAdd));
  ASSERT_TRUE(module) << module.error().text;
  const auto blocks = [&](uint32_t threads) { return client.space().BlocksPerSm(module->id, 0, threads, 0); };
  if ((backend_->devices()[0].traits & wire::kDeviceAsksOccupancy) == 0) {
    EXPECT_EQ(blocks(128).error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
    return;
  }
  ASSERT_TRUE(blocks(128)) << blocks(128).error().text;
  EXPECT_GE(*blocks(128), 1u);
  EXPECT_LE(*blocks(1024), *blocks(128));
  EXPECT_FALSE(client.space().BlocksPerSm(module->id + 1, 0, 128, 0));
  EXPECT_FALSE(client.space().BlocksPerSm(module->id, 99, 128, 0));
}

TEST_F(Conformance, OneKernelIsForAllShapesWhereItSaysSo) {
  if ((backend_->devices()[0].traits & wire::kDeviceAnyShape) == 0) GTEST_SKIP() << "a kernel is for one block shape";
  Client client(backend_.get());
  client.CreateStream(1);
  const auto module = client.space().LoadModule(0, Bytes(kAdd));
  ASSERT_TRUE(module) << module.error().text;
  const uint32_t any[3] = {0, 0, 0};
  const auto kernel = client.space().Prepare(module->id, 0, any);
  ASSERT_TRUE(kernel);
  const uint64_t counter = client.Allocate(8);
  for (const uint32_t threads : {1, 32, 100, 1024}) client.Launch(1, kernel->id, 1, threads, {counter, 1});
  EXPECT_TRUE(client.Synchronize(1));
}

TEST_F(Conformance, DevicesSayHowTheirSmsAndPrioritiesAreGiven) {
  for (const wire::DeviceInfo& device : backend_->devices()) {
    const int sms = device.attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
    EXPECT_GE(device.sm_group, 1u);
    EXPECT_LE(device.sm_group, static_cast<uint32_t>(sms));
    EXPECT_LE(device.most_urgent, 0);
  }
}

}  // namespace
}  // namespace tutti::device::cts
