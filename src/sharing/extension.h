// The `tutti` section of the configuration: features that users of NVIDIA's plugin miss (docs/guide/kubernetes.md lists
// them). NVIDIA's plugin ignores the section, so one file serves both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/document.h"

namespace tutti::sharing {

// A separate resource on the same devices, with replicas of another size.
struct Share {
  std::string resource;
  int64_t replicas = 1;  // of each device
  double threads = 100;  // percent of a device
  std::optional<uint64_t> memory_bytes;  // nothing: the same part of the device's memory as of its threads
};

// A host directory with libcuda.so.1 to mount into containers, for nodes where no driver provides it.
struct ClientLibrary {
  std::string host_path;
  std::string container_path = "/usr/local/nvidia/lib64";
};

struct Extension {
  bool single_replica = false;  // replicas: 1 is allowed, and gets the whole device
  bool throttle = true;  // false: no thread percentage, only the memory limit
  double oversubscribe_threads = 1;  // a client's percentage is this times 100 / replicas, at most 100
  double oversubscribe_memory = 1;
  bool limit_per_container = false;  // the processes of a container share its limit
  bool annotations = false;  // pods may request their own shares
  bool multi_user_server = false;  // one server for all users
  bool start_daemon = true;  // false: the control daemon is started elsewhere, and waited for
  bool require_claims = true;  // containers without an allocation of the plugin are not served
  bool mount_shm = true;  // false: containers keep their own /dev/shm
  std::vector<Share> shares;
  std::optional<ClientLibrary> client_library;
  std::string metrics_address;  // "0.0.0.0:9400"; empty: no exporter
  std::string feature_file;  // for node-feature-discovery; empty: none
  bool node_api = false;  // sets labels and taints of the node through the API server
};

Result<Extension> ReadExtension(const Value& value);

}  // namespace tutti::sharing
