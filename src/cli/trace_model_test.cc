#include "cli/trace_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

TEST(TraceModel, RowsAreSmsAndColoursAreProcesses) {
  const auto model = ReadTrace(R"({"traceEvents": [
    {"name": "process_name", "ph": "M", "pid": 7, "args": {"name": "./a"}},
    {"name": "saxpy", "ph": "X", "pid": 8, "tid": 3, "ts": 1010, "dur": 5},
    {"name": "sgemm", "ph": "X", "pid": 7, "tid": 1, "ts": 1000, "dur": 20}]})");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->rows, (std::vector<TraceRow>{{0, 1}, {0, 3}}));
  ASSERT_EQ(model->processes.size(), 2u);
  EXPECT_EQ(model->processes[0].name, "./a");
  EXPECT_EQ(model->spans[1].start_us, 10);
  EXPECT_EQ(model->duration_us, 20);
}

TEST(TraceModel, ArgumentsGiveProgramDeviceAndBlocks) {
  const auto model = ReadTrace(R"([{"name": "k", "ph": "X", "pid": 8, "tid": 0, "ts": 1, "dur": 5,
    "args": {"program": "nbody", "device": 1, "blocks": 12}}])");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->rows, (std::vector<TraceRow>{{1, 0}}));
  EXPECT_EQ(model->processes[0].name, "nbody");
  EXPECT_EQ(model->spans[0].blocks, 12u);
}

TEST(TraceModel, WhatIsNoTraceIsRefusedAndOddEventsArePassedOver) {
  EXPECT_FALSE(ReadTrace("hello"));
  EXPECT_FALSE(ReadTrace("{}"));
  const auto odd = ReadTrace(
      R"([1, {"ph": "X"}, {"ph": "X", "ts": "x", "dur": -1}, {"ph": "M", "name": "process_name", "args": 3}])");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->spans.size(), 1u);
}

TEST(TraceModel, MergingKeepsTheBlockCountAndNeverCrossesProcesses) {
  std::string events;
  for (int i = 0; i < 1000; ++i) {
    events += fmt::format(R"({}{{"name": "k", "ph": "X", "pid": {}, "tid": 0, "ts": {}, "dur": 1}})", i == 0 ? "" : ",",
                          1 + i / 500, i * 1.5);
  }
  auto model = ReadTrace("[" + events + "]");
  ASSERT_TRUE(model);
  MergeSpans(*model, 10);
  ASSERT_EQ(model->spans.size(), 2u);
  EXPECT_EQ(model->spans[0].blocks, 500u);
  EXPECT_EQ(model->spans[1].process, 1u);
}

}  // namespace
}  // namespace tutti::cli
