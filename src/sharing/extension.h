// The `tutti` section of the configuration: what NVIDIA's plugin cannot do, each key for a complaint of its users
// (docs/guide/kubernetes.md names them). NVIDIA's plugin ignores the section, so one file serves both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/document.h"

namespace tutti::sharing {

// A resource of its own on the same devices: replicas of another size.
struct Share {
  std::string resource;
  int64_t replicas = 1;               // of each device
  double threads = 100;               // percent of a device
  std::optional<uint64_t> memory_bytes;  // nothing: threads' part of the device's memory
};

// A directory of the host with libcuda.so.1, given to containers: for devices that no driver puts into them.
struct ClientLibrary {
  std::string host_path;
  std::string container_path = "/usr/local/nvidia/lib64";
};

struct Extension {
  bool single_replica = false;  // replicas: 1 is allowed, and gets the whole device
  bool throttle = true;         // false: no thread percentage, only the memory limit
  double oversubscribe_threads = 1;  // a client's percentage is this times 100 / replicas, at most 100
  double oversubscribe_memory = 1;
  bool limit_per_container = false;  // processes of one container share its limit
  bool annotations = false;          // pods may ask for shares of their own
  bool multi_user_server = false;    // one server for all users
  bool start_daemon = true;          // false: the control daemon is somebody else's, and waited for
  bool require_claims = true;        // containers to which the plugin gave nothing are not served
  bool mount_shm = true;             // false: containers keep their own /dev/shm
  std::vector<Share> shares;
  std::optional<ClientLibrary> client_library;
  std::string metrics_address;  // "0.0.0.0:9400"; empty: no exporter
  std::string feature_file;     // for node-feature-discovery; empty: none
  bool node_api = false;        // labels and taints are put on the node through the API server
};

Result<Extension> ReadExtension(const Value& value);

}  // namespace tutti::sharing
