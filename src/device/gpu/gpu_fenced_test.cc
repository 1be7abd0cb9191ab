// Spaces that share an executor, with kernels that are fenced, and our own driver as the vendor's: what ends one of
// them is nothing to the others, who compute in the same context meanwhile.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "cuda/result.h"
#include "device/cts/client.h"
#include "device/cts/images.h"
#include "device/gpu/gpu_backend.h"
#include "device/gpu/testing/fences.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

constexpr uint64_t kMebibyte = 1 << 20;

// One of four parameters of 64 bits, a to d, in %a to %d.
std::string KernelOf(const std::string& body, const std::string& before = "") {
  return ".version 7.8\n.target sm_80\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
         "  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %a, %b, %c, %d, %t<8>;\n"
         "  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c]; ld.param.u64 %d, [d];\n" +
         body + "  ret;\n}\n";
}

class GpuFenced : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TUTTI_CPU_MEMORY", "64M", 1);
    setenv("TUTTI_CPU_SMS", "2", 1);
    const GpuSettings settings{
        .executor = TUTTI_EXECUTOR, .vendor = TUTTI_LIBCUDA, .isolation = Isolation::kShared, .most_shared = 8};
    spawner_ = os::Spawner::Start({settings.ProgramOf(), CompilerOfTests()}).value();
    auto backend = CreateGpuBackend(settings, spawner_, FencesOf(spawner_));
    ASSERT_TRUE(backend) << backend.error().text;
    backend_ = std::move(*backend);
    culprit_ = Serve();
    neighbour_ = Serve();
  }
  void TearDown() override {
    culprit_ = nullptr;
    neighbour_ = nullptr;
    backend_ = nullptr;
  }

  std::unique_ptr<Client> Serve() {
    auto client = std::make_unique<Client>(backend_.get(), Limits{.sharers = "a"});
    client->CreateStream(1);
    client->Allocate(kMebibyte);
    return client;
  }
  size_t Executors() const {
    const std::string spawner = std::to_string(spawner_->pid());
    std::ifstream file("/proc/" + spawner + "/task/" + spawner + "/children");
    size_t count = 0;
    for (auto pid = std::istream_iterator<pid_t>(file); pid != std::istream_iterator<pid_t>(); ++pid) {
      std::string name;
      std::getline(std::ifstream(fmt::format("/proc/{}/comm", *pid)), name);
      count += name.starts_with("tutti-executor") ? 1 : 0;
    }
    return count;
  }

  // The culprit runs it, and gets that error; the neighbour's kernel, which runs meanwhile, ends as it should, and so
  // does what it runs afterwards.
  void FaultsAlone(const std::string& kernel, int32_t status, std::vector<uint64_t> arguments = {}) {
    const uint64_t word = neighbour_->Allocate(sizeof(uint64_t));
    neighbour_->Launch(1, neighbour_->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
    culprit_->Launch(1, culprit_->Kernel(kernel), 1, 64, std::move(arguments));
    ASSERT_TRUE(culprit_->sink().WaitFaults(1));
    EXPECT_EQ(culprit_->sink().faults()[0].status, status) << culprit_->sink().faults()[0].report;
    neighbour_->CreateStream(2);
    neighbour_->Launch(2, neighbour_->Kernel(cts::kAdd), 1, 1, {word, 1, 0, 0});
    EXPECT_TRUE(neighbour_->Synchronize(1));
    EXPECT_TRUE(neighbour_->Computes());
    EXPECT_TRUE(neighbour_->sink().faults().empty());
  }
  std::string Report() const { return culprit_->sink().faults().at(0).report; }

  std::shared_ptr<os::Spawner> spawner_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> culprit_, neighbour_;
};

TEST_F(GpuFenced, AWildAddressIsTheFaultOfItsClientAlone) {
  FaultsAlone(KernelOf("  st.global.u32 [%a], 1;\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {0x1000});
  EXPECT_NE(Report().find("illegal address 0x1000 in kernel k, block (0,0,0)"), std::string::npos) << Report();
  EXPECT_NE(Report().find("PTX line 7"), std::string::npos) << Report();
}

TEST_F(GpuFenced, MemoryOfTheNeighbourIsNotReached) {
  const uint64_t secret = neighbour_->Allocate(64);
  neighbour_->Write(secret, std::vector<uint8_t>(64, 0x5e));
  FaultsAlone(KernelOf("  atom.exch.b32 %r0, [%a], 7;\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {secret});
  EXPECT_EQ(neighbour_->Read(secret, 64), std::vector<uint8_t>(64, 0x5e));
}

TEST_F(GpuFenced, AnAddressOfTheWindowWithoutMemoryIsAFaultOfItsClientAlone) {
  const uint64_t last = culprit_->space().window_base() + culprit_->space().window().bytes - 4;
  FaultsAlone(KernelOf("  ld.u32 %r0, [%a];\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {last});
}

TEST_F(GpuFenced, FreedMemoryIsAFaultOfItsClientAlone) {
  const uint64_t freed = culprit_->Allocate(8 * kMebibyte), behind = culprit_->Allocate(8 * kMebibyte);
  ASSERT_TRUE(culprit_->space().Free(freed));
  ASSERT_TRUE(culprit_->sink().WaitMemory(0, neighbour_->sink().memory_used(0) + 8 * kMebibyte));
  // Beside the hole it has memory still.
  culprit_->Launch(1, culprit_->Kernel(cts::kAdd), 1, 32, {behind, 2, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->ReadValue<uint64_t>(behind), 64u);
  FaultsAlone(KernelOf("  st.global.u32 [%a], 1;\n"), cuda::CUDA_ERROR_ILLEGAL_ADDRESS, {freed});
}

TEST_F(GpuFenced, ATrapIsAFaultOfItsClientAlone) { FaultsAlone(KernelOf("  trap;\n"), cuda::CUDA_ERROR_LAUNCH_FAILED); }

TEST_F(GpuFenced, AnAssertionIsAFaultOfItsClientAlone) {
  FaultsAlone(KernelOf("  call __assertfail, (%a, %a, %r0, %a, %a);\n",
                       ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
                       ".param .b64 c);\n"),
              cuda::CUDA_ERROR_ASSERT);
}

TEST_F(GpuFenced, AMisalignedAddressIsAFaultOfItsClientAlone) {
  const uint64_t own = culprit_->Allocate(64);
  FaultsAlone(KernelOf("  st.global.u32 [%a], 1;\n"), cuda::CUDA_ERROR_MISALIGNED_ADDRESS, {own + 2});
}

TEST_F(GpuFenced, WhoHasFaultedComputesAgainAfterAReset) {
  FaultsAlone(KernelOf("  trap;\n"), cuda::CUDA_ERROR_LAUNCH_FAILED);
  culprit_->space().Reset(0);
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_EQ(Executors(), 2u) << "theirs, and the next one";
}

TEST_F(GpuFenced, ACopyOfMemoryThatIsNotThereIsAFaultOfItsClientAlone) {
  const uint64_t own = culprit_->Allocate(64);
  const uint64_t last = culprit_->space().window_base() + culprit_->space().window().bytes - 64;
  const wire::CopyBody copy{.destination = own, .source = last, .row_bytes = 64, .rows = 1, .planes = 1};
  ASSERT_TRUE(culprit_->space().Copy(1, culprit_->next_ticket(), copy));
  ASSERT_TRUE(culprit_->sink().WaitFaults(1));
  EXPECT_EQ(culprit_->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_FALSE(culprit_->space().Word(last, sizeof(uint64_t), 0));
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_TRUE(neighbour_->sink().faults().empty());
}

TEST_F(GpuFenced, HostMemoryIsReachedByKernels) {
  const auto word = culprit_->space().Allocate(0, wire::MemoryKind::kHost, sizeof(uint64_t), 0);
  ASSERT_TRUE(word);
  culprit_->Launch(1, culprit_->Kernel(cts::kAdd), 1, 64, {*word, 3, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(culprit_->space().Reached(*word, sizeof(uint64_t))), 192u);
}

TEST_F(GpuFenced, TheFencesOwnVariablesCannotBeNamed) {
  const auto module = culprit_->space().LoadModule(
      0, {reinterpret_cast<const uint8_t*>(cts::kVariables.data()), cts::kVariables.size()});
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_EQ(module->info.variables.size(), 3u);
  for (const module::VariableInfo& variable : module->info.variables)
    EXPECT_FALSE(variable.name.starts_with("__tutti"));
}

TEST_F(GpuFenced, AKernelThatCannotBeFencedIsRefusedWithTheInstructionAndTheRemedy) {
  const std::string text = KernelOf("  mapa.u64 %t0, %a, 0;\n");
  const auto module = culprit_->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  ASSERT_TRUE(module) << module.error().text;
  const uint32_t any[3] = {0, 0, 0};
  const auto kernel = culprit_->space().Prepare(module->id, 0, any);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(kernel.error().text.find("TUTTI_ISOLATION=process"), std::string::npos) << kernel.error().text;
  EXPECT_TRUE(culprit_->Computes());
}

TEST_F(GpuFenced, WhatPrintsOrMayOutgrowItsStackIsRefused) {
  const std::string texts[] = {
      KernelOf("  call (%r0), vprintf, (%a, %b);\n",
               ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"),
      KernelOf("  call again, ();\n", ".func again();\n.func again() {\n  call again, ();\n  ret;\n}\n"),
      KernelOf("  mov.u64 %t0, one;\n  proto: .callprototype _ ();\n  call %t0, (), proto;\n",
               ".func one() {\n  ret;\n}\n")};
  for (const std::string& text : texts) {
    const auto module = culprit_->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    ASSERT_TRUE(module) << module.error().text;
    ASSERT_EQ(module->info.kernels.size(), 1u);
    const uint32_t any[3] = {0, 0, 0};
    const auto kernel = culprit_->space().Prepare(module->id, 0, any);
    ASSERT_FALSE(kernel) << text;
    EXPECT_EQ(kernel.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_NE(kernel.error().text.find("cannot be fenced"), std::string::npos) << kernel.error().text;
  }
}

TEST_F(GpuFenced, AnImageWithoutPtxIsRefusedWithTheRemedy) {
  const std::string image =
      "\x7f"
      "ELF no PTX in it";
  const auto module = culprit_->space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().text, "");
  EXPECT_TRUE(culprit_->Computes());
}

TEST_F(GpuFenced, AKernelWithoutEndEndsWithItsClient) {
  const uint64_t word = culprit_->Allocate(sizeof(uint64_t)), base = culprit_->space().window_base();
  culprit_->Launch(1, culprit_->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
  culprit_ = nullptr;
  EXPECT_EQ(backend_->memory(0).device_bytes(), neighbour_->sink().memory_used(0));
  culprit_ = Serve();
  EXPECT_EQ(culprit_->space().window_base(), base) << "in its place";
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_EQ(Executors(), 2u) << "theirs, and the next one";
}

TEST_F(GpuFenced, ATimeLimitEndsAKernelAndItsClientComputesAgainInTheSameContext) {
  const uint64_t word = culprit_->Allocate(sizeof(uint64_t));
  culprit_->Launch(1, culprit_->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
  culprit_->space().SetLimits({.kernel_ns = 20'000'000});
  ASSERT_TRUE(culprit_->sink().WaitFaults(1));
  EXPECT_EQ(culprit_->sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_TIMEOUT);
  culprit_->space().SetLimits({});
  culprit_->space().Reset(0);
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_TRUE(neighbour_->Computes());
  EXPECT_TRUE(neighbour_->sink().faults().empty());
  EXPECT_EQ(Executors(), 2u) << "theirs, and the next one";
}

// The thread that ends is the one that the others wait for.
TEST_F(GpuFenced, ThreadsThatWaitForOneThatHasFaultedEnd) {
  const uint64_t word = culprit_->Allocate(sizeof(uint64_t));
  FaultsAlone(KernelOf("  mov.u32 %r0, %tid.x;\n  setp.eq.u32 %p0, %r0, 0;\n  @%p0 trap;\n"
                       "again:\n  ld.volatile.global.u64 %t0, [%a];\n  setp.eq.u64 %p1, %t0, 0;\n  @%p1 bra again;\n"),
              cuda::CUDA_ERROR_LAUNCH_FAILED, {word});
  culprit_->space().Reset(0);
  EXPECT_TRUE(culprit_->Computes());
  EXPECT_EQ(Executors(), 2u) << "theirs, and the next one";
}

TEST_F(GpuFenced, ManyModulesHaveTheirOwnWords) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(culprit_->Computes());
  culprit_->Allocate(16 * kMebibyte);
  const uint64_t far = culprit_->Allocate(16 * kMebibyte);
  culprit_->Launch(1, culprit_->Kernel(cts::kAdd), 1, 1, {far + 15 * kMebibyte, 5, 0, 0});
  ASSERT_TRUE(culprit_->Synchronize(1));
  EXPECT_EQ(culprit_->ReadValue<uint64_t>(far + 15 * kMebibyte), 5u);
}

}  // namespace
}  // namespace tutti::device::gpu
