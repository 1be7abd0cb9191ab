// The claims of this node's containers: the allocated replicas, and the directory through which their container
// connects to the control daemon. It is mounted into that container alone, and the daemon grants connections through it
// what the claim says (`claim` in docs/reference/control.md). Unlike an environment variable, a container cannot unset
// it.
//
// The kubelet reports allocations but never releases. A claim, with its directory, therefore ends when one of its
// replicas is allocated again; a process that has kept the old directory open (or passed its descriptor to another pod)
// gets nothing of the next container's. The claims are stored in a file, so that a restarted plugin or daemon knows
// those of running containers.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/daemon_connection.h"
#include "control/places.h"
#include "kubernetes/allocation.h"

namespace tutti::kubernetes {

// Thread-safe.
class ClaimBook {
 public:
  // `file` belongs to this process alone; a missing or damaged one means no claims.
  ClaimBook(control::Places places, std::string file, int patience_ms);

  // The directory of the claim on these replicas, whether or not it exists.
  std::string Directory(const std::string& resource, const std::vector<std::string>& ids) const;
  // Creates the claim, at the daemon too, and ends those that hold any of its replicas.
  Status Make(const AllocationContext& context, const std::vector<std::string>& ids);
  // Sends a daemon all claims, and whether containers need one.
  Status Tell(control::DaemonConnection& daemon, bool required);

 private:
  struct Entry {
    std::vector<std::string> replicas;  // "nvidia.com/gpu UUID::1"
    std::string command;
  };
  void Read();
  Status Write() const;  // lock held

  const control::Places places_;
  const std::string file_;
  const int patience_ms_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by the claim's name
};

}  // namespace tutti::kubernetes
