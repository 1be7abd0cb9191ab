#include "device/compile/code_replacement.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "device/compile/code_source.h"

namespace tutti::device {
namespace {

struct ToldTaker final : CodeTaker {
  void TakeCode(const LoadedCode& quick, const LoadedCode& code) override {
    ++told;
    last_quick = quick;
    last_code = code;
  }
  int told = 0;
  LoadedCode last_quick, last_code;
};

TEST(CodeReplacement, WhoAwaitsItIsToldOnceHoweverOftenItAsked) {
  CodeReplacement replacement;
  const auto quick = std::make_shared<LoadedKernel>(), code = std::make_shared<LoadedKernel>();
  const auto taker = std::make_shared<ToldTaker>(), other = std::make_shared<ToldTaker>();
  for (int i = 0; i < 3; ++i) replacement.Await(quick, taker);
  replacement.Await(quick, other);
  EXPECT_EQ(taker->told, 0);
  replacement.Arrive(quick, code);
  for (const auto& each : {taker, other}) {
    EXPECT_EQ(each->told, 1);
    EXPECT_EQ(each->last_quick, quick);
    EXPECT_EQ(each->last_code, code);
  }
}

TEST(CodeReplacement, WhoComesLaterIsToldAtOnce) {
  CodeReplacement replacement;
  const auto quick = std::make_shared<LoadedKernel>();
  auto code = std::make_shared<LoadedKernel>();
  replacement.Arrive(quick, code);
  const auto taker = std::make_shared<ToldTaker>(), last = std::make_shared<ToldTaker>();
  replacement.Await(quick, taker);
  EXPECT_EQ(taker->last_code, code);
  taker->last_code = nullptr;
  code = nullptr;  // it is in the cache alone
  replacement.Await(quick, last);
  EXPECT_EQ(last->told, 1);
  EXPECT_EQ(last->last_code, nullptr);
}

TEST(CodeReplacement, WhoHasGoneIsNotTold) {
  CodeReplacement replacement;
  const auto quick = std::make_shared<LoadedKernel>();
  auto taker = std::make_shared<ToldTaker>();
  replacement.Await(quick, taker);
  const std::weak_ptr<ToldTaker> gone = taker;
  taker = nullptr;
  EXPECT_TRUE(gone.expired());
  replacement.Arrive(quick, quick);
  replacement.Await(quick, gone);
}

// Whoever comes first, each is told once.
TEST(CodeReplacement, NobodyMissesItThatComesAtTheSameTime) {
  for (int round = 0; round < 500; ++round) {
    CodeReplacement replacement;
    const auto quick = std::make_shared<LoadedKernel>();
    std::vector<std::shared_ptr<ToldTaker>> takers;
    for (int i = 0; i < 4; ++i) takers.push_back(std::make_shared<ToldTaker>());
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (const auto& taker : takers) {
      threads.emplace_back([&] {
        while (!go) std::this_thread::yield();
        replacement.Await(quick, taker);
      });
    }
    go = true;
    replacement.Arrive(quick, quick);
    for (std::thread& thread : threads) thread.join();
    for (const auto& taker : takers) EXPECT_EQ(taker->told, 1);
  }
}

}  // namespace
}  // namespace tutti::device
