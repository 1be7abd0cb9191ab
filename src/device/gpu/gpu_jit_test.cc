// The driver compiles what clients that share an executor load, elsewhere: what becomes of the text that it cannot.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cuda/result.h"
#include "device/gpu/testing/gpu_fixture.h"
#include "metrics/client_counters.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

class GpuJit : public GpuFixture {
 protected:
  void Start(const char* plan) { GpuFixture::Start({.isolation = Isolation::kShared, .plan = plan, .fenced = true}); }
  // Of a text that nobody has loaded before.
  static Result<Space::LoadedModule> Load(Client& client) {
    static std::atomic<int> number{0};
    std::string image(cts::kAdd);
    image.insert(image.rfind('}') + 1, "\n.visible .entry other" + std::to_string(++number) + "() {\n  ret;\n}\n");
    return client.space().LoadModule(0, {reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  }
  static void ExpectNothingHasEnded(Client& client) {
    EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::executor_ends), 0u);
    EXPECT_TRUE(client.sink().faults().empty());
    EXPECT_EQ(client.Read(client.Allocate(64), 64), std::vector<uint8_t>(64));
  }
};

// Each second text ends the driver.
TEST_F(GpuJit, ATextThatEndsTheDriverIsAnErrorOfItsLoadAlone) {
  Start("cuLinkComplete=exit:3@2");
  const auto culprit = Serve("a"), neighbour = Serve("a");
  ASSERT_TRUE(neighbour->Computes());
  const auto loaded = Load(*culprit);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(loaded.error().text.find("has ended as it compiled the module"), std::string::npos) << loaded.error().text;
  ExpectNothingHasEnded(*culprit);
  ExpectNothingHasEnded(*neighbour);
  EXPECT_TRUE(culprit->Computes()) << "in the same executor, by code that the next one has made";
}

// It never returns from each second: from one of two that are loaded at once.
TEST_F(GpuJit, ATextThatIsNeverDoneHoldsUpNobodyElse) {
  Start("cuLinkComplete=hang@2");
  const auto one = Serve("a"), two = Serve("a");
  ASSERT_TRUE(one->Computes());
  struct Loading {
    Client* client;
    std::atomic<bool> over{false};
    Result<Space::LoadedModule> loaded = Fail("");
    std::thread thread;
  } loadings[2] = {{.client = one.get()}, {.client = two.get()}};
  for (Loading& loading : loadings)
    loading.thread = std::thread([&loading] {
      loading.loaded = Load(*loading.client);
      loading.over = true;
    });
  EXPECT_TRUE(Becomes([&] { return loadings[0].over || loadings[1].over; }));
  const bool first_is_over = loadings[0].over;
  Loading& done = loadings[first_is_over ? 0 : 1];
  Loading& never = loadings[first_is_over ? 1 : 0];
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it would be done by then, if it ever were
  EXPECT_FALSE(never.over);
  never.client->space().Abandon();
  for (Loading& loading : loadings) loading.thread.join();
  EXPECT_TRUE(done.loaded) << done.loaded.error().text;
  EXPECT_FALSE(never.loaded);
  ExpectNothingHasEnded(*done.client);
}

// It never returns from each second: two clients of one user have one each, and a third one has to wait.
TEST_F(GpuJit, TextsOfOneUserThatAreNeverDoneHoldUpNoOtherUser) {
  Start("cuLinkComplete=hang@2");
  const std::unique_ptr<Client> own[] = {Serve("a"), Serve("a"), Serve("a")};
  const auto other = Serve("b");
  std::vector<std::thread> loading;
  std::atomic<uint32_t> done{0};
  for (const auto& client : own)
    loading.emplace_back([&client, &done] {
      while (Load(*client)) ++done;
    });
  EXPECT_TRUE(Becomes([&] { return done == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the next ones have begun
  std::atomic<bool> over{false};
  std::thread others([&] {
    EXPECT_TRUE(other->Computes());
    over = true;
  });
  EXPECT_TRUE(Becomes([&] { return over.load(); }));
  for (const auto& client : own) client->space().Abandon();
  for (std::thread& thread : loading) thread.join();
  others.join();
  EXPECT_EQ(done, 2u);
}

// Each second text ends the driver.
TEST_F(GpuJit, WhatHasCompiledForOneUserCompilesForNoOther) {
  Start("cuLinkComplete=exit:3@2");
  for (const char* const user : {"a", "b", "c", "d", "e"}) {
    const auto loaded = Load(*Serve(user));
    EXPECT_TRUE(loaded) << user << ": " << loaded.error().text;
  }
}

TEST_F(GpuJit, WhatTheDriverSaysOfATextIsItsLoadsError) {
  Start("cuLinkComplete=fail:209@2");
  const auto culprit = Serve("a");
  ASSERT_TRUE(culprit->Computes());
  const auto loaded = Load(*culprit);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, cuda::CUDA_ERROR_NO_BINARY_FOR_GPU);
  ExpectNothingHasEnded(*culprit);
}

}  // namespace
}  // namespace tutti::device::gpu
