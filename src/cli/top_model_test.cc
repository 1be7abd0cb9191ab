#include "cli/top_model.h"

#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

Sample At(uint64_t seconds, uint64_t busy_of_first, uint64_t busy_of_second) {
  Sample sample{.taken_ns = seconds * 1'000'000'000};
  ServerReport server{.pid = 1};
  server.devices.push_back({.name = "device", .total_bytes = 100, .sm_count = 2});
  server.clients.push_back({.pid = 10,
                            .id = 1,
                            .command = "/bin/a",
                            .used_bytes = 30,
                            .launches = busy_of_first,
                            .busy_ns = busy_of_first * 1'000'000'000});
  server.clients.push_back(
      {.pid = 11, .id = 2, .command = "/bin/b", .used_bytes = 5, .busy_ns = busy_of_second * 1'000'000'000});
  sample.report.servers.push_back(server);
  return sample;
}

TEST(TopModel, AShareIsTimeOfAllSmsBetweenTheSamples) {
  const TopModel model = Compare(At(0, 0, 0), At(10, 5, 10), TopOrder::kShare);
  ASSERT_EQ(model.rows.size(), 2u);
  EXPECT_EQ(model.rows[0].pid, 11u);
  EXPECT_DOUBLE_EQ(model.rows[0].share, 0.5);
  EXPECT_DOUBLE_EQ(model.rows[1].share, 0.25);
  EXPECT_DOUBLE_EQ(model.rows[1].launches_per_second, 0.5);
  EXPECT_DOUBLE_EQ(model.devices[0].busy, 0.75);
  EXPECT_EQ(model.devices[0].used_bytes, 35u);
}

TEST(TopModel, RowsComeInTheOrderAskedFor) {
  EXPECT_EQ(Compare(At(0, 0, 0), At(10, 5, 10), TopOrder::kMemory).rows[0].pid, 10u);
  EXPECT_EQ(Compare(At(0, 0, 0), At(10, 5, 10), TopOrder::kPid).rows[0].pid, 10u);
}

TEST(TopModel, CountersThatRunBackwardsAreANewClient) {
  EXPECT_EQ(Compare(At(0, 5, 5), At(1, 1, 1), TopOrder::kPid).rows[0].launches_per_second, 0);
}

// Each is process 1 of its container.
TEST(TopModel, ClientsWithOneProcessIdAreTwo) {
  Sample before = At(0, 0, 4), now = At(10, 5, 14);
  for (Sample* sample : {&before, &now}) {
    for (ClientReport& client : sample->report.servers[0].clients) client.pid = 1;
  }
  const TopModel model = Compare(before, now, TopOrder::kShare);
  ASSERT_EQ(model.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(model.rows[0].share, 0.5);
  EXPECT_DOUBLE_EQ(model.rows[1].share, 0.25);
}

TEST(TopText, NamesProgramsWithoutTheirFolder) {
  const std::string text = TopText(Compare(At(0, 0, 0), At(10, 5, 10), TopOrder::kShare));
  EXPECT_NE(text.find("##"), std::string::npos);
  EXPECT_EQ(text.find("/bin/"), std::string::npos) << text;
}

TEST(Bar, IsAsLongAsItsWidth) {
  EXPECT_EQ(Bar(0.5, 4), "##..");
  EXPECT_EQ(Bar(7, 4), "####");
  EXPECT_EQ(Bar(-1, 4), "....");
}

}  // namespace
}  // namespace tutti::cli
