// Modules and launches, as far as they are the same on every backend.
#include <cstring>

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
  for (const Policy policy : {Policy::kTimeSlice, Policy::kShare, Policy::kTimeSlice}) {
    client.Launch(1, client.Kernel(kEmpty), 100, 32, {});
    backend_->SetPolicy(policy);
    EXPECT_EQ(backend_->policy(), policy);
    ASSERT_TRUE(client.Synchronize(1));
  }
}

}  // namespace
}  // namespace tutti::device::cts
