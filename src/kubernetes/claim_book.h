// The claims of this node's containers: which replicas have been allocated, and the directory by which their container
// comes to the control daemon. It is mounted into that container and no other, and the daemon gives whoever comes by it
// what the claim says (`claim` in docs/reference/control.md): unlike an environment variable, a container cannot unset
// it.
//
// The kubelet says what it allocates and never what it frees. A claim ends when one of its replicas is allocated anew,
// and its directory with it: whoever has kept hold of that (a descriptor passed on to another pod) has nothing of the
// next container's. The book is kept in a file, so that a plugin and a daemon that are started anew know the claims of
// containers that run.
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
  // `file` is this process's alone; one that is missing or damaged is an empty book.
  ClaimBook(control::Places places, std::string file, int patience_ms);

  // The directory of the claim on these replicas, made or not.
  std::string Directory(const std::string& resource, const std::vector<std::string>& ids) const;
  // Makes the claim, at the daemon too, in place of those that have any of its replicas.
  Status Make(const AllocationContext& context, const std::vector<std::string>& ids);
  // All claims, to a daemon that may know none of them; and whether containers need one.
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
