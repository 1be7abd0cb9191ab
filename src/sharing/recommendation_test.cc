#include "sharing/recommendation.h"

#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

constexpr uint64_t kGiB = 1ull << 30;

TEST(Recommendation, IsWhatMemoryAllows) {
  const ClientUse clients[] = {{0.05, 2 * kGiB, false}, {0.05, 3 * kGiB, false}};
  const auto result = Recommend(16 * kGiB, clients);
  EXPECT_EQ(result.clients, 5);
  EXPECT_EQ(result.reason, "memory: the largest client holds 3072 MiB of 16384");
  EXPECT_DOUBLE_EQ(result.wasted_memory_bytes, static_cast<double>(11 * kGiB));
  EXPECT_DOUBLE_EQ(result.cost_efficiency, 5.0 / 16);
}

TEST(Recommendation, IsWhatComputeAllows) {
  const ClientUse clients[] = {{0.3, kGiB, false}, {0.3, kGiB, false}};
  EXPECT_EQ(Recommend(16 * kGiB, clients).clients, 3);
}

TEST(Recommendation, ClientsThatWaitAreNotGivenCompany) {
  const ClientUse clients[] = {{0.1, kGiB, true}, {0.1, kGiB, false}};
  EXPECT_EQ(Recommend(16 * kGiB, clients).clients, 2);
}

TEST(Recommendation, StaysWithinOneAnd48) {
  const ClientUse idle[] = {{0, 0, false}};
  EXPECT_EQ(Recommend(16 * kGiB, idle).clients, 48);
  const ClientUse full[] = {{1.0, 16 * kGiB, false}};
  EXPECT_EQ(Recommend(16 * kGiB, full).clients, 1);
}

TEST(Recommendation, WithoutClientsThereIsNone) { EXPECT_EQ(Recommend(kGiB, {}).clients, 0); }

}  // namespace
}  // namespace tutti::sharing
