// Spaces that share an executor with our own driver as the vendor's, and have fenced kernels: one that makes mistakes,
// and one beside it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/cts/client.h"
#include "device/cts/images.h"
#include "device/gpu/gpu_backend.h"
#include "device/gpu/testing/executors_of.h"
#include "device/gpu/testing/fences.h"

namespace tutti::device::gpu {

// One of four parameters of 64 bits, a to d, in %a to %d.
inline std::string KernelOf(const std::string& body, const std::string& before = "") {
  return ".version 7.8\n.target sm_80\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
         "  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %a, %b, %c, %d, %t<8>;\n"
         "  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c]; ld.param.u64 %d, [d];\n" +
         body + "  ret;\n}\n";
}

class FencedFixture : public testing::Test {
 protected:
  using Client = cts::Client;

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
    client->Allocate(1 << 20);
    return client;
  }
  std::vector<pid_t> Executors() const { return ExecutorsOf(spawner_->pid()); }

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
  static uint64_t Moves(Client& client) { return client.space().counters(0).Get(metrics::Counter::moves); }
  // There is theirs, and the next one. A kernel that our driver still compiles is one that is held up: its client may
  // go elsewhere, or be about to.
  void ExpectThatTheyShare() {
    constexpr int kLooks = 6'000;
    const auto they_share = [this] { return Executors().size() <= 2 + Moves(*culprit_) + Moves(*neighbour_); };
    for (int look = 0; look < kLooks && !they_share(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(they_share()) << Executors().size();
  }
  std::string Report() const { return culprit_->sink().faults().at(0).report; }

  std::shared_ptr<os::Spawner> spawner_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> culprit_, neighbour_;
};

}  // namespace tutti::device::gpu
