#include "metrics/client_counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

namespace tutti::metrics {
namespace {

TEST(ClientCounters, NothingIsLostBetweenThreads) {
  ClientCounters counters;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&counters, t] {
      for (uint64_t i = 1; i <= 10'000; ++i) {
        counters.Add(Counter::blocks, 2);
        counters.Raise(Counter::memory_peak_bytes, i * static_cast<uint64_t>(t + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.Get(Counter::blocks), 80'000u);
  EXPECT_EQ(counters.Get(Counter::memory_peak_bytes), 40'000u);
}

TEST(ClientCounters, ValuesStandInTheOrderOfTheTable) {
  ClientCounters counters;
  counters.Set(Counter::launches, 7);
  const auto values = counters.Values();
  ASSERT_EQ(values.size(), kCounterCount);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], std::string(kCounters[i].name) == "launches" ? 7 : 0);
}

TEST(ClientCounters, EachHasANameOfItsOwnAndAnExplanation) {
  std::set<std::string> names;
  for (const CounterInfo& counter : kCounters) {
    EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
    EXPECT_FALSE(std::string(counter.help).empty()) << counter.name;
  }
}

}  // namespace
}  // namespace tutti::metrics
