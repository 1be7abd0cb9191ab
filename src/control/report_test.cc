#include "control/report.h"

#include <gtest/gtest.h>

namespace tutti::control {
namespace {

TEST(Report, ReadsServersAndTheirClients) {
  const auto report = ParseReport(
      R"({"daemon": {"pid": 7, "policy": "share", "multi_user": true}, "servers": [{"pid": 9, "state": "ACTIVE",
    "devices": [{"name": "CPU", "sm_count": 2}], "clients": [{"pid": 11, "command": "./a", "limit_bytes": 5,
    "counters": {"device_ns": 3, "odd": "x"}}, {"pid": 12, "limit_bytes": null}], "kernels_left_out": 4}]})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->policy, "share");
  EXPECT_EQ(report->multi_user, true);
  ASSERT_EQ(report->servers.size(), 1u);
  EXPECT_EQ(report->servers[0].devices[0].sm_count, 2u);
  EXPECT_EQ(report->servers[0].kernels_left_out, 4u);
  EXPECT_EQ(report->servers[0].clients[0].limit_bytes, 5u);
  EXPECT_FALSE(report->servers[0].clients[1].limit_bytes);
  EXPECT_EQ(report->servers[0].clients[0].counters, (std::map<std::string, uint64_t>{{"device_ns", 3}}));
}

TEST(Report, WhatIsOfAnotherShapeIsAnErrorOrADefault) {
  EXPECT_FALSE(ParseReport("Unknown command \"report\"\n"));
  EXPECT_FALSE(ParseReport("[]"));
  const auto odd = ParseReport(R"({"daemon": 3, "servers": [1, {"pid": "x", "clients": {}}]})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->servers[1].pid, 0u);
  EXPECT_FALSE(odd->multi_user) << "what it does not say is neither yes nor no";
}

TEST(Report, NumbersThatFitNowhereAreNone) {
  const auto report = ParseReport(
      R"({"servers": [{"pid": 4294967303, "uid": -1, "clients": [{"pid": 1e300, "used_bytes": -5, "limit_bytes": 1e300, "share": 0.5}]}]})");
  ASSERT_TRUE(report);
  const ServerReport& server = report->servers.at(0);
  EXPECT_EQ(server.pid, 0u);
  EXPECT_EQ(server.uid, 0u);
  EXPECT_EQ(server.clients.at(0).pid, 0u);
  EXPECT_EQ(server.clients.at(0).used_bytes, 0u);
  EXPECT_FALSE(server.clients.at(0).limit_bytes);
  EXPECT_EQ(server.clients.at(0).share, 0.5);
}

}  // namespace
}  // namespace tutti::control
