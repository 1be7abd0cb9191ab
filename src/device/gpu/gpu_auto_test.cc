// Clients that share an executor with kernels that are fenced, until one of them loads code that cannot be.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cuda/result.h"
#include "device/gpu/suspicion.h"
#include "device/gpu/testing/gpu_fixture.h"
#include "metrics/client_counters.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;
using metrics::Counter;

// It writes 7 to its first parameter, and may call itself.
constexpr const char* kRecurs =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".func again(.param .u64 n) {\n  .reg .pred %p; .reg .b64 %n;\n  ld.param.u64 %n, [n];\n"
    "  setp.eq.u64 %p, %n, 0;\n  @!%p call again, (%n);\n  ret;\n}\n"
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
    "  .reg .pred %p; .reg .b64 %a;\n"
    "  ld.param.u64 %a, [a];\n  setp.eq.u64 %p, %a, 0;\n"
    "  @%p call again, (%a);\n"
    "  st.global.u64 [%a], 7;\n  ret;\n}\n";

// The same, and prints.
constexpr const char* kRecursAndPrints =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".func again(.param .u64 n) {\n  .reg .pred %p; .reg .b64 %n;\n  ld.param.u64 %n, [n];\n"
    "  setp.eq.u64 %p, %n, 0;\n  @!%p call again, (%n);\n  ret;\n}\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
    "  .reg .pred %p; .reg .b32 %w; .reg .b64 %a, %t, %z;\n"
    "  ld.param.u64 %a, [a];\n  setp.eq.u64 %p, %a, 0;\n"
    "  @%p call again, (%a);\n"
    "  mov.u64 %t, text;\n  cvta.global.u64 %t, %t;\n  mov.u64 %z, 0;\n"
    "  call (%w), vprintf, (%t, %z);\n  ret;\n}\n";

class GpuAuto : public GpuFixture {
 protected:
  void SetUp() override { Start({.isolation = Isolation::kAuto, .fenced = true}); }

  static Result<Space::LoadedModule> Load(Client& client, std::string_view image) {
    return client.space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  }
  static Result<PreparedKernel> Prepare(Client& client, const Result<Space::LoadedModule>& module) {
    const uint32_t any[3] = {0, 0, 0};
    return client.space().Prepare(module->id, 0, any);
  }
  static uint64_t MovesOf(Client& client) { return client.space().counters(0).Get(Counter::moves); }
};

TEST_F(GpuAuto, WhoLoadsCodeThatCannotBeFencedMovesToAnExecutorOfItsOwnWithWhatItHas) {
  const auto moves = Serve("a");
  const uint64_t word = moves->Allocate(sizeof(uint64_t));
  const uint32_t add = moves->Kernel(cts::kAdd);
  moves->Launch(1, add, 1, 1, {word, 5, 0, 0});
  ASSERT_TRUE(moves->Synchronize(1));  // alone: beside others it would go elsewhere while our driver compiles
  const auto stays = Serve("a");
  EXPECT_TRUE(stays->Computes());
  ASSERT_TRUE(BecomeExecutors(2)) << "of both, and the next one";
  const uint32_t recurs = moves->Kernel(kRecurs);
  EXPECT_TRUE(BecomeExecutors(3));
  EXPECT_EQ(moves->ReadValue<uint64_t>(word), 5u);
  moves->Launch(1, recurs, 1, 1, {word, 0, 0, 0});
  moves->Launch(1, add, 1, 1, {word, 1, 0, 0});
  ASSERT_TRUE(moves->Synchronize(1));
  EXPECT_EQ(moves->ReadValue<uint64_t>(word), 8u);
  EXPECT_TRUE(stays->Computes());
  EXPECT_EQ(MovesOf(*moves), 1u);
  EXPECT_EQ(MovesOf(*stays), 0u);
}

TEST_F(GpuAuto, CodeThatIsNotFencedGoesOnInTheNextExecutorToo) {
  const auto moves = Serve("a"), stays = Serve("a");
  const uint64_t word = moves->Allocate(sizeof(uint64_t));
  const uint32_t recurs = moves->Kernel(kRecurs);
  EXPECT_TRUE(stays->Computes());
  for (const pid_t executor : Executors()) kill(executor, SIGKILL);
  moves->Launch(1, recurs, 1, 1, {word, 0, 0, 0});
  ASSERT_TRUE(moves->Synchronize(1));
  EXPECT_EQ(moves->ReadValue<uint64_t>(word), 7u);
  EXPECT_TRUE(stays->Computes());
  EXPECT_TRUE(BecomeExecutors(3));
  EXPECT_TRUE(moves->sink().faults().empty());
}

TEST_F(GpuAuto, WhatCodePrintsThatIsNotFencedComesToItsProgram) {
  const auto moves = Serve("a"), stays = Serve("a");
  const uint64_t word = moves->Allocate(sizeof(uint64_t));
  moves->Launch(1, moves->Kernel(kRecursAndPrints), 1, 1, {word, 0, 0, 0});
  ASSERT_TRUE(moves->Synchronize(1));
  EXPECT_EQ(moves->sink().printed(), "hi\n");
  EXPECT_EQ(MovesOf(*moves), 1u);
}

TEST_F(GpuAuto, WhoHasMovedSharesAgainAfterAResetAndStaysThere) {
  const auto moves = Serve("a"), stays = Serve("a");
  moves->Kernel(kRecurs);
  EXPECT_TRUE(BecomeExecutors(3)) << "of each, and the next one";
  TouchNothing(*moves);
  ASSERT_TRUE(moves->sink().WaitFaults(1));
  moves->space().Reset(0);
  EXPECT_TRUE(moves->Computes());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // in which it would leave again
  EXPECT_EQ(MovesOf(*moves), 1u);
  EXPECT_TRUE(BecomeExecutors(2)) << "of both, and the next one";
  EXPECT_TRUE(stays->sink().faults().empty());
}

TEST_F(GpuAuto, WhoStaysAsItIsBoundIsSuspectLikeOthers) {
  const auto bound = Serve("a"), other = Serve("a");
  bound->CreateStream(2);
  for (uint32_t i = 1; i <= Suspicion::kMost; ++i) {
    EXPECT_TRUE(BecomeExecutors(2)) << "both in one: " << i;
    const pid_t executor = Executors().front();
    const auto fresh = [i](std::string_view image) { return std::string(image) + "// " + std::to_string(i); };
    bound->Kernel(fresh(cts::kVariables));
    const uint64_t word = bound->Allocate(sizeof(uint64_t));
    bound->Launch(1, bound->Kernel(fresh(cts::kAwait)), 1, 1, {word, 0, 0, 0});
    bound->Launch(2, bound->Kernel(fresh(cts::kAdd)), 1, 1, {bound->Allocate(sizeof(uint64_t)), 0, 0, 0});
    ASSERT_TRUE(bound->Synchronize(2)) << "so the other kernel has begun";
    EXPECT_TRUE(Load(*bound, fresh(kRecurs)));
    kill(executor, SIGKILL);
    ASSERT_TRUE(bound->sink().WaitFaults(i));
    bound->space().Reset(0);
    EXPECT_TRUE(bound->Computes());
    EXPECT_TRUE(other->Computes());
  }
  EXPECT_EQ(MovesOf(*bound), 0u);
  EXPECT_TRUE(BecomeExecutors(3)) << "of each, and the next one";
}

TEST_F(GpuAuto, AMoveWaitsForTheKernelsOfTheClient) {
  const auto moves = Serve("a"), stays = Serve("a");
  const uint64_t word = moves->Allocate(sizeof(uint64_t));
  moves->CreateStream(2);
  const uint32_t add = moves->Kernel(cts::kAdd);
  moves->Launch(1, moves->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
  Result<Space::LoadedModule> loaded = Fail("");
  std::thread loads([&] { loaded = Load(*moves, kRecurs); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // either way it is to succeed
  moves->Launch(2, add, 1, 1, {word, 1, 0, 0});
  loads.join();
  EXPECT_TRUE(loaded) << loaded.error().text;
  EXPECT_TRUE(moves->Synchronize(1));
  EXPECT_EQ(MovesOf(*moves), 1u);
  EXPECT_TRUE(stays->Computes());
}

TEST_F(GpuAuto, WhoIsBoundStaysAndIsToldWhatCannotBeFenced) {
  const auto bound = Serve("a"), other = Serve("a");
  Bind(*bound);
  const auto module = Load(*bound, kRecurs);
  ASSERT_TRUE(module) << module.error().text;
  const auto kernel = Prepare(*bound, module);
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().text.find("TUTTI_ISOLATION=process"), std::string::npos) << kernel.error().text;
  EXPECT_TRUE(bound->Computes());
  EXPECT_EQ(MovesOf(*bound), 0u);
  EXPECT_TRUE(BecomeExecutors(2));
}

TEST_F(GpuAuto, WhoSharesWithNobodyRunsAnything) {
  const std::string others = std::exchange(cts::sharers_of_clients, "");  // the conformance suite's
  const auto client = Serve("");
  cts::sharers_of_clients = others;
  EXPECT_TRUE(Prepare(*client, Load(*client, kRecurs)));
  EXPECT_EQ(MovesOf(*client), 0u);
}

}  // namespace
}  // namespace tutti::device::gpu
