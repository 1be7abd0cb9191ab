#include "server/fault_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/session.h"

namespace tutti::server {
namespace {

size_t LinesOf(const FaultLog& log, const std::string& report) {
  const std::string all = log.Lines();
  size_t count = 0;
  for (size_t at = all.find(report); at != all.npos; at = all.find(report, at + 1)) ++count;
  return count;
}

void AddFaults(FaultLog& log, const std::string& party, const std::string& report, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    device::Fault fault;
    fault.report = report + " " + std::to_string(i) + ".";
    log.Add({.party = party}, 0, fault);
  }
}

TEST(FaultLog, APartysFaultsDoNotPushOutThoseOfOthers) {
  FaultLog log;
  AddFaults(log, "user 7", "theirs", 3);
  AddFaults(log, "user 8", "flood", 2 * FaultLog::kMost);
  EXPECT_EQ(LinesOf(log, "theirs"), 3u);
  EXPECT_EQ(LinesOf(log, "flood"), FaultLog::kMost - 3);
}

TEST(FaultLog, OfOnePartyTheLastFaultsStay) {
  FaultLog log;
  AddFaults(log, "user 7", "fault", FaultLog::kMost + 2);
  EXPECT_EQ(LinesOf(log, "fault 1."), 0u);
  EXPECT_EQ(LinesOf(log, "fault 2."), 1u);
  EXPECT_EQ(LinesOf(log, "fault " + std::to_string(FaultLog::kMost + 1) + "."), 1u);
}

}  // namespace
}  // namespace tutti::server
