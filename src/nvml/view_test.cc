#include "nvml/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::nvml {
namespace {

constexpr const char* kShares = R"({"administrator":false,"devices":[
  {"ordinal":0,"uuid":"GPU-a","name":"one","total_bytes":8589934592,"sm_count":10,"compute_capability":"8.0",
   "pci":"0000F000:01:02.0","active_thread_percentage":25,"limit_bytes":1073741824,"compute_mode":3},
  {"ordinal":1,"uuid":"GPU-b","name":"two","total_bytes":8589934592,"sm_count":10,"compute_capability":"9.0",
   "pci":"0000F000:02:00.0","active_thread_percentage":100,"limit_bytes":null,"compute_mode":0}]})";

control::Report Clients(std::vector<control::ClientReport> clients) {
  control::Report report;
  report.servers.push_back({.clients = std::move(clients)});
  return report;
}

TEST(View, AShareIsTheDevice) {
  const auto view = ReadShares(kShares);
  ASSERT_TRUE(view) << view.error().text;
  ASSERT_EQ(view->devices.size(), 2u);
  EXPECT_FALSE(view->administrator);
  const Device& device = view->devices[0];
  EXPECT_EQ(device.total_bytes, 1u << 30);
  EXPECT_EQ(device.given_sms(), 2u);
  EXPECT_EQ(device.BusId(), "0000F000:01:02.0");
  EXPECT_EQ(device.compute_major * 10 + device.compute_minor, 80u);
  EXPECT_EQ(device.compute_mode, control::ComputeMode::kExclusiveProcess);
  EXPECT_EQ(view->devices[1].total_bytes, 8ull << 30);
}

TEST(View, OfAnswersThatNoDaemonGivesIsAnErrorOrHasDefaults) {
  for (const char* text : {"", "{", "[]", "null", R"({"devices":7})", "Unknown command \"device_share\""})
    EXPECT_FALSE(ReadShares(text)) << text;
  const auto view = ReadShares(
      R"({"administrator":"yes","devices":[7,{"uuid":[],"name":"a\u0007b","total_bytes":-1,"sm_count":1e300,
          "active_thread_percentage":-5,"limit_bytes":"x","compute_mode":1,"pci":":::","compute_capability":9}]})");
  ASSERT_TRUE(view) << view.error().text;
  EXPECT_FALSE(view->administrator);
  ASSERT_EQ(view->devices.size(), 2u);
  EXPECT_EQ(view->devices[1].name, "a?b");
  EXPECT_EQ(view->devices[1].total_bytes, 0u);
  EXPECT_EQ(view->devices[1].given_sms(), 1u);
  EXPECT_EQ(view->devices[1].compute_mode, control::ComputeMode::kDefault);
  EXPECT_EQ(view->used_bytes(1), 0u);
  EXPECT_EQ(view->busy(1), 0);

  std::string many = R"({"devices":[{})";
  for (int i = 0; i < 1000; ++i) many += ",{}";
  EXPECT_EQ(ReadShares(many + "]}")->devices.size(), 16u);
}

TEST(View, HasProcessesByTheirIdsHere) {
  auto view = *ReadShares(kShares);
  const auto report =
      Clients({{.pid = 100, .pid_namespace = 1, .inner_pid = 100, .device_uuid = "GPU-a"},   // of the host
               {.pid = 200, .pid_namespace = 2, .inner_pid = 7, .device_uuid = "GPU-a"},     // of a container
               {.pid = 0, .pid_namespace = 3, .inner_pid = 0, .device_uuid = "GPU-a"},  // of a place nobody knows
               {.pid = 300, .pid_namespace = 1, .inner_pid = 300, .device_uuid = "GPU-c"}});  // of another device
  const auto pids = [&](const Asker& asker) {
    View seen = view;
    AddProcesses(report, asker, seen);
    std::vector<uint32_t> list;
    for (const Process& process : seen.processes) list.push_back(process.pid);
    return list;
  };
  EXPECT_THAT(pids({.pid_namespace = 1, .in_daemons_namespace = true}), testing::ElementsAre(100, 200));
  EXPECT_THAT(pids({.pid_namespace = 2, .in_daemons_namespace = false}), testing::ElementsAre(7));
  EXPECT_THAT(pids({.pid_namespace = 4, .in_daemons_namespace = false}), testing::IsEmpty());
}

TEST(View, AProcessWithSeveralConnectionsIsOne) {
  auto view = *ReadShares(kShares);
  AddProcesses(
      Clients({{.pid = 5, .pid_namespace = 1, .inner_pid = 5, .device_uuid = "GPU-a", .share = 0.1, .used_bytes = 100},
               {.pid = 5, .pid_namespace = 1, .inner_pid = 5, .device_uuid = "GPU-a", .share = 0.1, .used_bytes = 50},
               {.pid = 6,
                .pid_namespace = 1,
                .inner_pid = 6,
                .device_uuid = "GPU-b",
                .share = 0.5,
                .used_bytes = 1ull << 40}}),
      {.pid_namespace = 1, .in_daemons_namespace = true}, view);
  ASSERT_EQ(view.processes.size(), 2u);
  EXPECT_EQ(view.used_bytes(0), 150u);
  EXPECT_EQ(view.used_bytes(1), 8ull << 30) << "no more than the device has";
  EXPECT_NEAR(view.busy(0), 0.8, 1e-9) << "of its quarter";
  EXPECT_NEAR(view.busy(1), 0.5, 1e-9);
}

}  // namespace
}  // namespace tutti::nvml
