// The daemon's report on its servers and clients (control command `report`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/daemon_connection.h"

namespace tutti::control {

// A running kernel.
struct KernelReport {
  std::string name;
  std::vector<uint32_t> grid, block;
  uint64_t blocks = 0;
  uint64_t begun = 0;
  uint64_t done = 0;
  double seconds = 0;  // since its first block began
};

struct ClientReport {
  uint32_t pid = 0;
  uint32_t id = 0;  // the server's number for it
  uint32_t uid = 0;
  uint64_t pid_namespace = 0;  // inode; `pid` is the daemon's view, 0 if it has none
  uint32_t inner_pid = 0;      // in its own PID namespace; 0: unknown
  std::string command;
  uint32_t device = 0;
  std::string device_uuid;
  std::string state;
  double percentage = 100;
  double share = 0;  // of the device's recent time, 0 .. 1
  uint64_t used_bytes = 0;
  std::optional<uint64_t> limit_bytes;
  uint64_t launches = 0;
  uint64_t busy_ns = 0;
  std::vector<KernelReport> kernels;
  std::map<std::string, uint64_t> counters;  // on this device, by their names in metrics/counters.def
};

struct DeviceReport {
  uint32_t ordinal = 0;
  std::string uuid;
  std::string name;
  uint64_t total_bytes = 0;
  uint32_t sm_count = 0;
  std::string compute_capability;  // "8.0"; empty if unknown
  std::string pci;                 // "00000000:01:00.0"
  std::vector<std::string> capabilities;  // wire/device_traits.h
};

struct ServerReport {
  uint32_t pid = 0;
  uint32_t uid = 0;
  std::string state;
  std::string error;  // not empty: the server did not answer
  std::vector<DeviceReport> devices;
  std::vector<ClientReport> clients;
  uint64_t kernels_left_out = 0;  // running kernels omitted, since there were too many for one reply
};

struct Report {
  uint32_t daemon_pid = 0;
  uint32_t daemon_uid = 0;
  uint32_t version = 0;
  std::string pipe_directory;
  std::string log_directory;
  std::string policy;
  double default_percentage = 100;
  std::optional<bool> multi_user;  // started with -M; nothing: unknown, from an older version
  std::vector<ServerReport> servers;
  std::string json;  // as received, for --json
};

Result<Report> FetchReport(DaemonConnection& daemon);

// Parses the answer. It is untrusted, since anybody may listen in a pipe directory: unexpected content is an error or a
// default, never a crash.
Result<Report> ParseReport(const std::string& text);

}  // namespace tutti::control
