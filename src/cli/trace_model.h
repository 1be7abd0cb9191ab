// The timeline's model of a trace: processes, SMs, and what ran when.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::cli {

struct TraceSpan {
  double start_us = 0;  // since the first span of the trace
  double end_us = 0;
  uint32_t row = 0;      // index in TraceModel::rows
  uint32_t process = 0;  // index in TraceModel::processes
  uint32_t kernel = 0;   // index in TraceModel::kernels
  uint32_t blocks = 1;   // blocks merged into this span
};

struct TraceProcess {
  uint32_t pid = 0;
  std::string name;  // empty if unknown
};

// One SM of one device.
struct TraceRow {
  uint32_t device = 0;
  uint32_t sm = 0;
  auto operator<=>(const TraceRow&) const = default;
};

struct TraceModel {
  std::vector<TraceProcess> processes;  // in order of appearance
  std::vector<std::string> kernels;
  std::vector<TraceRow> rows;    // ascending
  std::vector<TraceSpan> spans;  // by row, then by start
  double duration_us = 0;
};

// Reads a Chrome trace document as `tutti trace` writes it: complete events (ph X) with pid = client, tid = SM, and in
// args the program, the device and the number of blocks; process names (ph M) count too. Other events are ignored.
Result<TraceModel> ReadTrace(const std::string& json);

// Merges neighbouring spans of one kernel in one row that are less than a gap apart, with the smallest gap that leaves
// at most `most_spans`: merged gaps are too small to be seen.
void MergeSpans(TraceModel& model, size_t most_spans);

}  // namespace tutti::cli
