// Maps processes to the cluster's objects: namespace, pod and container, the pod's annotations, and the devices that
// the kubelet has allocated. Joins three sources, none of which is the API server: the process's cgroup names the
// container, the container runtime (CRI) its pod, and the kubelet's pod-resources API its devices.
//
// Without the runtime's socket only the pod's UID is known; without the kubelet's there are no device ids.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::kubernetes {

struct HeldDevice {
  std::string resource;
  std::string id;  // "UUID::N"
};

struct PodContainer {
  std::string space;  // namespace
  std::string pod;
  std::string pod_uid;
  std::string container;
  std::map<std::string, std::string> annotations;  // of the pod
  std::vector<HeldDevice> devices;
};

struct PodSources {
  std::string proc = "/proc";
  std::string runtime_socket;        // "/run/containerd/containerd.sock"; empty: none
  std::string pod_resources_socket;  // "/var/lib/kubelet/pod-resources/kubelet.sock"; empty: none
};

// Thread-safe.
class PodDirectory {
 public:
  explicit PodDirectory(PodSources sources);
  ~PodDirectory();

  // Queries runtime and kubelet again. If one of them does not answer within two seconds, its old data stay; the error
  // says which, and so does the log when that changes. Call it before a round of queries.
  Status Refresh();

  // Nothing for a process outside of pods.
  std::optional<PodContainer> Find(pid_t pid) const;
  // All containers that hold devices, with or without a process on them.
  std::vector<PodContainer> Holders() const;
  // Adds the pods' annotations that the runtime knows.
  void AddAnnotations(std::vector<PodContainer>& holders) const;

 private:
  struct Connections;
  Status RefreshContainers();
  Status RefreshDevices();

  const PodSources sources_;
  const std::unique_ptr<Connections> connections_;
  mutable std::mutex mutex_;  // guards the rest
  std::map<std::string, PodContainer> by_container_id_;
  std::vector<PodContainer> holders_;  // annotations and UID empty
  std::string trouble_;  // of the last refresh
};

}  // namespace tutti::kubernetes
