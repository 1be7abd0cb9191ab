// The model of `tutti top`: the difference of two reports of the daemon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/report.h"

namespace tutti::cli {

struct Sample {
  uint64_t taken_ns = 0;
  Report report;
};

enum class TopOrder { kShare, kMemory, kLaunches, kPid };

struct TopRow {
  uint32_t pid = 0;
  std::string user;
  uint32_t device = 0;
  std::string state;
  double share = 0;  // of all SMs of its device, between the two samples
  double percentage = 100;
  uint64_t used_bytes = 0;
  std::optional<uint64_t> limit_bytes;
  double launches_per_second = 0;
  std::string command;
  std::string kernel;  // the longest-running kernel: "name 12/64 3.2s"; empty: none
};

// A device as one server reports it.
struct TopDevice {
  uint32_t server_pid = 0;
  std::string user;
  uint32_t ordinal = 0;
  std::string name;
  uint32_t sm_count = 0;
  double busy = 0;  // 0 .. 1
  uint64_t used_bytes = 0;
  uint64_t total_bytes = 0;
};

struct TopModel {
  std::string policy;
  size_t servers = 0;
  std::vector<TopDevice> devices;
  std::vector<TopRow> rows;
};

TopModel Compare(const Sample& before, const Sample& now, TopOrder order);

// The model as plain text, for pipes and for terminals unknown to ncurses.
std::string TopText(const TopModel& model);

// "#####....." of `width` characters.
std::string Bar(double fraction, size_t width);

}  // namespace tutti::cli
