// Protocol 3's configuration file: servers, namespaces, SM partitions and features, applied once when the daemon
// starts.
//
//   schema_version = "1.0"
//   [servers.training]                         allowed_devices, pinned_memory_limit, active_thread_percentage,
//                                              client_priority, memory_sharing (text), uid (number),
//                                              locality_domains (true, false)
//   [servers.training.namespaces.batch]        pinned_memory_limit, active_thread_percentage, client_priority,
//                                              memory_sharing
//   [[servers.training.devices]]               uuid
//   [[servers.training.devices.sm_partitions]] name, chunks, include_remainder
//   [features.memacct]                         enabled, audit_log
//   [features.context-share]                   enabled, default_socket
//
// Anything else is an error that names file, line and the nearest valid key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "control/limits.h"

namespace tutti::control {

struct ConfiguredLimits {
  MemoryLimits memory_limits;
  std::string memory_text;
  std::optional<double> active_thread_percentage;
  std::optional<int> client_priority;
  std::optional<MemorySharing> memory_sharing;
};

struct ConfiguredPartition {
  std::string device;  // UUID, or a prefix of one
  std::string name;
  uint32_t chunks = 0;
  bool include_remainder = false;
};

struct ConfiguredServer {
  std::string name;
  std::optional<uint32_t> uid;
  std::string allowed_devices;
  std::map<std::string, ConfiguredLimits> namespaces;  // "default" holds the limits of the server's own table
  std::vector<ConfiguredPartition> partitions;
};

struct Configuration {
  std::vector<ConfiguredServer> servers;  // by name
  std::optional<bool> memacct;
  std::optional<bool> audit_log;
  std::optional<bool> context_share;
};

// `source` names the text in errors: "servers.toml:12: ...".
Result<Configuration> ParseConfiguration(std::string_view text, const std::string& source);
Result<Configuration> ReadConfiguration(const std::string& path);

}  // namespace tutti::control
